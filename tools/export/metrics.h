/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts what connections do, from their events and from readings of their state, in any mixture.
 * What a connection did before it was first seen is not counted.
 */
#ifndef TOOLS_METRICS_H
#define TOOLS_METRICS_H

#include <stdbool.h>

#include <sys/queue.h>

#include "bpf_bbr/rules.h"
#include "bpf_bbr/snapshot.h"
#include "cli/options.h"
#include "event/conn_map.h"
#include "event/event.h"
#include "kernel/instance.h"
#include "openmetrics.h"
#include "snapshot/grouping.h"

/*
 * What is counted for each combination of instance, profile and network namespace that occurs.
 * Counts stay, whatever becomes of the connections and of the instance.
 */
#define SERIES_MAX 256
#define SERIES_INSTANCES 64
#define SERIES_PROFILES 64
#define SERIES_NETNS 32
/* Modes of a series, fields of an algorithm, and of all series: a recording may describe thousands. */
#define SERIES_MODES 128
#define SERIES_FIELDS 128

/* A mode by its name: algorithms whose modes have equal names are counted together. */
struct mode_counts {
	const char *name;
	__u64 entered; /* times, from another mode */
	__u64 ns; /* spent in it, by all connections together */
	__u64 connections; /* now, see metrics_print() */
};

/* A field by its key: algorithms whose fields have equal keys are counted together. */
struct field_counts {
	const struct field *field; /* of one of the algorithms */
	__u64 found; /* times that a connection got into the state that is its finding */
	struct om_histogram samples; /* see below */
};

struct metric_series {
	int instance, profile, netns; /* indexes of labels */
	__u64 started, ended;
	__u64 sent, acked, retrans; /* bytes */
	__u64 lost; /* packets */
	__u64 rtos, recoveries;
	struct mode_counts *modes; /* of all algorithms that it had, in the order of their tables */
	int n_modes;
	struct field_counts *fields; /* of all of them, too */
	int n_fields;
	const struct algorithm *latest; /* of these */
	struct om_histogram rtt, bw, pacing;
};

struct metric_table {
	struct labels instances, profiles, netns;
	int n;
	struct metric_series all[SERIES_MAX];
	const struct field *fields[SERIES_FIELDS]; /* that some of these have, each key once */
	int n_fields;
	bool is_full; /* modes or fields beyond these bounds are not counted */
};

extern const struct om_bounds rtt_bounds; /* RTT over min_rtt */

void metric_table_init(struct metric_table *t);
void metric_table_free(struct metric_table *t);

/*
 * The series with these labels, or with "other" if there are too many. It has the modes and the
 * fields of this algorithm. Valid as long as the table.
 */
struct metric_series *metric_series_get(struct metric_table *t, const struct algorithm *a,
					const char *instance, const char *profile, int netns);

/* Index of a mode of the algorithm in series->modes; -1: it is not known. */
int metric_series_mode(const struct metric_series *s, const struct algorithm *a, unsigned int mode);
/* The end of an algorithm's fields that may have counts. */
static inline const struct field *metric_fields_end(const struct algorithm *a)
{
	return a->fields + (a->n_fields < SERIES_FIELDS ? a->n_fields : SERIES_FIELDS);
}

/* The counts of a field; NULL: the series has none. */
struct field_counts *metric_series_field(const struct metric_series *s, const struct field *f);

/*
 * The fields of an algorithm's own part of an event as metrics: histograms of their values at the
 * ACKs that were sampled. A field has one if it is drawn in a plot of numbers.
 */
#define FIELD_METRIC_LEN 300 /* room for the longest key that a recording may have */

extern const struct om_bounds rate_bounds; /* bytes per second */

/* NULL: the field has no histogram. */
const struct om_bounds *field_metric_bounds(const struct field *f);
/* "bbr_bw_hi_bytes_per_second" of bw_hi_bps. Returns its unit. */
const char *field_metric_name(char buf[FIELD_METRIC_LEN], const struct field *f);
/* The value in that unit. False: not known. */
bool field_metric_value(const struct field *f, const struct bbr_event *e, double *value);

struct tracked;

/*
 * What is counted by groups of connections (--by), the largest by themselves: by cgroup and process of
 * those that a reading has found.
 */
enum {
	GROUP_SENT, /* bytes */
	GROUP_ACKED,
	GROUP_RETRANS,
	GROUP_BUSY, /* microseconds, between readings */
	GROUP_RWND,
	GROUP_SNDBUF,
	GROUP_COUNTS
};

