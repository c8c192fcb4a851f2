// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of one connection: its state, its last minute drawn, and what happened to it.
 */
#define _GNU_SOURCE /* strsep() */
#include <curses.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "cli/err.h"
#include "event/event.h"
#include "event/field.h"
#include "top.h"

#define LABEL_WIDTH 9
#define CHARTS 3
#define CHART_MAX 12 /* lines of one chart */
#define STRIP_LINES 5 /* modes, recovery, losses, time, legend */
#define TRANSITIONS_MIN 2 /* lines that are left for transitions */
#define PLOT_MAX 512
#define CURVE_LIMIT 3 /* times the highest of the rest */
#define SSTHRESH_INFINITE 0x7fffffff /* TCP_INFINITE_SSTHRESH */

/* A line of a chart, over its bars. */
struct curve {
	char mark; /* 0: there is no such line */
	enum hue hue;
	size_t value; /* offset of a float in struct sample; NAN: nothing there */
};

struct chart {
	const char *name;
	size_t value;
	void (*format)(char *buf, size_t size, double value);
	struct curve curves[2];
};

struct plot {
	struct sample column[PLOT_MAX];
	bool known[PLOT_MAX];
	int width;
	bool utf8;
};

#define AT(member) offsetof(struct sample, member)

static const struct chart charts[CHARTS] = {
	{ "rate",
	  AT(rate),
	  format_short,
	  { { 'b', HUE_GREEN, AT(bw) }, { 'p', HUE_MAGENTA, AT(pacing) } } },
	{ "rtt ms", AT(rtt_us), format_ms, { { 'm', HUE_GREEN, AT(min_rtt_us) } } },
	{ "inflight",
	  AT(inflight),
	  format_short,
	  { { 'D', HUE_GREEN, AT(bdp) }, { 'w', HUE_MAGENTA, AT(cwnd) } } },
};

static float value_of(const struct sample *s, size_t at)
{
	return *(const float *)((const char *)s + at);
}

static const char legend[] = "b bw  p pacing  m min_rtt  D bdp  w cwnd";

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

static int put_line(struct line *l, int y, int last_y)
{
	if (!l->text[0] || y > last_y)
		return y;
	screen_put(y, 0, HUE_NONE, l->text);
	l->text[0] = 0;
	return y + 1;
}

/* Draws the state in lines of pieces. A piece is never cut. Returns the line after them. */
static int draw_state(const struct top *t, const struct conn *c, int last_y)
{
	char *text AUTO_FREE = NULL, *rest, *piece;
	struct line l = { .width = COLS };
	size_t size;
	FILE *out = mem_need(open_memstream(&text, &size));
	int y = 1;

	top_fields(out, c, t->style.now_ns);
	mem_check(!fclose(out));
	rest = text;
	while ((piece = strsep(&rest, "\n"))) {
		if (line_add(&l, "%s", piece))
			continue;
		y = put_line(&l, y, last_y);
		line_add(&l, "%s", piece);
	}
	return put_line(&l, y, last_y);
}

static void draw_title(const struct top *t, const struct conn *c)
{
	char local[ADDRESS_TEXT_LEN], remote[ADDRESS_TEXT_LEN], name[BBR_NAME_LEN + 1];
	char profile[BBR_PROFILE_NAME_LEN + 1];
	struct line l = { .width = COLS };
	int room = (COLS - 3) /
		   2; /* never less than an endpoint needs, if the screen is wide enough */

	if (room < 21)
		room = 21;
	format_endpoint_in(local, sizeof(local), c->e.laddr, c->e.lport, room, false);
	format_endpoint_in(remote, sizeof(remote), c->e.raddr, c->e.rport, room, false);
	format_name(name, sizeof(name), c->name);
	format_name(profile, sizeof(profile), c->profile);
	line_add(&l, "%s > %s", local, remote);
	if (!l.text[0])
		line_add(&l, "%s", remote);
	if (t->paused)
		line_add(&l, "PAUSED");
	line_add(&l, "%s", name);
	line_add(&l, "profile %s", profile);
	line_add(&l, "netns %u", c->e.netns);
	if (c->cookie)
		line_add(&l, "cookie %llu", c->cookie);
	if (c->places & BBR_PLACE_MPTCP)
		line_add(&l, "mptcp %x(id:%u/%u)", c->mptcp_token, c->mptcp_local_id,
			 c->mptcp_remote_id);
	if (c->places & BBR_PLACE_SOCKMAP)
		line_add(&l, "sockmap");
	screen_put(0, 0, t->paused ? HUE_CURSOR : HUE_TITLE, l.text);
}

