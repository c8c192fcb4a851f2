/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an experiment has shown: for each metric, each arm against arm 0.
 */
#ifndef LIB_COMPARE_H
#define LIB_COMPARE_H

#include "metric.h"

#define COMPARE_LEVEL 0.95 /* of intervals */
#define COMPARE_POWER 0.8 /* of the least difference that can be shown */
#define COMPARE_MIN_UNITS 5 /* of each arm, for an interval */
#define COMPARE_MIN_ROUNDS 4 /* of a switchback */

/* Why there is no interval. */
enum compare_lack {
	COMPARE_HAS_ALL,
	COMPARE_NO_CONNECTIONS, /* one of the arms has none with this metric; there is no difference either */
	COMPARE_NOTHING, /* it is 0 of all connections */
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
	__u32 units; /* that they are of; with blocks those that were compared */
	double value; /* with blocks, the mean of theirs; not known without connections or, with blocks, without rounds */
	bool has_value;
};

struct comparison {
	const struct metric *metric;
	int size_class; /* or SIZE_ALL */
	int arm; /* that is compared with arm 0 */
	struct compare_arm control, treated;
	enum compare_lack lack;
	double difference; /* treated - control; not with COMPARE_NO_CONNECTIONS */
	double low, high; /* its interval; only with COMPARE_HAS_ALL, as what follows */
	double detectable; /* a difference of this size is seen with a chance of COMPARE_POWER */
	enum compare_verdict verdict;
};

/* The units of the rows are those of rows_find_units(). false: no memory. */
bool compare(struct comparison *to, const struct metric *metric, const struct rows *rows,
	     const struct rows_units *units, const struct experiment *e, int arm, int size_class);

/* "too few prefixes": why there is no interval, for people. */
const char *compare_lack_text(enum compare_lack lack, enum rows_unit by);

#endif