struct group_counts {
	__u64 value[GROUP_COUNTS];
};

struct metric_group;

/* More are counted among the others until the next reading. Each takes 0.2 kB. */
#define METRIC_GROUPS_MAX (1u << 16)

struct metric_groups {
	struct grouping grouping; /* BY_NONE: there are no groups */
	__u64 largest, n_series; /* groups that may have and that have time series of their own */
	struct groups groups;
	struct group_counts others; /* of all without series, while they had none */
};

/* A connection joins its group; NULL: that is not known. */
struct metric_group *metric_group_join(struct metric_groups *all, const struct group_member *m);
void metric_group_leave(struct metric_group *g);
void metric_group_count(struct metric_groups *all, struct metric_group *g,
			const struct group_counts *counts);
/* After a reading: a much larger group takes over the series of a smaller one. */
void metric_groups_rank(struct metric_groups *all);
void metric_groups_print(const struct metric_groups *all, struct openmetrics *om, bool has_counters,
			 bool has_sockets);
void metric_groups_free(struct metric_groups *all);

/*
 * Connections at once of a recording, of 0.4 kB each: a few bytes of it are enough for one. A live one
 * takes more of the kernel than of this.
 */
#define RECORDED_TRACKED_MAX (1u << 17)

#define NETNS_CACHED 256

/* Namespaces that were seen, with their label. */
struct netns_labels {
	bool named; /* by /run/netns; not in a recording, whose namespaces are another machine's */
	int n;
	struct netns_label {
		__u32 inode;
		int label;
		__u32 generation; /* of the last reading that found a connection in it */
	} of[NETNS_CACHED];
	__u64 changed_ns; /* mtime of /run/netns */
	bool again; /* a name that was just made there may not be mounted yet */
};

struct metrics {
	struct metric_table series;
	struct netns_labels netns;
	struct metric_groups groups;
	struct conn_map by_tuple; /* the connections */
	LIST_HEAD(, tracked) all; /* and the list of them */
	__u64 untracked; /* events of connections for which there was no place */

	/* of readings */
	bool reading;
	__u32 generation;
	__u64 reading_ns;
};

/* live: of this machine, now; else of a recording. */
void metrics_init(struct metrics *m, bool live);
void metrics_free(struct metrics *m);

/* An event, or a state that was read (BBR_EV_STATE). */
void metrics_note(struct metrics *m, const struct origin *origin, const struct bbr_event *e);
/* The latter, with what only its socket tells. */
void metrics_note_socket(struct metrics *m, const struct origin *origin,
			 const struct bbr_snapshot *snap);

/*
 * A reading of all connections, during which events may go on. Connections that it does not find
 * have ended; if it was incomplete, only those in a namespace where it found others.
 */
void metrics_begin_reading(struct metrics *m, __u64 now_ns);
void metrics_end_reading(struct metrics *m, bool complete);

/*
 * Counts the time in each mode until now. The caller does so every second. Time in which nobody
 * watched is not counted: its mode is unknown.
 */
void metrics_settle(struct metrics *m, __u64 now_ns, bool watched);

/* Prints all families that have a connection's labels; counters only if they were counted. */
void metrics_print(struct metrics *m, struct openmetrics *om, bool counters);

/* For metrics_print(): sets mode_counts.connections. */
void metrics_count_connections(struct metrics *m);

/*
 * For each loaded instance, how many connections match which rule now. A connection keeps the
 * profile that its rule gave it, but not the rule, so the current rules are applied.
 */
#define RULES_TOLD 100 /* the first so many of an instance; the rest are "other" */
#define RULE_CGROUPS_CACHED 256

struct instance_rules;

struct rule_counts {
	struct instance *instances; /* that are loaded */
	struct instance_rules *rules; /* of each of them */
	int n;
	/* Cgroups by id, with those above them. */
	struct {
		__u64 id;
		__u64 above[BBR_RULE_CGROUP_LEVELS];
		int n;
	} cgroups[RULE_CGROUPS_CACHED];
};

/* Restarts the counts, by the current rules of these instances (none: all). 0 or -errno. */
int rule_counts_begin(struct rule_counts *r, const struct value_list *names);
/* instance_id: of the struct_ops map */
void rule_counts_note(struct rule_counts *r, __u32 instance_id, const struct bbr_snapshot *snap);

/* Prints the loaded instances, and the connections of their rules. */
void rule_counts_print(const struct rule_counts *r, struct openmetrics *om);
void rule_counts_free(struct rule_counts *r);

#endif
