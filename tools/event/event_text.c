// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event as one line for people. The state starts with what ss(8) prints for BBR.
 */
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "cli/text.h"
#include "cli/units.h"
#include "event.h"
#include "field.h"
#include "cli/err.h"

#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define CYAN "\033[36m"
#define PLAIN "\033[0m"

/*
 * Which fields a line of text shows, and in which order: worked out once for each algorithm, not
 * for each event.
 */
struct text_field {
	const struct field *field;
	const struct field *condition; /* the field of text_if; NULL: it is always shown */
	size_t before; /* characters of field->text before its "%", or all of them */
};

static struct text_plan {
	const struct algorithm *algorithm;
	struct text_plan *next;
	size_t n;
	struct text_field fields[];
} *plans; /* until the program ends */

void text_plan_forget(void)
{
	for (struct text_plan *next; plans; plans = next) {
		next = plans->next;
		free(plans);
	}
}

/* Insertion sort: they are few, and it runs once. Fields of equal order stay in table order. */
static void add_to_plan(struct text_plan *plan, const struct field *fields, size_t n)
{
	for (const struct field *f = fields; f < fields + n; f++) {
		size_t at = plan->n;

		if (!f->text)
			continue;
		for (; at && plan->fields[at - 1].field->order > f->order; at--)
			plan->fields[at] = plan->fields[at - 1];
		plan->fields[at] = (struct text_field){
			f, f->text_if.key ? field_find(plan->algorithm, f->text_if.key) : NULL,
			strcspn(f->text, "%")
		};
		plan->n++;
	}
}

static const struct text_plan *text_plan(const struct algorithm *a)
{
	struct text_plan *plan;

	for (plan = plans; plan; plan = plan->next)
		if (plan->algorithm == a)
			return plan;
	plan = mem_new(1,
		       sizeof(*plan) + (a->n_fields + n_common_fields) * sizeof(plan->fields[0]));
	plan->algorithm = a;
	add_to_plan(plan, a->fields, a->n_fields);
	add_to_plan(plan, common_fields, n_common_fields);
	plan->next = plans;
	plans = plan;
	return plan;
}

/* NULL: none. */
static const char *const colours[BBR_EV_KINDS] = {
	[BBR_EV_START] = GREEN, [BBR_EV_END] = GREEN,	    [BBR_EV_MODE] = CYAN,
	[BBR_EV_RTO] = RED,	[BBR_EV_RECOVERY] = YELLOW, [BBR_EV_PARAMS] = YELLOW,
};

static void put_char(struct buffered *to, char c)
{
	buffered_put(to, &c, 1);
}

static void put_endpoint(struct buffered *to, const __u32 addr[4], __u16 port)
{
	char text[ADDRESS_TEXT_LEN];

	format_address_port(text, sizeof(text), addr, port);
	buffered_text(to, text);
}

static void put_kind(struct buffered *to, const struct text_style *style, const struct algorithm *a,
		     const struct bbr_event *e)
{
	const char *colour = style->colour && e->kind < BBR_EV_KINDS ? colours[e->kind] : NULL;
	char step[MODE_TEXT_LEN];

	if (colour)
		buffered_text(to, colour);
	buffered_text(to, event_kind_name(e->kind));
	if (event_has_steps(e)) {
		put_char(to, ' ');
		event_step_text(step, sizeof(step), a, e, false);
		buffered_text(to, step);
		buffered_text(to, "->");
		event_step_text(step, sizeof(step), a, e, true);
		buffered_text(to, step);
	}
	if (event_has_reason(e)) {
		buffered_text(to, " (");
		buffered_text(to, reason_name(a, e->reason));
		put_char(to, ')');
	}
	if (colour)
		buffered_text(to, PLAIN);
}

static void put_ratio(struct buffered *to, const char *before, __u64 n, __u64 d)
{
	char buf[UNITS_LEN];

	buffered_text(to, before);
	buffered_put(to, buf, format_ratio(buf, n, d, 6));
}

/* What ss(8) prints, byte for byte, except that a min_rtt that was never measured is "inf". */
static void put_ss(struct buffered *to, const struct bbr_event *e)
{
	char bw[UNITS_LEN];

	/* The kernel gives ss whole bytes per second. */
	format_rate_ss(bw, sizeof(bw), event_bps(e, e->bw) / 8 * 8);
	buffered_text(to, "bbr:(bw:");
	buffered_text(to, bw);
	if (e->min_rtt_us == BBR_RTT_NONE)
		buffered_text(to, ",mrtt:inf");
	else
		put_ratio(to, ",mrtt:", e->min_rtt_us, 1000);
	if (e->pacing_gain)
		put_ratio(to, ",pacing_gain:", e->pacing_gain, 256);
	if (e->cwnd_gain)
		put_ratio(to, ",cwnd_gain:", e->cwnd_gain, 256);
	put_char(to, ')');
}

static void put_field(struct buffered *to, const struct text_field *t, const struct bbr_event *e)
{
	const struct field *f = t->field;
	char text[UNITS_LEN];
	__u64 value, other;

	if (t->condition && (!field_value(t->condition, e, &other) || other < f->text_if.least))
		return;
	if (!field_value(f, e, &value) || (f->unit == FIELD_FLAG && !value))
		return;
	buffered_put(to, f->text, t->before);
	if (!f->text[t->before])
		return;
	if (f->unit == FIELD_NAME) {
		buffered_text(to, field_name_of(f, value));
	} else {
		field_text(text, sizeof(text), f, value);
		buffered_text(to, text);
	}
	if (f->text[t->before + 1])
		buffered_text(to, f->text + t->before + 1);
}

static void put_state(struct buffered *to, bool colour, const struct algorithm *a,
		      const struct bbr_event *e)
{
	const struct text_plan *plan = text_plan(a);
	char mode[MODE_TEXT_LEN];

	put_ss(to, e);
	mode_text(mode, sizeof(mode), a, e);
	buffered_text(to, colour ? " " CYAN : " ");
	buffered_text(to, mode);
	if (colour)
		buffered_text(to, PLAIN);
	for (size_t i = 0; i < plan->n; i++)
		put_field(to, &plan->fields[i], e);
}

void event_print_state(FILE *out, bool colour, const struct algorithm *a, const struct bbr_event *e)
{
	struct buffered to;

	buffered_begin(&to, out);
	put_state(&to, colour, a, e);
	buffered_end(&to);
}

void event_print_text(FILE *out, const struct text_style *style, const struct origin *origin,
		      const struct bbr_event *e)
{
	struct buffered to;
	char time[UNITS_LEN];

	buffered_begin(&to, out);
	buffered_put(&to, time, format_seconds(time, e->time_ns - style->start_ns));
	put_char(&to, ' ');
	buffered_text(&to, origin->name);
	put_char(&to, ' ');
	put_endpoint(&to, e->laddr, e->lport);
	buffered_text(&to, " > ");
	put_endpoint(&to, e->raddr, e->rport);
	put_char(&to, ' ');
	put_kind(&to, style, origin->algorithm, e);
	put_char(&to, ' ');
	put_state(&to, style->colour, origin->algorithm, e);
	put_char(&to, '\n');
	buffered_end(&to);
}
