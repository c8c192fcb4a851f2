// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event as one line for people. The state starts with what ss(8) prints for BBR.
 */
#include <arpa/inet.h>
#include <string.h>

#include "kernel/clock.h"
#include "derived.h"
#include "event.h"
#include "field.h"
#include "text_plan.h"
#include "cli/units.h"

#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define CYAN "\033[36m"
#define PLAIN "\033[0m"

static const char *colour_of(const struct bbr_event *e)
{
	switch (e->kind) {
	case BBR_EV_START:
	case BBR_EV_END:
		return GREEN;
	case BBR_EV_MODE:
		return CYAN;
	case BBR_EV_RECOVERY:
	case BBR_EV_PARAMS:
		return YELLOW;
	case BBR_EV_RTO:
		return RED;
	default:
		return NULL;
	}
}

static void print_endpoint(FILE *out, const __u32 addr[4], __u16 port)
{
	char buf[EVENT_ADDR_LEN];

	event_addr(buf, addr);
	fprintf(out, strchr(buf, ':') ? "[%s]:%u" : "%s:%u", buf, ntohs(port));
}

static void print_kind(FILE *out, const struct text_style *style, const struct algorithm *a,
		       const struct bbr_event *e)
{
	const char *colour = style->colour ? colour_of(e) : NULL;

	if (colour)
		fputs(colour, out);
	fputs(event_kind_name(e->kind), out);
	if (event_has_steps(e))
		fprintf(out, " %s->%s", event_step_name(a, e, e->from),
			event_step_name(a, e, e->to));
	if (e->kind == BBR_EV_MODE && !(e->flags & BBR_F_KERNEL))
		fprintf(out, " (%s)", reason_name(a, e->reason));
	if (colour)
		fputs(PLAIN, out);
}

/* What ss(8) prints, byte for byte; but a min_rtt that was never measured is "inf". */
static void print_ss(FILE *out, const struct bbr_event *e)
{
	char bw[UNITS_LEN];

	/* The kernel tells ss whole bytes per second. */
	format_rate_ss(bw, sizeof(bw), event_bps(e, e->bw) / 8 * 8);
	fprintf(out, "bbr:(bw:%s,mrtt:", bw);
	if (e->min_rtt_us == BBR_RTT_NONE)
		fputs("inf", out);
	else
		fprintf(out, "%g", e->min_rtt_us / 1000.0);
	if (e->pacing_gain)
		fprintf(out, ",pacing_gain:%g", e->pacing_gain / 256.0);
	if (e->cwnd_gain)
		fprintf(out, ",cwnd_gain:%g", e->cwnd_gain / 256.0);
	fputc(')', out);
}

static void print_mode(FILE *out, bool colour, const struct algorithm *a, const struct bbr_event *e)
{
	char mode[MODE_TEXT_LEN];

	mode_text(mode, sizeof(mode), a, e);
	fprintf(out, colour ? " " CYAN "%s" PLAIN : " %s", mode);
}

static void print_field(FILE *out, const struct text_field *t, const struct bbr_event *e)
{
	const struct field *f = t->field;
	char text[UNITS_LEN];
	__u64 value, other;

	if (t->condition && (!field_value(t->condition, e, &other) || other < f->text_if.least))
		return;
	if (!field_value(f, e, &value) || (f->unit == FIELD_FLAG && !value))
		return;
	fwrite(f->text, 1, t->before, out);
	if (!f->text[t->before])
		return;
	if (f->unit == FIELD_NAME) {
		fputs(field_name_of(f, value), out);
	} else {
		field_text(text, sizeof(text), f, value);
		fputs(text, out);
	}
	if (f->text[t->before + 1])
		fputs(f->text + t->before + 1, out);
}

void event_print_state(FILE *out, bool colour, const struct algorithm *a, const struct bbr_event *e)
{
	const struct text_plan *plan = text_plan(a);

	print_ss(out, e);
	print_mode(out, colour, a, e);
	for (size_t i = 0; i < plan->n; i++)
		print_field(out, &plan->fields[i], e);
}

void event_print_text(FILE *out, const struct text_style *style, const struct origin *origin,
		      const struct bbr_event *e)
{
	fprintf(out, "%.6f %s ", (__s64)(e->time_ns - style->start_ns) / (double)NS_PER_S,
		origin->name);
	print_endpoint(out, e->laddr, e->lport);
	fputs(" > ", out);
	print_endpoint(out, e->raddr, e->rport);
	fputc(' ', out);
	print_kind(out, style, origin->algorithm, e);
	fputc(' ', out);
	event_print_state(out, style->colour, origin->algorithm, e);
	fputc('\n', out);
}
