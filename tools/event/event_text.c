// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event as one line for people. The state starts with what ss(8) prints for BBR.
 */
#include <arpa/inet.h>
#include <string.h>

#include "clock.h"
#include "event.h"
#include "units.h"

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

static void print_kind(FILE *out, const struct text_style *style, const struct bbr_event *e)
{
	const char *colour = style->colour ? colour_of(e) : NULL;

	if (colour)
		fputs(colour, out);
	fputs(event_kind_name(e->kind), out);
	if (event_has_steps(e))
		fprintf(out, " %s->%s", event_step_name(e, e->from), event_step_name(e, e->to));
	if (e->kind == BBR_EV_MODE && !(e->flags & BBR_F_KERNEL))
		fprintf(out, " (%s)", event_reason_name(e->reason));
	if (colour)
		fputs(PLAIN, out);
}

static void print_rate(FILE *out, const char *key, double bps)
{
	char buf[UNITS_LEN];

	format_rate_ss(buf, sizeof(buf), bps);
	fprintf(out, " %s:%s", key, buf);
}

/* What ss(8) prints, byte for byte; but a min_rtt that was never measured is "inf". */
static void print_ss(FILE *out, const struct bbr_event *e)
{
	char bw[UNITS_LEN];

	format_rate_ss(bw, sizeof(bw), event_bps(e, e->bw));
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

static void print_mode(FILE *out, bool colour, const struct bbr_event *e)
{
	fputs(colour ? " " CYAN : " ", out);
	fputs(event_mode_name(e->mode), out);
	if (e->mode == BBR_PROBE_BW)
		fprintf(out, "/%u", e->cycle_idx);
	if (colour)
		fputs(PLAIN, out);
}

static void print_sample(FILE *out, const struct bbr_event *e)
{
	if (e->rtt_us != BBR_RTT_NONE)
		fprintf(out, " rtt:%gms", e->rtt_us / 1000.0);
	if (event_has_rate(e))
		print_rate(out, "rate", event_delivery_bps(e));
	if (e->flags & BBR_F_APP_LIMITED)
		fputs(" app_limited", out);
	if (e->rs_losses)
		fprintf(out, " losses:%u", e->rs_losses);
}

static void print_state(FILE *out, const struct bbr_event *e)
{
	fprintf(out, " inflight:%u cwnd:%u", e->inflight, e->cwnd);
	if (e->pacing_rate != EVENT_UNLIMITED)
		print_rate(out, "pacing", e->pacing_rate * 8.0);
	fprintf(out, " round:%u", e->rounds);
	print_rate(out, "full_bw", event_bps(e, e->full_bw));
	fprintf(out, "/%u%s", e->full_bw_cnt, e->flags & BBR_F_FULL_BW ? " full" : "");
	fprintf(out, " delivered:%u lost:%u ca:%s", e->delivered, e->lost,
		event_ca_name(e->ca_state));
	if (e->flags & BBR_F_CONSERVATION)
		fputs(" conservation", out);
	if (e->flags & BBR_F_IDLE_RESTART)
		fputs(" idle_restart", out);
	fprintf(out, " policer:%s", event_policer_name(e));
	if (e->flags & BBR_F_LT_USE_BW)
		print_rate(out, "lt_bw", event_bps(e, e->lt_bw));
	fprintf(out, " extra_acked:%u", e->extra_acked);
}

void event_print_state(FILE *out, bool colour, const struct bbr_event *e)
{
	print_ss(out, e);
	print_mode(out, colour, e);
	print_sample(out, e);
	print_state(out, e);
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
	print_kind(out, style, e);
	fputc(' ', out);
	event_print_state(out, style->colour, e);
	fputc('\n', out);
}