/* Takes the last minute, in as many columns as there are. */
static void take_plot(struct plot *p, const struct top *t, const struct history *h)
{
	__u64 start = t->style.now_ns / SLOT_NS + 1 - HISTORY_SLOTS;

	p->utf8 = t->style.utf8;
	p->width = COLS - LABEL_WIDTH < PLOT_MAX ? COLS - LABEL_WIDTH : PLOT_MAX;
	for (int i = 0; i < p->width; i++) {
		int from = i * HISTORY_SLOTS / p->width, to = (i + 1) * HISTORY_SLOTS / p->width;

		p->known[i] =
			history_get(h, start + from, to > from ? to - from : 1, &p->column[i]);
	}
}

static double most(const struct plot *p, size_t value, double limit)
{
	static float values[PLOT_MAX];
	int n = 0;

	for (int i = 0; i < p->width; i++)
		if (p->known[i] && value_of(&p->column[i], value) <= limit)
			values[n++] = value_of(&p->column[i], value);
	return scale_top(values, n);
}

static void draw_column(const struct plot *p, const struct chart *chart, int y, int height, int i,
			double highest)
{
	const struct sample *s = &p->column[i];
	int filled = bar_height(value_of(s, chart->value), 0, highest, height);

	for (int row = 0; row < height && filled > 0; row++, filled -= BAR_STEPS)
		screen_put(y + height - 1 - row, LABEL_WIDTH + i, HUE_CYAN,
			   bar(filled < BAR_STEPS ? filled : BAR_STEPS, p->utf8));
	if (value_of(s, chart->value) > highest)
		screen_put(y, LABEL_WIDTH + i, HUE_CYAN, p->utf8 ? "▲" : "^");
	for (int k = 0; k < 2 && chart->curves[k].mark; k++) {
		const struct curve *curve = &chart->curves[k];
		double value = value_of(s, curve->value);
		int at = bar_height(value, 0, highest, height);
		char mark[2] = { curve->mark, 0 };

		if (isnan(value))
			continue;
		screen_put(y + height - 1 - (at ? at - 1 : 0) / BAR_STEPS, LABEL_WIDTH + i,
			   curve->hue, mark);
	}
}

static void draw_chart(const struct plot *p, const struct chart *chart, int y, int height)
{
	double highest =
		fmax(most(p, chart->value, INFINITY), most(p, chart->curves[0].value, INFINITY));
	char label[16];

	/*
	 * A curve far above the rest, like the first pacing rate, stays at the edge, and so do a few
	 * peaks.
	 */
	if (chart->curves[1].mark)
		highest = fmax(highest, most(p, chart->curves[1].value, CURVE_LIMIT * highest));

	chart->format(label, sizeof(label), highest);
	screen_put(y, 0, HUE_NONE, label);
	screen_put(y + 1, 0, HUE_TITLE, chart->name);
	if (height > 2)
		screen_put(y + height - 1, 0, HUE_NONE, "0");
	for (int i = 0; i < p->width && highest > 0; i++)
		if (p->known[i])
			draw_column(p, chart, y, height, i, highest);
}

/* The rarest of the modes that were seen, so that a short one is not lost among others. */
static char mode_mark(const struct algorithm *a, const struct sample *s, enum hue *hue)
{
	const struct algorithm_mode *rarest = NULL;

	*hue = HUE_NONE;
	for (int i = 0; i < a->n_modes && i < HISTORY_MODES; i++) {
		const struct algorithm_mode *mode = &a->modes[i];

		if (!(s->modes & mode_history_bit(i)) || (rarest && mode->rarity <= rarest->rarity))
			continue;
		rarest = mode;
		*hue = mode_hue(a, i);
	}
	if (!rarest)
		return '?';
	return rarest->mark ? rarest->mark : rarest->name[0];
}

static char recovery_mark(const struct sample *s, enum hue *hue)
{
	/* enum tcp_ca_state, and what is beyond it */
	static const char marks[] = ".dcRL???";
	int worst = 0;

	for (int i = 1; i < 8; i++)
		if (s->ca_states & 1 << i)
			worst = i;
	*hue = worst >= 4 ? HUE_BAD : worst ? HUE_WARN : HUE_DIM;
	return marks[worst];
}

