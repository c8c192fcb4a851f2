// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"
#include "event/field.h"
#include "top_table.h"

#define SSTHRESH_INFINITE 0x7fffffff /* TCP_INFINITE_SSTHRESH */

struct pieces {
	void (*put)(void *ctx, const char *piece);
	void *ctx;
	char last[PIECE_LEN]; /* not handed on yet: the next text may stay with it */
};

static void flush(struct pieces *p)
{
	if (p->last[0])
		p->put(p->ctx, p->last);
	p->last[0] = 0;
}

static void __attribute__((format(printf, 2, 3))) add(struct pieces *p, const char *fmt, ...)
{
	va_list args;

	flush(p);
	va_start(args, fmt);
	vsnprintf(p->last, sizeof(p->last), fmt, args);
	va_end(args);
}

static void add_short(struct pieces *p, const char *name, double value)
{
	char text[16];

	format_short(text, sizeof(text), value);
	add(p, "%s %s", name, text);
}

static void ms_text(char *buf, size_t size, double us)
{
	format_ms(buf, size, us);
	if (!isnan(us))
		strncat(buf, "ms", size - strlen(buf) - 1);
}

static void add_ms(struct pieces *p, const char *name, double us)
{
	char text[16];

	ms_text(text, sizeof(text), us);
	add(p, "%s %s", name, text);
}

static void add_mode(struct pieces *p, const struct conn *c, __u64 now_ns)
{
	__u64 until = c->ended_ns ? c->ended_ns : now_ns;
	char mode[MODE_TEXT_LEN], age[16];

	mode_text(mode, sizeof(mode), c->algorithm, &c->e);
	format_age(age, sizeof(age), until - c->mode_since_ns);
	if (c->mode_since_ns && c->mode_since_ns <= until)
		add(p, "mode %s for %s", mode, age);
	else
		add(p, "mode %s", mode);
	if (c->ended_ns)
		add(p, "ENDED");
}

/* The values that every connection has, by page_order: before the fields with the same one. */
static void add_common(struct pieces *p, const struct conn *c, int place)
{
	switch (place) {
	case PAGE_RATE:
		add_short(p, "rate", c->rate);
		add_short(p, "sample", c->delivery_bps);
		break;
	case PAGE_PACING:
		add_short(p, "pacing", event_pacing_bps(&c->e));
		break;
	case PAGE_RTT:
		add_ms(p, "rtt", c->rtt_us == BBR_RTT_NONE ? NAN : c->rtt_us);
		add_ms(p, "srtt", c->e.srtt_us ? c->e.srtt_us : NAN);
		break;
	case PAGE_WINDOW:
		add(p, "inflight %u", c->e.inflight);
		if (event_bdp(&c->e))
			add(p, "bdp %u", event_bdp(&c->e));
		add(p, "cwnd %u", c->e.cwnd);
		break;
	case PAGE_SSTHRESH:
		if (c->e.ssthresh >= SSTHRESH_INFINITE)
			add(p, "ssthresh inf");
		else
			add(p, "ssthresh %u", c->e.ssthresh);
		break;
	case PAGE_RECOVERY:
		add(p, "recovery %s", event_ca_name(c->e.ca_state));
		break;
	case PAGE_APP_LIMITED:
		if (c->app_limited)
			add(p, "app_limited");
		break;
	case PAGE_COUNTS:
		add(p, "lost %u +%u", c->e.lost, c->lost);
		add(p, "delivered %u", c->e.delivered);
		add_short(p, "sent", c->e.bytes_sent);
		add_short(p, "acked", c->e.bytes_acked);
		add_short(p, "retrans", c->e.bytes_retrans);
		add(p, "mss %u", c->e.mss);
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

	if (f->unit == FIELD_FLAG && !(field_value(f, &c->e, &value) && value))
		return false;
	return !condition || (field_value(condition, &c->e, &value) && value >= f->text_if.least);
}

/* Adds "bw %" with its value. Without `page`, a field's `text` serves: " bw:%" is the same. */
static void add_field(struct pieces *p, const struct field *f, const struct conn *c)
{
	const char *from = f->page ? f->page : f->text + strspn(f->text, " ");
	char value[32], text[PIECE_LEN];
	size_t n = 0, len = strlen(p->last);

	value_text(value, sizeof(value), f, c);
	for (; *from && n < sizeof(text) - sizeof(value); from++) {
		if (*from == '%')
			n += sprintf(text + n, "%s", value);
		else
			text[n++] = !f->page && *from == ':' ? ' ' : *from;
	}
	text[n] = 0;
	if (text[0] == ' ') {
		snprintf(p->last + len, sizeof(p->last) - len, "%s", text);
		return;
	}
	add(p, "%s", text);
}

static int place_of(const struct field *f)
{
	if (!f->page && !f->text)
		return -1;
	return f->page_order ? f->page_order : PAGE_RECOVERY - 1;
}

void top_fields(const struct conn *c, __u64 now_ns, void (*put)(void *ctx, const char *piece),
		void *ctx)
{
	const struct algorithm *a = c->algorithm;
	struct pieces p = { .put = put, .ctx = ctx };

	add_mode(&p, c, now_ns);
	for (int place = 0; place < PAGE_END; place++) {
		add_common(&p, c, place);
		for (int i = 0; i < a->n_fields; i++)
			if (place_of(&a->fields[i]) == place && is_shown(&a->fields[i], c))
				add_field(&p, &a->fields[i], c);
	}
	flush(&p);
}
