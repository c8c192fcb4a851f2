// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "cli/units.h"
#include "contrast.h"
#include "guard.h"

/* ---- as text */

static bool refuse(const char *text, const char *why)
{
	err("--guard \"%s\": %s\n"
	    "METRIC < FACTORx, or METRIC < +AMOUNT: \"retransmitted < 1.2x\", "
	    "\"rtt_p95 < +10ms\", \"goodput_p50 > 0.97x\"",
	    text, why);
	return false;
}

bool parse_marked(const char *s, char mark, double *value)
{
	char number[UNITS_LEN];
	size_t len = strlen(s);

	if (len < 2 || len > sizeof(number) || s[len - 1] != mark)
		return false;
	memcpy(number, s, len - 1);
	number[len - 1] = 0;
	return parse_number(number, value) == PARSE_OK;
}

/* Reads an amount in the unit of the metric. */
static bool parse_amount(const char *s, enum metric_unit unit, double *amount)
{
	switch (unit) {
	case METRIC_BPS:
		return parse_bitrate(s, amount) == PARSE_OK;
	case METRIC_US:
		if (parse_duration(s, amount) != PARSE_OK)
			return false;
		*amount /= 1000;
		return true;
	case METRIC_SHARE:
		if (!parse_marked(s, '%', amount))
			return false;
		*amount /= 100;
		return true;
	default:
		return parse_number(s, amount) == PARSE_OK;
	}
}

static bool parse_bound(const char *s, struct guard *guard)
{
	double sign = *s == '-' ? -1 : 1;

	guard->factor = 1;
	guard->amount = 0;
	if (*s != '+' && *s != '-')
		return parse_marked(s, 'x', &guard->factor) && guard->factor > 0;
	if (!parse_amount(s + 1, guard->metric->of->unit, &guard->amount))
		return false;
	guard->amount *= sign;
	return true;
}

bool guard_parse(const char *text, struct guard *guard)
{
	char s[sizeof(((struct experiment *)0)->guard[0])];
	size_t name, n = 0;

	if (strlen(text) >= sizeof(s))
		return refuse(text, "too long");
	for (const char *c = text; *c; c++)
		if (!isspace((unsigned char)*c))
			s[n++] = *c;
	s[n] = 0;
	name = strcspn(s, "<>");
	guard->metric = metric_find(s, name);
	if (!guard->metric)
		return refuse(text, "no such metric (bbrmon(8) lists them)");
	if (!s[name])
		return refuse(text, "it needs < or >");
	guard->is_upper = s[name] == '<';
	if (!parse_bound(s + name + 1, guard))
		return refuse(text, "neither a factor nor an amount of this metric");
	if (guard->is_upper ? guard->factor < 1 || guard->amount < 0 :
			      guard->factor > 1 || guard->amount > 0)
		return refuse(text, "equal arms would already violate it");
	return true;
}

static void group_thousands(char *buf, size_t size, __u64 n)
{
	char plain[UNITS_LEN];
	int len = snprintf(plain, sizeof(plain), "%llu", n), at = 0;

	for (int i = 0; i < len && at + 2 < (int)size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = plain[i];
	}
	buf[at] = 0;
}

const char *guard_text(const struct guard *guard, const struct guard_result *result)
{
	static char text[128];
	const struct metric *m = guard->metric;
	const double *value = result->value;
	char n[2][UNITS_LEN];

	if (!result->connections[0] || !result->connections[1]) {
		snprintf(text, sizeof(text), "%s: no connections to compare yet", m->name);
		return text;
	}
	for (int i = 0; i < 2; i++)
		group_thousands(n[i], sizeof(n[i]), result->connections[i]);
	snprintf(text, sizeof(text), "%s %s (control %s, allowed %s), %s and %s connections",
		 m->name, metric_text(m->of->unit, METRIC_VALUE, value[1]),
		 metric_text(m->of->unit, METRIC_VALUE, value[0]),
		 metric_text(m->of->unit, METRIC_VALUE, guard->factor * value[0] + guard->amount),
		 n[1], n[0]);
	return text;
}

const char *const guard_verdicts[] = { "holds", "failed", "proven" };

/* ---- the test */

double guard_level(const struct experiment *e)
{
	int guards = 0, steps = 0;

	for (int i = 0; i < EXPERIMENT_GUARDS; i++)
		guards += !!e->guard[i][0];
	for (int i = 0; i < EXPERIMENT_STEPS; i++)
		steps += !!e->step[i];
	return GUARD_LEVEL / (guards ? guards : 1) / (steps ? steps : 1);
}

/*
 * The one-sided boundary of Robbins' normal mixture, in standard errors after n draws. If the arms
 * only just keep the guard, the test ever passes the boundary, at any time, with a chance of
 * `level` (Howard, Ramdas, McAuliffe and Sekhon, Annals of Statistics 49, 2021). For means of
 * anything and with an estimated variance this holds asymptotically (Waudby-Smith, Arbour, Sinha,
 * Kennedy and Ramdas, Annals of Statistics 52, 2024). They also give rho, for which the boundary is
 * tightest after BEST draws.
 */
#define BEST 500

static double boundary(double n, double level)
{
	double log2 = -2 * log(2 * level);
	double rho2 = (log2 + log(log2 + 1)) / BEST, mixed = n * rho2 + 1;

	return sqrt(2 * mixed / (n * rho2) * log(1 + sqrt(mixed) / (2 * level)));
}

struct guard_result guard_judge(const struct guard *guard, const struct rows *rows,
				const struct rows_units *units, int arm, double level)
{
	struct guard_result to = { .value = { NAN, NAN }, .allowed_errors = INFINITY };
	struct contrast c AUTO(contrast_free);
	bool is_enough = true;
	double test;

	contrast_init(&c, guard->metric, rows, units, arm, SIZE_ALL);
	for (int i = 0; i < 2; i++) {
		to.connections[i] = c.arm[i].all.n;
		is_enough &= to.connections[i] >= GUARD_MIN_CONNECTIONS;
	}
	if (!to.connections[0] || !to.connections[1])
		return to;
	for (int i = 0; i < 2; i++)
		to.value[i] = c.arm[i].estimate;
	test = contrast_test(&c, guard->factor, guard->amount);
	to.errors = guard->is_upper ? test : -test;
	if (is_enough)
		to.allowed_errors = boundary(c.effective, level);
	if (to.errors > to.allowed_errors)
		to.verdict = GUARD_FAILED;
	else if (-to.errors > to.allowed_errors)
		to.verdict = GUARD_PROVEN;
	return to;
}

bool guard_status_judge(struct guard_status *status, const struct experiment *e, struct rows *rows)
{
	struct rows_units units = rows_find_units(rows, e);
	__u32 arm = e->arms - 1;

	*status = (struct guard_status){};
	for (size_t i = 0; i < rows->n; i++)
		status->ended += rows->at[i].arm == arm;
	for (int i = 0; i < EXPERIMENT_GUARDS && e->guard[i][0]; i++) {
		if (!guard_parse(e->guard[i], &status->guard[i])) {
			status->guards = 0;
			return false;
		}
		status->result[i] =
			guard_judge(&status->guard[i], rows, &units, arm, guard_level(e));
		status->guards++;
	}
	return true;
}
