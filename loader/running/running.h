/* SPDX-License-Identifier: GPL-2.0-only */
/* A running experiment: its state, its log of decisions, its guards, its canary, how it is shown. */
#ifndef LOADER_RUNNING_H
#define LOADER_RUNNING_H

#include <stdbool.h>

#include "experiment/guard.h"
#include "kernel/experiment.h"

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
const char *experiment_state_text(enum experiment_state state);

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

/*
 * Decisions about an experiment, when and why: lines in a log that lives as long as the experiment.
 */
/* Makes a decision, with the current time. */
struct experiment_decision decision_make(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* Prints it as text with the experiment's name, or as a JSON object on one line. */
void decision_print(const char *experiment, const struct experiment_decision *d, bool json);

/* Writes it into the log, and prints it. */
void decision_take(const struct experiment_handle *h, const struct experiment_decision *d,
		   bool json);

/* The numbers, from 0, of the first line that the log still has and of the one after the last. */
void decisions(const struct experiment_handle *h, __u64 *first, __u64 *end);

/* Reads a line by its number; its text is printable. false: it is being written. */
bool decision_read(const struct experiment_handle *h, __u64 number,
		   struct experiment_decision *decision);

/* How a canary's guards stand at this moment. */
struct guard_status {
	int guards;
	struct guard guard[EXPERIMENT_GUARDS];
	struct guard_result result[EXPERIMENT_GUARDS];
	__u64 ended; /* connections of the new arm that began in this step */
};

#define GUARD_STATUS_TEXT_LEN 128

/* Judges the guards by the connections that began in the current step and have ended. */
int guard_status_read(const struct experiment_handle *h, struct guard_status *status);

/* The first guard that fails, or -1. */
int guard_status_failed(const struct guard_status *status);

/* Shows experiments as text and as JSON. */
struct json;

/* Print a table of experiments, and all that is known about one. */
void experiments_print(const struct experiment_handle *list, int n);
void experiment_print(const struct experiment_handle *h);

/* Add members to an object: what the table has, or all that is known. */
void experiment_add_short_json(struct json *j, const struct experiment_handle *h);
void experiment_add_json(struct json *j, const struct experiment_handle *h);

#endif
