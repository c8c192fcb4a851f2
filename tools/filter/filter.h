/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filter expressions as in ss(8), with some additions: which connections and events to show.
 */
#ifndef TOOLS_FILTER_H
#define TOOLS_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/snapshot.h"
#include "cli/options.h"
#include "descriptor.h"
#include "event/event.h"
#include "event/field.h"

#define FILTER_WORDS 4096 /* of a command line */
#define FILTER_NODES 256 /* of one expression */
#define FILTER_DEPTH 32 /* of parentheses and "not" */
#define FILTER_NAME_LEN MODE_TEXT_LEN
#define FILTER_ALL_STATES (~0u) /* of TCP */

enum filter_op {
	FILTER_AND,
	FILTER_OR,
	FILTER_NOT,
	FILTER_HOST, /* dst, src */
	FILTER_PORT, /* dport, sport */
	FILTER_MARK,
	FILTER_CGROUP,
	FILTER_DEVICE,
	FILTER_NAME,
	FILTER_PROFILE,
	FILTER_MODE, /* or MODE/PHASE */
	FILTER_REASON,
	FILTER_FIELD, /* a value that has a key in JSON */
};

enum filter_compare {
	FILTER_EQ,
	FILTER_NE,
	FILTER_GE,
	FILTER_LE,
	FILTER_GT,
	FILTER_LT,
};

/* The index that a device has in a network namespace. */
struct filter_device {
	__u32 netns; /* 0: in any */
	__u32 ifindex;
};

struct filter_node {
	enum filter_op op;
	enum filter_compare compare;
	bool is_remote; /* dst, dport */
	int left, right; /* of AND and OR; of NOT: left */
	union {
		struct {
			__u32 addr[4], mask[4];
			bool any; /* "*" */
			bool is_inet6; /* only IPv6 sockets, as in ss */
			int port; /* -1: any */
		} host;
		__u16 port; /* host byte order */
		struct {
			__u32 value, mask;
		} mark;
		__u64 cgroup;
		struct {
			struct filter_device *list;
			int n;
		} device;
		char name[FILTER_NAME_LEN];
		struct {
			struct field_of of;
			__u64 value;
			const char *name; /* of a FIELD_NAME; compared instead of the value */
		} field;
	};
};

struct filter {
	unsigned int states; /* a bit for each TCP state that is wanted */
	struct filter_node nodes[FILTER_NODES];
	int n;
	int root; /* -1: no expression */
	bool needs_socket; /* tests what only a socket has, and no event */
	/* enum bbr_event_flag: it tests what only events with one of these have; 0: it does not. */
	__u16 needs;
	bool needs_reason; /* the same for why a mode was entered */
};

/*
 * Looks up names of the system: cgroups by path, devices by name. Each function gets the word
 * before the value for its message, and prints what is wrong.
 */
struct filter_system {
	int (*cgroup)(const char *option, const char *path, __u64 *id); /* an exit status */
	/* Returns false if there is none. The caller frees *list. */
	bool (*device)(void *ctx, const char *option, const char *name, struct filter_device **list,
		       int *n);
	void *ctx;
};

/* A filter that every socket and every event matches. */
void filter_init(struct filter *f);

/*
 * Returns false after printing what is wrong, where, and what to do. In either case f needs
 * filter_free(). If system is NULL, the expression is for events and must not test what only a
 * socket has. The fields and modes that it may name are those of `known`.
 */
bool filter_parse(struct filter *f, const char *text, const struct filter_system *system,
		  const struct known *known);
/* The same for words, joined by blanks. */
bool filter_parse_words(struct filter *f, int n, char **words, const struct filter_system *system,
			const struct known *known);

/*
 * Adds a condition that must be true as well; filter_add_names() one that is true for any of these
 * names. Returns false after printing that the expression is too long.
 */
bool filter_add(struct filter *f, const struct filter_node *condition);
bool filter_add_names(struct filter *f, const char *const *names, int n);

/* The socket is NULL for an event from a ring or a recording. */
bool filter_matches(struct filter *f, const struct origin *origin, const struct bbr_event *e,
		    const struct bbr_snapshot *socket);

/* True if a connection may match at one time and not at another. */
bool filter_has_state(const struct filter *f);

/*
 * True if the event has the values that the expression tests. Only some events, for instance, have
 * a rate sample.
 */
bool filter_knows(const struct filter *f, const struct bbr_event *e);

/*
 * Adds to the BPF program's filter what it can test of the expression: addresses and ports that
 * every connection must have. Returns true if that is the whole expression, so that nothing is left
 * for filter_matches().
 */
bool filter_push_down(const struct filter *f, struct bbr_filter *to);

void filter_free(struct filter *f);

/*
 * Which events a verb asks for, and how many it got, from the running system or from a recording.
 */

/* Which events. */
struct watch_request {
	struct bbr_filter filter;
	enum bbr_sampling sampling;
	__u64 interval_ns; /* BBR_SAMPLE_TIME */
	bool is_sampling_given; /* by the user: of a recording's ACKs show only these */
};

/*
 * How many events there were, and how many of them arrived. Once the subscription has ended:
 * seq == all of received + all of drops + drops_unknown.
 */
struct counters {
	__u64 seq; /* events that occurred, without those that the filter did not match */
	__u64 acks; /* of the connections that the BPF program reports, sampled or not */
	__u64 received[BBR_EV_MAX];
	__u64 drops[BBR_EV_MAX];
	__u64 drops_unknown; /* gaps in seq, when our slot and its counters were taken over */
	__u64 not_matched; /* read, but the filter did not match; only `acks` counts them as well */
};

void counters_add(struct counters *sum, const struct counters *c);
__u64 counters_received(const struct counters *c);
__u64 counters_drops(const struct counters *c);

/* Options that are short forms of a condition. */
enum filter_option {
	OPTION_REMOTE,
	OPTION_LOCAL,
	OPTION_RPORT,
	OPTION_LPORT,
	FILTER_OPTIONS,
};

/* What a verb asks for. */
struct watch_config {
	struct watch_request request;
	/* Which connections and events to watch, by words and options; NULL: all. */
	struct filter *filter;
	bool has_rest; /* request.filter, which the BPF program applies, is not all of it */
	/* Conditions that it gets, too; FILTER_AND: not given. */
	struct filter_node options[FILTER_OPTIONS];
	struct value_list names; /* of instances; they become part of it, too; none: all loaded */
	event_handler handle; /* false: monitor_poll() or replay_poll() returns */
	void *ctx;
	size_t ring_size; /* bytes: a power of two, whole pages; not for a recording */
	const char *read; /* a recording; NULL: the running system */
	double speed; /* of a recording: 1 as fast as it happened, 0 as fast as it can be read */
};

struct watch_totals {
	struct counters counters;
	__u64 watched_ns, unwatched_ns;
	/* Part of a recording has no end: ACKs and times are at least these. */
	bool is_cut;
};

/* True if this name is one of them. Without names, all are. */
bool names_have(const struct value_list *names, const char *name);

/* True if the event, or the state of a connection, matches the filter. */
bool is_wanted(const struct watch_config *config, const struct origin *origin,
	       const struct bbr_event *e);

#endif
