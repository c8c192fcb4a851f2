// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "experiment/analysis/guard.h"
#include "openmetrics.h"
#include "study.h"

#define ROWS_MAX 200000 /* that guards are judged by */

struct guard_state {
	bool is_known;
	enum guard_verdict verdict;
};

struct exported_experiment {
	struct collector collector;
	struct study study; /* a canary's rows are those since its step began */
	/* By arm; the last three are bytes. */
	__u64 ended[EXPERIMENT_ARMS], failed[EXPERIMENT_ARMS], acked[EXPERIMENT_ARMS],
		sent[EXPERIMENT_ARMS], retransmitted[EXPERIMENT_ARMS];
	struct guard_state guard[EXPERIMENT_GUARDS];
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

		e->ended[row->arm]++;
		e->failed[row->arm] +=
			row->end == EXPERIMENT_RESET || row->end == EXPERIMENT_TIMED_OUT;
		e->acked[row->arm] += row->acked;
		e->sent[row->arm] += row->sent;
		e->retransmitted[row->arm] += row->retransmitted;
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

static void judge_guards(struct exported_experiment *e)
{
	const struct experiment *config = &e->study.experiment;
	struct rows_units units;

	memset(e->guard, 0, sizeof(e->guard));
	if (config->design != EXPERIMENT_CANARY)
		return;
	units = rows_find_units(&e->study.rows, config);
	for (int i = 0; i < EXPERIMENT_GUARDS && config->guard[i][0]; i++) {
		struct guard_result result;
		struct guard guard;

		if (!guard_parse("guard", config->guard[i], &guard))
			continue;
		result = guard_judge(&guard, &e->study.rows, &units, config->arms - 1,
				     guard_level(config));
		e->guard[i] = (struct guard_state){ true, result.verdict };
	}
}

static void read_one(struct exported_experiment *e)
{
	size_t before = e->study.rows.n;

	collector_read(&e->collector, &e->study);
	add_outcomes(e, before);
	keep_rows_of_step(e);
	judge_guards(e);
}

/* Takes over the handle. */
static void add(struct experiments *x, struct experiment_handle *handle)
{
	struct exported_experiment *added = &MEM_ADD(x->at, x->n);

	*added = (struct exported_experiment){ .is_running = true };
	collector_take(&added->collector, &added->study, handle);
}

int experiments_update(struct experiments *x)
{
	struct experiment_handle *list;
	int n = experiments_list(&list), error = n < 0 ? n : 0, kept = 0;

	for (int i = 0; i < x->n; i++)
		x->at[i].is_running = false;
	for (int i = 0; i < n; i++) {
		int known = 0;

		while (known < x->n && x->at[known].collector.handle.prog_id != list[i].prog_id)
			known++;
		if (known < x->n)
			x->at[known].is_running = true;
		else if (x->n < EXPERIMENTS_TOLD)
			add(x, &list[i]);
	}
	experiments_free(list, n);
	for (int i = 0; i < x->n; i++) {
		if (x->at[i].is_running)
			x->at[kept++] = x->at[i];
		else
			forget(&x->at[i]);
	}
	x->n = kept;
	for (int i = 0; i < x->n && !error; i++)
		read_one(&x->at[i]);
	/* Before Linux 6.10 without CAP_NET_ADMIN: export works without experiments. */
	return error == -EPERM ? 0 : error;
}

/* ---- as metrics */

static void print(struct openmetrics *om, const struct om_family *family,
		  const struct exported_experiment *e, const char *name, const char *value,
		  double number)
{
	const struct om_label labels[] = { { "experiment", e->study.experiment.name },
					   { name, value },
					   {} };

	om_number(om, family, labels, number);
}

#define COUNTED 2 /* the first two are counted by the kernel */
#define OF_ARM(member) offsetof(struct exported_experiment, member)

static const struct {
	struct om_family is;
	size_t numbers; /* one of each arm */
} by_arm[] = {
	{ { "bbr_experiment_connections", OM_COUNTER, NULL, "Connections assigned to the arm." },
	  OF_ARM(study.control.assigned) },
	{ { "bbr_experiment_refused_connections", OM_COUNTER, NULL,
	    "Connections for which the kernel refused the arm." },
	  OF_ARM(study.control.refused) },
	{ { "bbr_experiment_ended_connections", OM_COUNTER, NULL,
	    "Connections that have ended, or left a block." },
	  OF_ARM(ended) },
	{ { "bbr_experiment_failed_connections", OM_COUNTER, NULL,
	    "Of these, connections that the peer reset or that timed out." },
	  OF_ARM(failed) },
	{ { "bbr_experiment_acked_bytes", OM_COUNTER, "bytes",
	    "Bytes that were acknowledged, of connections that have ended." },
	  OF_ARM(acked) },
	{ { "bbr_experiment_sent_bytes", OM_COUNTER, "bytes",
	    "Bytes that were sent, of connections that have ended." },
	  OF_ARM(sent) },
	{ { "bbr_experiment_retransmitted_bytes", OM_COUNTER, "bytes",
	    "Bytes that were sent again, of connections that have ended." },
	  OF_ARM(retransmitted) },
};

static void print_by_arm(const struct experiments *x, struct openmetrics *om, bool has_outcomes)
{
	static const struct om_family shares = { "bbr_experiment_share_ratio", OM_GAUGE, "ratio",
						 "Share of new connections that get the arm." };
	int n = has_outcomes ? sizeof(by_arm) / sizeof(by_arm[0]) : COUNTED;

	for (int which = 0; which < n; which++) {
		om_family(om, &by_arm[which].is);
		for (int i = 0; i < x->n; i++) {
			const struct experiment *e = &x->at[i].study.experiment;
			const __u64 *numbers =
				(const void *)((const char *)&x->at[i] + by_arm[which].numbers);

			for (__u32 arm = 0; arm < e->arms; arm++)
				print(om, &by_arm[which].is, &x->at[i], "arm", e->arm[arm].label,
				      numbers[arm]);
		}
	}
	om_family(om, &shares);
	for (int i = 0; i < x->n; i++) {
		const struct experiment *e = &x->at[i].study.experiment;
		__u32 share[EXPERIMENT_ARMS];

		if (e->design == EXPERIMENT_SWITCHBACK)
			continue;
		experiment_shares(&x->at[i].collector.handle, share);
		for (__u32 arm = 0; arm < e->arms; arm++)
			print(om, &shares, &x->at[i], "arm", e->arm[arm].label,
			      share[arm] / (double)EXPERIMENT_SHARES);
	}
}

static void print_state(const struct experiments *x, struct openmetrics *om)
{
	static const struct om_family chosen = { "bbr_experiment_chosen_connections", OM_COUNTER,
						 NULL,
						 "Connections left alone because the application "
						 "had chosen its congestion control itself." };
	static const struct om_family missed = { "bbr_experiment_missed_connections", OM_COUNTER,
						 NULL, "Connections whose outcome is not known." };
	static const struct om_family paused = { "bbr_experiment_paused", OM_GAUGE, NULL,
						 "1 if new connections are left alone." };
	static const struct om_family step = { "bbr_experiment_step", OM_GAUGE, NULL,
					       "The step of a canary, from 1." };

	om_family(om, &chosen);
	for (int i = 0; i < x->n; i++)
		print(om, &chosen, &x->at[i], NULL, NULL, x->at[i].study.control.chosen);
	om_family(om, &missed);
	for (int i = 0; i < x->n; i++) {
		const struct study *s = &x->at[i].study;

		print(om, &missed, &x->at[i], "why", "overwritten", s->overwritten);
		print(om, &missed, &x->at[i], "why", "lost", s->control.lost);
		print(om, &missed, &x->at[i], "why", "no_memory", s->control.no_memory);
	}
	om_family(om, &paused);
	for (int i = 0; i < x->n; i++)
		print(om, &paused, &x->at[i], NULL, NULL,
		      !!x->at[i].collector.handle.control->paused);
	om_family(om, &step);
	for (int i = 0; i < x->n; i++)
		if (x->at[i].study.experiment.design == EXPERIMENT_CANARY)
			print(om, &step, &x->at[i], NULL, NULL,
			      x->at[i].collector.handle.control->step + 1.0);
}

static void print_guards(const struct experiments *x, struct openmetrics *om)
{
	static const struct om_family family = {
		"bbr_experiment_guard", OM_GAUGE, NULL,
		"1 for the verdict of a canary's guard at this step: holds, failed or proven."
	};

	om_family(om, &family);
	for (int i = 0; i < x->n; i++)
		for (int k = 0; k < EXPERIMENT_GUARDS; k++) {
			const struct exported_experiment *e = &x->at[i];

			for (int v = GUARD_HOLDS; v <= GUARD_PROVEN && e->guard[k].is_known; v++) {
				const struct om_label labels[] = {
					{ "experiment", e->study.experiment.name },
					{ "guard", e->study.experiment.guard[k] },
					{ "verdict", guard_verdict_name(v) },
					{}
				};

				om_number(om, &family, labels, (int)e->guard[k].verdict == v);
			}
		}
}

void experiments_print(const struct experiments *x, struct openmetrics *om, bool has_outcomes)
{
	print_by_arm(x, om, has_outcomes);
	print_state(x, om);
	if (has_outcomes)
		print_guards(x, om);
}
