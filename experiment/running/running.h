/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bbrctl does with experiments: requests, scopes, arms and the program that start and stop one;
 * its state, log, guards and canary while it runs; how it is shown.
 */
#ifndef EXPERIMENT_RUNNING_H
#define EXPERIMENT_RUNNING_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/rules.h"
#include "cli/options.h"
#include "experiment/analysis/guard.h"
#include "experiment/experiment.h"
#include "experiment/handle.h"

struct socket_filter;

/* The options as they were written; NULL: not given. */
struct experiment_options {
	struct value_list arms; /* LABEL=CC[:PROFILE] */
	struct value_list shares; /* LABEL=PERCENT */
	struct value_list guards;
	const char *design, *by, *prefix, *block, *washout, *steps, *step_connections, *step_time,
		*keep, *seed;
	const char *every; /* watch */
	const char *arm; /* promote */
};

struct experiment_request {
	/*
	 * All but what the kernel knows: indexes of profiles, the cookie of the network namespace,
	 * `attached`, hz, when it started. Until the index is known, an arm with a profile's name
	 * has index 0.
	 */
	struct experiment config;
	__u32 share[EXPERIMENT_ARMS]; /* at the start; sum EXPERIMENT_SHARES */
};

/* Parses what `bbrctl experiment start` is asked for. This asks the kernel nothing. */
int experiment_request_parse(const char *name, const struct experiment_options *opt,
			     const struct socket_filter *filter, struct experiment_request *r);

/* Parses a duration, such as "10s"; NULL leaves *ns. Returns false after printing what is wrong. */
bool experiment_duration_parse(const char *option, const char *text, __u64 least, __u64 most,
			       __u64 *ns);

#define SCOPE_V4_BITS 96 /* of ::ffff:0:0/96 */

/* True if a connection can match both scopes, of experiments in these cgroups. */
bool scopes_overlap(const struct experiment_scope *a, const char *a_cgroup,
		    const struct experiment_scope *b, const char *b_cgroup);

/* The scope as a rule, without the cgroup and the network namespace. */
struct bbr_rule scope_rule(const struct experiment_scope *scope);

/* The index of the arm with this label, or -1. */
int experiment_arm(const struct experiment *e, const char *label);
/* The same, for an option. */
int experiment_choose_arm(const struct experiment *e, const char *option, const char *label,
			  int *arm);

/*
 * Checks that each arm's congestion control and profile exist. Fills in the indexes of profiles,
 * and in `assigned` the file descriptors of the instances' maps in which an experiment writes a
 * connection's profile (-1 for arms without one). EXIT_DONE: call arms_close() later.
 */
int arms_open(struct experiment *e, int assigned[EXPERIMENT_ARMS]);
void arms_close(int assigned[EXPERIMENT_ARMS]);

/* "new=bpf_bbr:gentle", valid until the next call. */
#define ARM_TEXT_LEN (EXPERIMENT_NAME_LEN + BBR_NAME_LEN + BBR_PROFILE_NAME_LEN)
const char *arm_text(const struct experiment_arm *arm);

/*
 * The first of these experiments with an arm that has this congestion control and, unless it is
 * NULL, this profile; or NULL.
 */
const struct experiment_handle *experiment_with(const struct experiment_handle *list, int n,
						const char *cc, const char *profile);

/* Returns EXIT_REFUSED, after printing which, if a running experiment has such an arm. */
int arms_refuse_use(const char *cc, const char *profile);

/*
 * Moves the experiment's open connections, in all network namespaces, to an arm. Does not touch new
 * ones. *moved: how many.
 */
int experiment_move(const struct experiment_handle *h, int arm, __u64 *moved);

struct plan;

/*
 * Returns EXIT_REFUSED, after printing which, if a step would take away an arm of a running
 * experiment.
 */
int plan_refuse_use(const struct plan *plan);

/*
 * Loads experiment.bpf.c with the request's values and `first` as the log's first line, then attaches
 * it to the cgroup. That begins the experiment: nothing from before would outlive this process.
 */
int experiment_program_start(struct experiment_request *r, const struct experiment_decision *first,
			     const char *cgroup);

/* Detaches it, which ends the experiment. */
int experiment_program_stop(const struct experiment_handle *h);

enum experiment_state {
	STATE_RUNNING,
	STATE_PAUSED,
	/* Of a canary: */
	STATE_UNWATCHED, /* all new connections get arm 0 */
	STATE_TAKEN_BACK, /* the same, for good: a guard failed */
	STATE_COMPLETE, /* all steps are done: all new connections get the last arm */
};

enum experiment_state experiment_state(const struct experiment_handle *h);

/* The state of a canary, whether it is paused or not. */
enum experiment_state canary_state(const struct experiment_handle *h);

/* "running", "paused", "unwatched", "taken back", "complete" */
extern const char *const experiment_states[];

/*
 * The canary's step, an index that is valid whatever the map holds; and how many steps there are.
 */
__u32 experiment_step(const struct experiment_handle *h);
__u32 experiment_steps(const struct experiment *e);

/*
 * For a switchback: the current block, its arm, the ns until it ends, and whether it is in its
 * washout.
 */
struct experiment_block {
	__u32 number;
	__u32 arm;
	__u64 left;
	bool washout;
};
struct experiment_block experiment_block_now(const struct experiment *e, __u64 now);

/*
 * Watches a canary: gives the new arm a larger share, step by step, while all guards hold, and
 * takes it back when one fails. The experiment itself has all that is needed to go on after the
 * watcher was killed.
 */
#define EXIT_TAKEN_BACK 4 /* of bbrctl, besides those of cli/err.h */

#define CANARY_LEASE (30ull * 1000000000) /* ns; without it all new connections get arm 0 */
/* ns from one check of the guards to the next, unless --every says otherwise */
#define CANARY_EVERY (10ull * 1000000000)

/*
 * Watches until all steps are done (EXIT_DONE), a guard fails (EXIT_TAKEN_BACK) or the experiment
 * has ended (EXIT_NOTHING). Returns EXIT_REFUSED after printing what failed.
 */
int canary_watch(const struct experiment_handle *h, __u64 every, bool json);

/* Makes a decision, a line of the log that lives as long as the experiment, with the current time. */
struct experiment_decision decision_make(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Prints it as text with the experiment's name, or as a JSON object on one line. */
void decision_print(const char *experiment, struct experiment_decision d, bool json);

/* Writes it into the log, and prints it. */
void decision_take(const struct experiment_handle *h, bool json, struct experiment_decision d);

/*
 * Reads the log's first line from this number on, and sets the number to the next one; skips what is
 * being written. The text is printable. false: there is none.
 */
bool decision_next(const struct experiment_handle *h, __u64 *number, struct experiment_decision *d);

/* Judges the guards by the connections that began in the current step and have ended. */
int guard_status_read(const struct experiment_handle *h, struct guard_status *status);

/* The first guard that fails, or -1. */
int guard_status_failed(const struct guard_status *status);

struct json;

/* Print a table of experiments, and all that is known about one. */
void experiments_print(const struct experiment_handle *list, int n);
void experiment_print(const struct experiment_handle *h);

/* Adds members to an object: all that is known, or in short what the table has. */
void experiment_add_json(struct json *j, const struct experiment_handle *h, bool is_short);

#endif
