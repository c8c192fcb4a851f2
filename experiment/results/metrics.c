// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "experiment/analysis/guard.h"
#include "openmetrics.h"
#include "study.h"

#define ROWS_MAX 200000 /* that guards are judged by */

/* In the order in which they are printed. */
enum told {
	/* Of each arm. */
	CONNECTIONS,
	REFUSED,
	ENDED, /* from here on counted by us, from outcomes */
	FAILED,
	ACKED,
	SENT,
	RETRANSMITTED, /* up to here */
	SHARE,
	/* Of an experiment. */
	CHOSEN,
	MISSED, /* for each reason */
	PAUSED,
	STEP,
	TOLD,
};

struct exported_experiment {
	struct collector collector;
	struct study study; /* a canary's rows are those since its step began */
	__u64 counted[RETRANSMITTED + 1][EXPERIMENT_ARMS];
	struct guard_status status; /* of a canary */
	bool is_running;
};

static void forget(struct exported_experiment *e)
{
	collector_close(&e->collector);
	study_free(&e->study);
}

void experiments_close(struct experiments *x)
{
	for (int i = 0; i < x->n; i++)
		forget(&x->at[i]);
	free(x->at);
	*x = (struct experiments){};
}

static void add_outcomes(struct exported_experiment *e, size_t from)
{
	for (size_t i = from; i < e->study.rows.n; i++) {
		const struct row *row = &e->study.rows.at[i];

		e->counted[ENDED][row->arm]++;
		e->counted[FAILED][row->arm] +=
			row->end == EXPERIMENT_RESET || row->end == EXPERIMENT_TIMED_OUT;
		e->counted[ACKED][row->arm] += row->acked;
		e->counted[SENT][row->arm] += row->sent;
		e->counted[RETRANSMITTED][row->arm] += row->retransmitted;
	}
}

/* Keeps only a canary's rows that began in its step: earlier ones had other shares. */
static void keep_rows_of_step(struct exported_experiment *e)
{
	const struct experiment *config = &e->study.experiment;
	__u64 since = e->collector.handle.control->step_since;
	struct rows *rows = &e->study.rows;
	size_t n = 0;

	if (config->design == EXPERIMENT_CANARY && rows->n <= ROWS_MAX)
		for (size_t i = 0; i < rows->n; i++)
			if (config->started + rows->at[i].begin_ns >= since)
				rows->at[n++] = rows->at[i];
	rows->n = n;
}

int experiments_update(struct experiments *x)
{
	struct experiment_list list AUTO(experiments_free) = {};
	struct exported_experiment *e;
	int error = experiments_list(&list), kept = 0;

	for (int i = 0; i < x->n; i++)
		x->at[i].is_running = false;
	for (int i = 0; i < list.n; i++) {
		int known = 0;

		while (known < x->n && x->at[known].collector.handle.prog_id != list.at[i].prog_id)
			known++;
		if (known < x->n)
			x->at[known].is_running = true;
		if (known < x->n || x->n == EXPERIMENTS_TOLD)
			continue;
		e = &MEM_ADD(x->at, x->n);
		*e = (struct exported_experiment){ .is_running = true };
		collector_take(&e->collector, &e->study, &list.at[i]);
	}
	for (int i = 0; i < x->n; i++) {
		if (x->at[i].is_running)
			x->at[kept++] = x->at[i];
		else
			forget(&x->at[i]);
	}
	x->n = kept;
	for (int i = 0; i < x->n && !error; i++) {
		size_t before = x->at[i].study.rows.n;

		e = &x->at[i];
		collector_read(&e->collector, &e->study);
		add_outcomes(e, before);
		keep_rows_of_step(e);
		if (e->study.experiment.design == EXPERIMENT_CANARY)
			guard_status_judge(&e->status, &e->study.experiment, &e->study.rows);
	}
	/* Before Linux 6.10 without CAP_NET_ADMIN: export works without experiments. */
	return error == -EPERM ? 0 : error;
}

/* ---- as metrics */

