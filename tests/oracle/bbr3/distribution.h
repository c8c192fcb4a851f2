/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far estimates were from the truth: how often by how much, and how often a yes should have
 * been no, or the reverse.
 */
#ifndef ORACLE_BBR3_DISTRIBUTION_H
#define ORACLE_BBR3_DISTRIBUTION_H

#include <stdbool.h>
#include <linux/types.h>

#define ERROR_MAX 2000 /* larger errors count as this */

/* Estimate minus truth. */
struct distribution {
	const char *name;
	bool in_permille; /* in 1/1000 of the truth; otherwise in packets */
	__u64 n, exact, within; /* within: by at most 2 % of the truth */
	__u32 by[2 * ERROR_MAX + 1];
};

/* A yes or no, or a decision that follows from one. */
struct decision {
	const char *name;
	/* n: times asked; yes: times it was true; wrong: estimated yes, but it was no */
	__u64 n, yes, missed, wrong;
};

void distribution_add(struct distribution *d, __u32 estimate, __u32 truth);
void distribution_print(const struct distribution *d, bool as_json);

void decision_add(struct decision *d, bool estimate, bool truth);
void decision_print(const struct decision *d, bool as_json);

#endif
