/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guards of a canary: a bound for a metric of the new arm, and a test of it that may be evaluated
 * at any time, as often as needed.
 */
#ifndef EXPERIMENT_GUARD_H
#define EXPERIMENT_GUARD_H

#include "row.h"

#define GUARD_LEVEL 0.05 /* the chance, at most, of taking back a canary whose arms are equal */
#define GUARD_MIN_CONNECTIONS 30 /* of each arm, before a guard decides anything */

struct guard {
	const struct metric *metric;
	bool is_upper; /* "<": the metric must stay below; otherwise above */
	double factor; /* of arm 0's value */
	double amount; /* added to that, in the metric's unit; the factor is 1 or this is 0 */
};

/*
 * Reads "retransmitted < 1.2x", "rtt_p95 < +10ms", "goodput_p50 > 0.97x", "failed < +0.5%".
 * Otherwise prints what is wrong with --guard, and returns false. A guard that equal
 * arms would not keep is refused.
 */
bool guard_parse(const char *text, struct guard *guard);

/* A number with a mark at its end: "1.2x", "0.5%". */
bool parse_marked(const char *s, char mark, double *value);

enum guard_verdict {
	GUARD_HOLDS, /* so far: there is no strong enough evidence against it */
	GUARD_FAILED,
	GUARD_PROVEN, /* the new arm keeps it */
};

struct guard_result {
	enum guard_verdict verdict;
	__u64 connections[2]; /* with this metric: of arm 0, and of the new one */
	double value[2]; /* of arm 0, and of the new one; NAN: no connections */
	double errors; /* standard errors beyond what is allowed; negative: within it */
	double allowed_errors; /* above this it has failed; infinite: too few connections */
};

/*
 * The level of each test of this experiment. Each step has a test for each guard; GUARD_LEVEL is
 * the level of all of them together.
 */
double guard_level(const struct experiment *e);

/*
 * Judges these rows. They should be the connections that began after the step did, because the
 * shares were different before, and so was the traffic. They have their units from
 * rows_find_units().
 */
struct guard_result guard_judge(const struct guard *guard, const struct rows *rows,
				const struct rows_units *units, int arm, double level);

/* How a canary's guards stand at a moment. */
struct guard_status {
	int guards;
	struct guard guard[EXPERIMENT_GUARDS];
	struct guard_result result[EXPERIMENT_GUARDS];
	__u64 ended; /* connections of the new arm that began in this step */
};

/* Judges all guards by these rows; false, without any, after printing that one is wrong. */
bool guard_status_judge(struct guard_status *status, const struct experiment *e, struct rows *rows);

/*
 * A line of the log: "retransmitted 2.41% (control 1.02%, allowed 1.22%), 412 and 7,903
 * connections". It is valid until the next call.
 */
const char *guard_text(const struct guard *guard, const struct guard_result *result);

extern const char *const guard_verdicts[]; /* "holds", "failed", "proven" */

#endif