static const struct om_family families[TOLD] = {
	[CONNECTIONS] = { "bbr_experiment_connections", OM_COUNTER, NULL,
			  "Connections assigned to the arm." },
	[REFUSED] = { "bbr_experiment_refused_connections", OM_COUNTER, NULL,
		      "Connections for which the kernel refused the arm." },
	[ENDED] = { "bbr_experiment_ended_connections", OM_COUNTER, NULL,
		    "Connections that have ended, or left a block." },
	[FAILED] = { "bbr_experiment_failed_connections", OM_COUNTER, NULL,
		     "Of these, connections that the peer reset or that timed out." },
	[ACKED] = { "bbr_experiment_acked_bytes", OM_COUNTER, "bytes",
		    "Bytes that were acknowledged, of connections that have ended." },
	[SENT] = { "bbr_experiment_sent_bytes", OM_COUNTER, "bytes",
		   "Bytes that were sent, of connections that have ended." },
	[RETRANSMITTED] = { "bbr_experiment_retransmitted_bytes", OM_COUNTER, "bytes",
			    "Bytes that were sent again, of connections that have ended." },
	[SHARE] = { "bbr_experiment_share_ratio", OM_GAUGE, "ratio",
		    "Share of new connections that get the arm." },
	[CHOSEN] = { "bbr_experiment_chosen_connections", OM_COUNTER, NULL,
		     "Connections left alone because the application had chosen its congestion "
		     "control itself." },
	[MISSED] = { "bbr_experiment_missed_connections", OM_COUNTER, NULL,
		     "Connections whose outcome is not known." },
	[PAUSED] = { "bbr_experiment_paused", OM_GAUGE, NULL,
		     "1 if new connections are left alone." },
	[STEP] = { "bbr_experiment_step", OM_GAUGE, NULL, "The step of a canary, from 1." },
};

static const char *const missed[] = { "overwritten", "lost", "no_memory" };

/* The number of an arm, or for a reason. */
static double number(const struct exported_experiment *e, enum told which, int of)
{
	const struct experiment_control *read = &e->study.control;
	const struct experiment_control *now = e->collector.handle.control;
	const __u64 misses[] = { e->study.overwritten, read->lost, read->no_memory };
	__u32 share[EXPERIMENT_ARMS];

	switch (which) {
	case CONNECTIONS:
		return read->assigned[of];
	case REFUSED:
		return read->refused[of];
	case SHARE:
		experiment_shares(&e->collector.handle, share);
		return share[of] / (double)EXPERIMENT_SHARES;
	case CHOSEN:
		return read->chosen;
	case MISSED:
		return misses[of];
	case PAUSED:
		return !!now->paused;
	case STEP:
		return now->step + 1.0;
	default:
		return e->counted[which][of];
	}
}

static void print(struct openmetrics *om, enum told which, const struct exported_experiment *e)
{
	const struct experiment *config = &e->study.experiment;
	bool is_of_arm = which <= SHARE;
	int n = is_of_arm ? (int)config->arms : which == MISSED ? 3 : 1;

	if ((which == SHARE && config->design == EXPERIMENT_SWITCHBACK) ||
	    (which == STEP && config->design != EXPERIMENT_CANARY))
		return;
	for (int i = 0; i < n; i++) {
		const struct om_label labels[] = { { "experiment", config->name },
						   { is_of_arm	     ? "arm" :
						     which == MISSED ? "why" :
								       NULL,
						     is_of_arm ? config->arm[i].label : missed[i] },
						   {} };

		om_number(om, &families[which], labels, number(e, which, i));
	}
}

static void print_guards(struct openmetrics *om, const struct om_family *family,
			 const struct exported_experiment *e)
{
	for (int i = 0; i < e->status.guards; i++)
		for (int v = GUARD_HOLDS; v <= GUARD_PROVEN; v++) {
			const struct om_label labels[] = {
				{ "experiment", e->study.experiment.name },
				{ "guard", e->study.experiment.guard[i] },
				{ "verdict", guard_verdicts[v] },
				{}
			};

			om_number(om, family, labels, (int)e->status.result[i].verdict == v);
		}
}

void experiments_print(const struct experiments *x, struct openmetrics *om, bool has_outcomes)
{
	static const struct om_family guards = {
		"bbr_experiment_guard", OM_GAUGE, NULL,
		"1 for the verdict of a canary's guard at this step: holds, failed or proven."
	};

	for (enum told which = 0; which < TOLD; which++) {
		if (!has_outcomes && which >= ENDED && which <= RETRANSMITTED)
			continue;
		om_family(om, &families[which]);
		for (int i = 0; i < x->n; i++)
			print(om, which, &x->at[i]);
	}
	if (!has_outcomes)
		return;
	om_family(om, &guards);
	for (int i = 0; i < x->n; i++)
		print_guards(om, &guards, &x->at[i]);
}
