// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/json.h"
#include "running/decision.h"
#include "kernel/clock.h"

struct experiment_decision decision_make(const char *fmt, ...)
{
	struct experiment_decision d = { .time = realtime_ns() };
	va_list args;

	va_start(args, fmt);
	vsnprintf(d.text, sizeof(d.text), fmt, args);
	va_end(args);
	return d;
}

void decision_print(const char *experiment, const struct experiment_decision *d, bool json)
{
	struct json j;

	if (json) {
		json_begin(&j, stdout);
		json_add_string(&j, "name", experiment);
		json_add_int(&j, "time_ns", d->time);
		json_add_string(&j, "decision", d->text);
		json_end(&j);
	} else {
		printf("%s: %s\n", experiment, d->text);
	}
	fflush(stdout); /* a unit may run for hours */
}

void decision_take(const struct experiment_handle *h, const struct experiment_decision *d,
		   bool json)
{
	/*
	 * Several tools may write at once: each has its own place. Once the time is set, the text
	 * is complete.
	 */
	__u64 number = __atomic_fetch_add(&h->control->decisions, 1, __ATOMIC_SEQ_CST);
	struct experiment_decision *place = &h->log[number % EXPERIMENT_LOG];

	__atomic_store_n(&place->time, 0, __ATOMIC_SEQ_CST);
	memcpy(place->text, d->text, sizeof(place->text));
	__atomic_store_n(&place->time, d->time, __ATOMIC_SEQ_CST);
	decision_print(h->config.name, d, json);
}

void decisions(const struct experiment_handle *h, __u64 *first, __u64 *end)
{
	*end = h->control->decisions;
	*first = *end > EXPERIMENT_LOG ? *end - EXPERIMENT_LOG : 0;
}

bool decision_read(const struct experiment_handle *h, __u64 number,
		   struct experiment_decision *decision)
{
	memcpy(decision, &h->log[number % EXPERIMENT_LOG], sizeof(*decision));
	decision->text[sizeof(decision->text) - 1] = 0;
	for (char *c = decision->text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return decision->time;
}
