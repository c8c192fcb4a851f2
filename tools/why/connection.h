/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connections of a window: who they are, and what was read of them, from sockets or from a
 * recording.
 */
#ifndef TOOLS_WHY_CONNECTION_H
#define TOOLS_WHY_CONNECTION_H

#include <stdio.h>

#include "bpf_bbr/profiles.h"
#include "bpf_bbr/why.h"
#include "event/conn_map.h"
#include "filter/filter.h"
#include "judge.h"
#include "snapshot/grouping.h"

/*
 * What the kernel counts of every established TCP socket, read at once. A handler returns false to
 * get no more.
 */
typedef bool (*why_socket_handler)(void *ctx, const struct why_socket *s);

struct why_bpf;

struct kernel_counts {
	struct why_bpf *program;
	char *buffer;
};

/* Returns an exit status; has printed what failed unless it is EXIT_DONE. */
int kernel_counts_open(struct kernel_counts *k);
/* Reads the sockets of a network namespace, or of each one if netns is NULL. Exit status. */
int kernel_counts_read(struct kernel_counts *k, const char *netns, why_socket_handler handle,
		       void *ctx);
void kernel_counts_close(struct kernel_counts *k);

/* What the CPUs did since they were read the first time. */
struct cpu_times {
	__u64 all, idle, softirq, stolen; /* ticks of /proc/stat */
	__u64 drops, squeezes; /* of /proc/net/softnet_stat */
	bool has_times, has_softnet;
};

struct cpus {
	struct cpu_times *first, *last; /* NULL: not read */
	unsigned int n;
	__u64 first_ns, last_ns;
};

/* What cannot be read is not known. */
void cpus_read(struct cpus *c);
struct why_cpu cpus_of(const struct cpus *c, __u32 cpu);
void cpus_free(struct cpus *c);

/* For tests: the files are read from there. */
void cpu_times_of(struct cpu_times *times, unsigned int n, FILE *stat, FILE *softnet);

struct why_connection {
	struct conn_key key; /* the first member: a key in the map is its connection */
	char name[BBR_NAME_LEN]; /* of the congestion control */
	char profile[BBR_PROFILE_NAME_LEN]; /* "": not known, or it has none */
	__u64 cookie, cgroup, inode; /* 0: not known */
	__u32 netns;
	__u32 laddr[4], raddr[4];
	__u16 lport, rport;
	bool is_recorded;
	bool is_wanted; /* it matched the filter once */
	struct why_window window;

	/* What BBR knows, read just before what the kernel counts: that of reading number `round`. */
	unsigned int round;
	struct why_reading of_bbr;
};

struct why_connections {
	struct conn_map map; /* those that may still be read */
	struct why_connection **list; /* all */
	size_t n, n_cut; /* the first n_cut are no longer in the map */
};

/* The one with this key; a new one if there is none; NULL: then there would be more than `most`. */
struct why_connection *why_connection_get(struct why_connections *c, const struct conn_key *key,
					  size_t most);
/* Notes its congestion control and its ends. */
void why_connection_note(struct why_connection *c, const char name[BBR_NAME_LEN],
			 const struct bbr_event *e);
/* Notes its profile; false: it is not known. */
bool why_connection_note_profile(struct why_connection *c, const struct origin *origin,
				 const struct bbr_event *e);
/* From now on the same keys mean other connections. */
void why_connections_cut(struct why_connections *c);
void why_connections_free(struct why_connections *c);

/* Sets what an event of a BBR says; the rest of the reading is 0. */
void why_reading_of_event(struct why_reading *r, const struct algorithm *a,
			  const struct bbr_event *e);

/* Sets what a socket says: what an event would, and more. */
void why_reading_of_socket(struct why_reading *r, const struct why_socket *s);

/* The algorithm of connections without a BBR: it has no fields. */
extern const struct algorithm why_no_bbr;

/* Adds what BBR knows to what the socket says. */
void why_reading_merge(struct why_reading *r, const struct why_reading *of_bbr);

/* The bounds that the profiles of instances set on the pacing rates of their connections. */
struct profile_bounds {
	struct bounded_instance *list;
	unsigned int n;
};

/* Bytes per second, or WHY_NO_RATE. map_id is that of the struct_ops map. */
__u64 profile_bound(struct profile_bounds *b, __u32 map_id, unsigned int profile);
void profile_bounds_free(struct profile_bounds *b);

/* The same from the algorithm's parameters alone, for tests. */
__u64 bound_of_params(const struct algorithm *a, const __u32 *params, size_t n);

/* The answers of all connections, and their sums by what they have in common. */

/* A connection, and what its answer follows from: its sentences take nine kilobytes. */
struct why_result {
	const struct why_connection *connection;
	struct why_cpu cpu; /* that processed its last packet */
	struct why_neighbours others;
	double shares[WHY_CAUSES];
};

void why_result_answer(const struct why_result *r, struct why_answer *answer);

/* Connections that have something in common. Those that were idle count only in `idle`. */
struct why_group {
	struct group group;
	unsigned int connections, idle;
	double rate; /* bytes per second */
	double ns; /* the sum of their windows */
	double cause_ns[WHY_CAUSES];
	double most[WHY_CAUSES]; /* the largest of a single connection, and whose it is */
	const struct why_result *example[WHY_CAUSES];
};

struct why_results {
	struct why_result *list; /* the highest rate first */
	size_t n;
	unsigned int idle; /* connections that are not in the list, */
	unsigned int in_sockmaps; /* and of these, those whose data may pass TCP by */
};

/*
 * Judges those connections that matched and were read twice; idle ones only if with_idle. cpus is
 * NULL with a recording.
 */
void why_results_make(struct why_results *r, const struct why_connections *c,
		      const struct cpus *cpus, bool with_idle);
void why_results_free(struct why_results *r);

/*
 * Sums results, which must have the idle ones: groups of struct why_group, the highest rate first,
 * and those behind the first `most` in one.
 */
void why_groups_make(struct groups *g, const struct why_results *r, struct grouping *grouping,
		     size_t most);

/* Answers as text and as JSON. */
void why_print_text(FILE *out, const struct why_result *r);
void why_print_json(FILE *out, const struct why_result *r);
void why_print_group_text(FILE *out, const struct why_group *g);
void why_print_group_json(FILE *out, const struct why_group *g, enum group_by by);

#endif
