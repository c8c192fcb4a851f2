/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answers of all connections, and their sums by what they have in common.
 */
#ifndef TOOLS_WHY_GROUPS_H
#define TOOLS_WHY_GROUPS_H

#include <stdio.h>

#include "connection.h"
#include "snapshot/grouping.h"

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
