/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guards of a canary: what the new arm must not do to a metric, and a test of it that may be looked at as often as one likes.
 */
#ifndef LIB_GUARD_H
#define LIB_GUARD_H

#include "row.h"
#include "metric.h"

#define GUARD_LEVEL 0.05 /* so often, at most, is a canary taken back that is no different */
#define GUARD_MIN_CONNECTIONS 30 /* of each arm, before a guard says anything */

struct guard {
	const struct metric *metric;
	bool is_upper; /* "<": the metric must stay below; otherwise above */
	double factor; /* of arm 0's value, */
	double amount; /* and this added to it, in the metric's unit; one of both is 1 or 0 */
};

/*
 * "retransmitted < 1.2x", "rtt_p95 < +10ms", "goodput_p50 > 0.97x", "failed < +0.5%". Prints what is wrong, as of the option, and
 * returns false. A guard that equal arms would not keep is refused.
 */
bool guard_parse(const char *option, const char *text, struct guard *guard);

enum guard_verdict {
	GUARD_HOLDS, /* so far: nothing speaks against it strongly enough */
	GUARD_FAILED,
	GUARD_PROVEN, /* the new arm keeps it */
};

struct guard_result {
	enum guard_verdict verdict;
	__u64 connections[2]; /* with this metric: of arm 0, and of the new one */
	double value[2]; /* of arm 0, and of the new one; NAN: no connections */
	double errors; /* so many standard errors is the new one beyond what is allowed, positive, or within it */
	double allowed_errors; /* from here on it has failed; infinite: too few connections */
};

/*
 * The level of each test of this experiment: at each step there is one for each guard, and GUARD_LEVEL is that of all of them
 * together.
 */
double guard_level(const struct experiment *e);

/*
 * Of these rows, which should be those that began since the step did, because the shares were other ones before and the
 * traffic was, too. The units are those of rows_find_units(). false: no memory.
 */
bool guard_judge(struct guard_result *to, const struct guard *guard, const struct rows *rows,
		 const struct rows_units *units, const struct experiment *e, int arm, double level);

/* "retransmitted 2.41% (control 1.02%, allowed 1.22%), 412 and 7,903 connections": a line of the log. */
void guard_text(char *buf, size_t size, const struct guard *guard,
		const struct guard_result *result);

const char *guard_verdict_name(enum guard_verdict verdict); /* "holds", "failed", "proven" */

#endif
