/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The result of an experiment: for each metric, each arm compared with arm 0.
 */
#ifndef EXPERIMENT_COMPARE_H
#define EXPERIMENT_COMPARE_H

#include "row.h"

#define COMPARE_LEVEL 0.95 /* of the intervals */
#define COMPARE_POWER 0.8 /* of comparison.detectable */
#define COMPARE_MIN_UNITS 5 /* of each arm, for an interval */
/*
 * If units are drawn, those beside the largest must tell as much as this many of equal size. With
 * fewer, many draws have no finite interval, and those that have one are called different too often
 * (8 % of equal arms instead of 5 %): what selects them must not depend on the draw.
 */
#define COMPARE_MIN_OTHERS 8
#define COMPARE_MIN_ROUNDS 4 /* of a switchback */

/* Why there is no interval. */
enum compare_lack {
	COMPARE_HAS_ALL,
	COMPARE_NO_CONNECTIONS, /* an arm has none with this metric, so there is no difference */
	COMPARE_NOTHING, /* it is 0 in both arms */
	COMPARE_EQUAL, /* it is the same in all connections */
	COMPARE_FEW_UNITS, /* connections or prefixes */
	COMPARE_FEW_CONNECTIONS, /* for this quantile */
	COMPARE_FEW_ROUNDS,
	COMPARE_LACKS,
};

enum compare_verdict {
	COMPARE_UNDECIDED, /* 0 is in the interval, or there is none */
	COMPARE_BETTER,
	COMPARE_WORSE,
};

struct compare_arm {
	__u64 connections; /* with this metric */
	__u32 units; /* of these connections; with blocks, the blocks that were compared */
	/*
	 * With blocks, the mean of the blocks' values. Not known without connections or, with
	 * blocks, without rounds.
	 */
	double value;
	bool has_value;
};

struct comparison {
	const struct metric *metric;
	int size_class; /* or SIZE_ALL */
	int arm; /* that is compared with arm 0 */
	struct compare_arm control, treated;
	enum compare_lack lack;
	double difference; /* treated - control; not known with COMPARE_NO_CONNECTIONS */
	double low, high; /* its interval; this and the rest only with COMPARE_HAS_ALL */
	double detectable; /* a difference of this size is seen with a chance of COMPARE_POWER */
	enum compare_verdict verdict;
};

/* The rows have these units, from rows_find_units(). */
struct comparison compare(const struct metric *metric, const struct rows *rows,
			  const struct rows_units *units, int arm, int size_class);

/*
 * The value that Student's t is below with chance p, 0 < p < 1, with any real number of degrees of
 * freedom from 1 on.
 */
double student_quantile(double p, double df);

/* "too few prefixes": why there is no interval, for people. */
const char *compare_lack_text(enum compare_lack lack, enum rows_unit by);

#endif