/* The modes, the recovery and the losses of each moment, in a line each. */
static void draw_strips(const struct plot *p, const struct algorithm *a, int y)
{
	int most = 0;

	screen_put(y, 0, HUE_TITLE, "mode");
	screen_put(y + 1, 0, HUE_TITLE, "recovery");
	screen_put(y + 2, 0, HUE_TITLE, "lost");
	for (int i = 0; i < p->width; i++)
		if (p->known[i] && p->column[i].lost > most)
			most = p->column[i].lost;
	for (int i = 0; i < p->width; i++) {
		const struct sample *s = &p->column[i];
		char mark[2] = "";
		enum hue hue;

		if (!p->known[i])
			continue;
		mark[0] = mode_mark(a, s, &hue);
		screen_put(y, LABEL_WIDTH + i, hue, mark);
		mark[0] = recovery_mark(s, &hue);
		screen_put(y + 1, LABEL_WIDTH + i, hue, mark);
		screen_put(y + 2, LABEL_WIDTH + i, HUE_BAD,
			   bar(bar_height(s->lost, 0, most, 1), p->utf8));
	}
}

static void draw_times(const struct plot *p, int y)
{
	static const int back[] = { 60, 45, 30, 15 };
	const char *now = "now";

	for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++) {
		char text[8];

		if (p->width < 24 && i % 2)
			continue;
		snprintf(text, sizeof(text), "-%ds", back[i]);
		screen_put(y, LABEL_WIDTH + i * p->width / 4, HUE_DIM, text);
	}
	screen_put(y, LABEL_WIDTH + p->width - strlen(now), HUE_DIM, now);
}

/* Draws charts and strips. Returns the line after them. */
static int draw_history(const struct top *t, const struct conn *c, int y, int height)
{
	static struct plot p;

	take_plot(&p, t, c->history);
	for (int i = 0; i < CHARTS; i++, y += height)
		draw_chart(&p, &charts[i], y, height);
	draw_strips(&p, c->algorithm, y);
	y += 3;
	draw_times(&p, y++);
	if ((int)strlen(legend) <= p.width)
		screen_put(y, LABEL_WIDTH, HUE_DIM, legend);
	return y + 1;
}

static void draw_transitions(const struct top *t, const struct conn *c, int y, int last_y)
{
	const struct history *h = c->history;

	for (__u32 i = 0; i < TRANSITIONS && i < h->n_transitions && y <= last_y; i++, y++) {
		const struct transition *tr =
			&h->transitions[(h->n_transitions - 1 - i) % TRANSITIONS];
		struct bbr_event e = {
			.kind = tr->kind,
			.from = tr->from,
			.to = tr->to,
			.reason = tr->reason,
			.flags = tr->has_reason ? 0 : BBR_F_KERNEL,
			.mode = ~0, /* that of the moment is not kept */
		};
		char ago[16], from[MODE_TEXT_LEN], to[MODE_TEXT_LEN];
		struct line l = { .width = COLS };

		format_age(ago, sizeof(ago),
			   t->style.now_ns > tr->time_ns ? t->style.now_ns - tr->time_ns : 0);
		line_add(&l, "%6s ago", ago);
		line_add(&l, "%s", event_kind_name(tr->kind));
		event_step_text(from, sizeof(from), c->algorithm, &e, false);
		event_step_text(to, sizeof(to), c->algorithm, &e, true);
		if (event_has_steps(&e))
			line_add(&l, "%s > %s", from, to);
		if (tr->has_reason)
			line_add(&l, "%s", reason_name(c->algorithm, tr->reason));
		screen_put(y, 0, HUE_NONE, l.text);
	}
}

void page_draw(const struct top *t, const struct conn *c)
{
	int last_y = LINES - 2, y, height;

	if (!c) {
		screen_put(0, 0, HUE_NONE, "the connection has ended");
		return;
	}
	draw_title(t, c);
	y = draw_state(t, c, last_y);
	if (!c->history) {
		screen_put(y, 0, HUE_DIM,
			   c->lacks_history ? "no history: too many connections" :
					      "no history: it is idle");
		return;
	}
	height = (last_y + 1 - y - STRIP_LINES - TRANSITIONS_MIN) / CHARTS;
	if (height > CHART_MAX)
		height = CHART_MAX;
	if (height >= 2)
		y = draw_history(t, c, y, height);
	draw_transitions(t, c, y, last_y);
}
