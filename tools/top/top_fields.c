// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"
#include "event/field.h"
#include "top.h"

#define SSTHRESH_INFINITE 0x7fffffff /* TCP_INFINITE_SSTHRESH */

static void add_short(FILE *out, const char *name, double value)
{
	char text[16];

	format_short(text, sizeof(text), value);
	fprintf(out, "\n%s %s", name, text);
}

static void ms_text(char *buf, size_t size, double us)
{
	format_ms(buf, size, us);
	if (!isnan(us))
		strncat(buf, "ms", size - strlen(buf) - 1);
}

static void add_ms(FILE *out, const char *name, double us)
{
	char text[16];

	ms_text(text, sizeof(text), us);
	fprintf(out, "\n%s %s", name, text);
}

static void add_mode(FILE *out, const struct conn *c, __u64 now_ns)
{
	__u64 until = c->ended_ns ? c->ended_ns : now_ns;
	char mode[MODE_TEXT_LEN], age[16];

	mode_text(mode, sizeof(mode), c->algorithm, &c->e);
	format_age(age, sizeof(age), until - c->mode_since_ns);
	if (c->mode_since_ns && c->mode_since_ns <= until)
		fprintf(out, "\nmode %s for %s", mode, age);
	else
		fprintf(out, "\nmode %s", mode);
	if (c->ended_ns)
		fprintf(out, "\nENDED");
}

/* The values that every connection has, by page_order: before the fields with the same one. */
static void add_common(FILE *out, const struct conn *c, int place)
{
	switch (place) {
	case PAGE_RATE:
		add_short(out, "rate", c->rate);
		add_short(out, "sample", c->delivery_bps);
		break;
	case PAGE_PACING:
		add_short(out, "pacing", event_pacing_bps(&c->e));
		break;
	case PAGE_RTT:
		add_ms(out, "rtt", c->rtt_us == BBR_RTT_NONE ? NAN : c->rtt_us);
		add_ms(out, "srtt", c->e.srtt_us ? c->e.srtt_us : NAN);
		break;
	case PAGE_WINDOW:
		fprintf(out, "\ninflight %u", c->e.inflight);
		if (event_bdp(&c->e))
			fprintf(out, "\nbdp %u", event_bdp(&c->e));
		fprintf(out, "\ncwnd %u", c->e.cwnd);
		break;
	case PAGE_SSTHRESH:
		if (c->e.ssthresh >= SSTHRESH_INFINITE)
			fprintf(out, "\nssthresh inf");
		else
			fprintf(out, "\nssthresh %u", c->e.ssthresh);
		break;
	case PAGE_RECOVERY:
		fprintf(out, "\nrecovery %s", event_ca_name(c->e.ca_state));
		break;
	case PAGE_APP_LIMITED:
		if (c->app_limited)
			fprintf(out, "\napp_limited");
		break;
	case PAGE_COUNTS:
		fprintf(out, "\nlost %u +%u", c->e.lost, c->lost);
		fprintf(out, "\ndelivered %u", c->e.delivered);
		add_short(out, "sent", c->e.bytes_sent);
		add_short(out, "acked", c->e.bytes_acked);
		add_short(out, "retrans", c->e.bytes_retrans);
		fprintf(out, "\nmss %u", c->e.mss);
		break;
	}
}

static void value_text(char *buf, size_t size, const struct field *f, const struct conn *c)
{
	__u64 value;
	bool known = field_value(f, &c->e, &value);

	if (field_is_rate(f))
		format_short(buf, size, known ? (double)value : NAN);
	else if (f->unit == FIELD_US)
		ms_text(buf, size, known ? (double)value : NAN);
	else if (known)
		field_text(buf, size, f, value);
	else
		snprintf(buf, size, "-");
}

static bool is_shown(const struct field *f, const struct conn *c)
{
	const struct field *condition =
		f->text_if.key ? field_find(c->algorithm, f->text_if.key) : NULL;
	__u64 value;

	if (!f->page && !f->text)
		return false;
	if (f->unit == FIELD_FLAG && !(field_value(f, &c->e, &value) && value))
		return false;
	return !condition || (field_value(condition, &c->e, &value) && value >= f->text_if.least);
}

/* Writes "bw %" with its value. Without `page`, a field's `text` serves: " bw:%" is the same. */
static void add_field(FILE *out, const struct field *f, const struct conn *c)
{
	const char *from = f->page ? f->page : f->text + strspn(f->text, " ");
	char value[32];

	value_text(value, sizeof(value), f, c);
	if (*from != ' ') /* it does not stay with the piece before */
		fputc('\n', out);
	for (; *from; from++) {
		if (*from == '%')
			fputs(value, out);
		else
			fputc(!f->page && *from == ':' ? ' ' : *from, out);
	}
}

void top_fields(FILE *out, const struct conn *c, __u64 now_ns)
{
	const struct algorithm *a = c->algorithm;

	add_mode(out, c, now_ns);
	for (int place = 0; place < PAGE_END; place++) {
		add_common(out, c, place);
		for (const struct field *f = a->fields; f < a->fields + a->n_fields; f++)
			if ((f->page_order ? f->page_order : PAGE_RECOVERY - 1) == place &&
			    is_shown(f, c))
				add_field(out, f, c);
	}
}
