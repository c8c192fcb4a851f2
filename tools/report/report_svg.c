// SPDX-License-Identifier: GPL-2.0-only
/*
 * A figure of one flow as SVG: paths, rectangles and words. It has no script, and no other program
 * draws it. So the words of a recording cannot become commands.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "kernel/clock.h"
#include "report.h"

/* Pixels. */
#define WIDTH 880
#define LEFT 80 /* of the panels */
#define AREA 610 /* their width */
#define KEY (LEFT + AREA + 14)
#define KEY_LINE 14
#define TOP 44
#define BOTTOM 44
#define GAP 16 /* below a panel */
#define HEIGHT 134 /* of a panel */
#define ROW 22 /* of a strip of states */
#define NOTE 22 /* height of a panel without data: its note */
#define MAX_WORDS 27 /* characters of a name that fit */
#define MAX_FLOWS 8 /* names that fit beside their rates */

struct figure {
	FILE *out;
	const struct report *r;
	const struct flow *flow;
	double seconds; /* the width */
	/* The panel that is being drawn. */
	double y, height; /* pixels */
	double top; /* the value at its upper edge; 0 is at the lower one */
	double key_y; /* pixels: the next line of its key */
};

/*
 * Words that are not ours: of a recording, or of the kernel. At most `max` characters: if there are
 * more, the middle is left out, because an address differs at its ends.
 */
static void put_words(FILE *out, const char *words, size_t max)
{
	size_t len = strlen(words), begin = len > max ? max / 2 : len;

	for (size_t i = 0; i < len; i++) {
		char c = words[i];

		if (i == begin) {
			fputs("…", out);
			i = len - (max - begin) + 1;
			c = words[i];
		}
		if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
			fprintf(out, "&#%d;", c);
		else
			fputc(c >= ' ' && c <= '~' ? c : '?', out);
	}
}

static const char *rgb(enum colour colour)
{
	return colours[colour].light;
}

static double seconds(const struct report *r, __u64 time_ns)
{
	return (time_ns - r->flows.start_ns) / (double)NS_PER_S;
}

/* Pixels within the panel. */
static double x_of(const struct figure *f, double at_seconds)
{
	return AREA * at_seconds / f->seconds;
}

static double y_of(const struct figure *f, double value)
{
	return f->height * (1 - value / f->top);
}

/* 1, 2 or 5 times a power of 10, so that there are at most `most` steps. */
static double step_of(double range, int most)
{
	static const int multiples[] = { 1, 2, 5 };
	double power = pow(10, floor(log10(range / most)));

	for (int i = 0; i < 3; i++)
		if (multiples[i] * power * most >= range)
			return multiples[i] * power;
	return 10 * power;
}

static void put_values_axis(const struct figure *f)
{
	double step = step_of(f->top, 5);

	for (int i = 0; i * step <= f->top; i++) {
		double y = f->y + y_of(f, i * step);

		fprintf(f->out,
			"<path class=\"grid\" d=\"M%d %.1fh%d\"/>"
			"<text class=\"end\" x=\"%d\" y=\"%.1f\">%g</text>\n",
			LEFT, y, AREA, LEFT - 6, y + 4, i * step);
	}
}

static void put_times(const struct figure *f)
{
	double step = step_of(f->seconds, 9);

	for (int i = 0; i * step <= f->seconds; i++)
		fprintf(f->out, "<text class=\"middle\" x=\"%.1f\" y=\"%.1f\">%g</text>\n",
			LEFT + x_of(f, i * step), f->y + 4, i * step);
	fprintf(f->out, "<text class=\"middle\" x=\"%d\" y=\"%.1f\">Time (s)</text>\n",
		LEFT + AREA / 2, f->y + 22);
}

/* What is drawn until end_area() is cut off at the panel's edges. */
static void begin_area(const struct figure *f)
{
	fprintf(f->out, "<svg x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\">\n", LEFT, f->y,
		AREA, f->height);
}

static void end_area(const struct figure *f)
{
	fputs("</svg>\n", f->out);
	fprintf(f->out, "<path class=\"axis\" d=\"M%d %.1fv%.1fh%d\"/>\n", LEFT, f->y, f->height,
		AREA);
}

/* Begins a line of the key; the caller adds the words and ends it. */
static void begin_key(struct figure *f, enum colour colour, double x)
{
	fprintf(f->out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"6\" fill=\"%s\"/>"
		"<text x=\"%.1f\" y=\"%.1f\">",
		x, f->key_y - 7, rgb(colour), x + 16, f->key_y);
}

static void put_key(struct figure *f, enum colour colour, const char *words)
{
	begin_key(f, colour, KEY);
	put_words(f->out, words, MAX_WORDS);
	fputs("</text>\n", f->out);
	f->key_y += KEY_LINE;
}

/* A curve needs no points between equal ones, but each sample must be visible. */
static bool is_needed(const struct flow_series *s, unsigned int curve, size_t i)
{
	__s64 value = flow_series_value(s, i, curve);

	if (s->curve[curve].look == LOOK_POINTS)
		return value != VALUE_NONE;
	return !i || i + 1 == s->n || value != flow_series_value(s, i - 1, curve) ||
	       value != flow_series_value(s, i + 1, curve);
}

/* The values are divided by `unit`. */
static void put_curve(const struct figure *f, unsigned int curve, double unit)
{
	static const char *const form[] = { [LOOK_STEP] = "H%.1fV%.1f",
					    [LOOK_LINE] = "L%.1f %.1f",
					    [LOOK_POINTS] = "M%.1f %.1fh0" };
	const struct flow_series *s = f->flow->series;
	const struct curve *c = &s->curve[curve];
	bool is_begun = false;

	fprintf(f->out, "<path class=\"%s\" stroke=\"%s\" d=\"",
		c->look == LOOK_POINTS ? "points" : "curve", rgb(c->colour));
	for (size_t i = 0; i < s->n; i++) {
		__s64 value = flow_series_value(s, i, curve);

		if (is_needed(s, curve, i) && value != VALUE_NONE)
			fprintf(f->out, is_begun ? form[c->look] : "M%.1f %.1fh0",
				x_of(f, seconds(f->r, flow_series_time_ns(s, i))),
				y_of(f, value / unit));
		is_begun = value != VALUE_NONE;
	}
	fputs("\"/>\n", f->out);
}

/* Of a value of the curve, in the unit of the lane. */
static double divisor_of(const struct flow *flow, const struct curve *c)
{
	if (c->is_bytes && flow->last.mss)
		return flow->last.mss;
	return c->divisor ? c->divisor : 1;
}

/* Sets what is at the upper edge of the panel: a bit more than the highest value. */
static void set_top(struct figure *f, double highest)
{
	f->top = highest > 0 ? 1.05 * highest : 1;
}

static void draw_curves(struct figure *f, const struct panel *p, const struct panel_unit *unit)
{
	const struct flow_series *s = f->flow->series;
	double cut = p->lane == LANE_RATE ? flow_series_rate_top(s) / unit->size : 0, highest = 0;

	for (unsigned int curve = 0; curve < s->n_curves; curve++)
		for (size_t i = 0; s->curve[curve].lane == p->lane && i < s->n; i++)
			highest = fmax(highest, flow_series_value(s, i, curve) /
							divisor_of(f->flow, &s->curve[curve]));
	set_top(f, highest / unit->size);
	if (cut) {
		f->top = cut;
		fprintf(f->out,
			"<text class=\"end\" x=\"%d\" y=\"%.1f\">above %.4g %s cut off</text>\n",
			LEFT + AREA, f->y - 3, cut, unit->name);
	}
	put_values_axis(f);
	begin_area(f);
	for (unsigned int curve = 0; curve < s->n_curves; curve++)
		if (s->curve[curve].lane == p->lane)
			put_curve(f, curve, unit->size * divisor_of(f->flow, &s->curve[curve]));
	end_area(f);
	for (unsigned int curve = 0; curve < s->n_curves; curve++)
		if (s->curve[curve].lane == p->lane)
			put_key(f, s->curve[curve].colour, s->curve[curve].name);
}

/* The strip of a curve, at the height `y` of the panel. A state lasts until the next event. */
static void put_strip(const struct figure *f, unsigned int curve, double y)
{
	const struct flow_series *s = f->flow->series;
	size_t next;

	for (size_t i = 0; i + 1 < s->n; i = next) {
		__s64 value = flow_series_value(s, i, curve);
		double from = x_of(f, seconds(f->r, flow_series_time_ns(s, i)));

		for (next = i + 1; next + 1 < s->n; next++)
			if (flow_series_value(s, next, curve) != value)
				break;
		if (value == VALUE_NONE)
			continue;
		fprintf(f->out,
			"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
			from, y + 2,
			fmax(x_of(f, seconds(f->r, flow_series_time_ns(s, next))) - from, 0.3),
			ROW - 4, rgb(curve_state_colour(s, curve, value)));
	}
}

/* The states that have a colour of their own, in two columns. */
static void put_state_keys(struct figure *f)
{
	const struct flow_series *s = f->flow->series;
	unsigned int n = 0;

	for (unsigned int curve = 0; curve < s->n_curves; curve++) {
		if (s->curve[curve].lane != LANE_STATE)
			continue;
		for (unsigned int i = 0; i < s->curve[curve].n_states; i++) {
			enum colour colour = curve_state_colour(s, curve, i);

			if (colour >= COLOUR_GREY)
				continue;
			begin_key(f, colour, KEY + n % 2 * 84);
			put_words(f->out, curve_state_name(s, curve, i), MAX_WORDS / 2 - 2);
			fputs("</text>\n", f->out);
			f->key_y += n++ % 2 * KEY_LINE;
		}
	}
}

static void draw_states(struct figure *f)
{
	const struct flow_series *s = f->flow->series;
	double y = 0;

	for (unsigned int curve = 0; curve < s->n_curves; curve++) {
		if (s->curve[curve].lane != LANE_STATE)
			continue;
		fprintf(f->out, "<text class=\"end\" x=\"%d\" y=\"%.1f\">", LEFT - 6,
			f->y + y + ROW / 2 + 4);
		put_words(f->out, s->curve[curve].name, 9);
		fputs("</text>\n", f->out);
		y += ROW;
	}
	begin_area(f);
	y = 0;
	for (unsigned int curve = 0; curve < s->n_curves; curve++) {
		if (s->curve[curve].lane != LANE_STATE)
			continue;
		put_strip(f, curve, y);
		y += ROW;
	}
	end_area(f);
	put_state_keys(f);
}

/* The rate of one flow or, if `bytes` is NULL, of all. */
static void put_rate(const struct figure *f, const float *bytes, enum colour colour, int dash,
		     double unit)
{
	double interval_s = f->r->shares.interval_ns / (double)NS_PER_S;

	fprintf(f->out, "<path class=\"curve\" stroke=\"%s\"", rgb(colour));
	if (dash)
		fprintf(f->out, " stroke-dasharray=\"%d 2\"", 2 * dash);
	fputs(" d=\"", f->out);
	for (int k = 0; k < RATE_INTERVALS; k++)
		fprintf(f->out, "%c%.1f %.1f", k ? 'L' : 'M', x_of(f, (k + 0.5) * interval_s),
			y_of(f,
			     (bytes ? bytes[k] : f->r->shares.total[k]) * 8 / interval_s / unit));
	fputs("\"/>\n", f->out);
}

static void draw_rates(struct figure *f, const struct panel_unit *unit)
{
	static const enum colour of_flows[] = { COLOUR_BLUE, COLOUR_RED,    COLOUR_GREEN,
						COLOUR_PINK, COLOUR_YELLOW, COLOUR_SKY };
	const unsigned int n_colours = sizeof(of_flows) / sizeof(of_flows[0]);
	const struct report *r = f->r;
	char remote[ADDRESS_TEXT_LEN];

	set_top(f, rate_shares_top_bps(&r->shares) / unit->size);
	put_values_axis(f);
	put_key(f, COLOUR_GREY, "all");
	begin_area(f);
	put_rate(f, NULL, COLOUR_GREY, 0, unit->size);
	for (unsigned int i = 0, n = 0; i < r->n_shown; i++)
		if (flow_sends(r->shown[i])) {
			put_rate(f, r->shares.share[r->shown[i]->number].bytes,
				 of_flows[n % n_colours], n / n_colours % 5, unit->size);
			n++;
		}
	end_area(f);
	for (unsigned int i = 0, n = 0; i < r->n_shown && n < MAX_FLOWS; i++) {
		const struct flow *flow = r->shown[i];

		if (!flow_sends(flow))
			continue;
		format_address_port(remote, sizeof(remote), flow->first.raddr, flow->first.rport);
		begin_key(f, of_flows[n++ % n_colours], KEY);
		fprintf(f->out, "%u: ", flow->number + 1);
		put_words(f->out, remote, MAX_WORDS - 5);
		fputs("</text>\n", f->out);
		f->key_y += KEY_LINE;
	}
}

static bool is_drawn(const struct panel *p, const struct report *r)
{
	return !p->is_only_on_page && (p->lane || flows_sending(&r->flows) > 1);
}

static double height_of(const struct panel *p, const struct flow *flow)
{
	const struct flow_series *s = flow->series;
	unsigned int rows = 0, keys = 0;

	if (panel_lack(p, flow))
		return NOTE;
	if (p->kind != PANEL_STATES)
		return HEIGHT;
	for (unsigned int curve = 0; curve < s->n_curves; curve++) {
		if (s->curve[curve].lane != LANE_STATE)
			continue;
		rows++;
		for (unsigned int i = 0; i < s->curve[curve].n_states; i++)
			keys += curve_state_colour(s, curve, i) < COLOUR_GREY;
	}
	return fmax(rows * ROW, (keys + 1) / 2 * KEY_LINE);
}

static void draw_panel(struct figure *f, const struct panel *p)
{
	const struct panel_unit *unit = panel_unit(p, f->r, f->flow);
	const char *lack = panel_lack(p, f->flow);
	double middle, step;

	f->height = height_of(p, f->flow);
	f->key_y = f->y + 10;
	if (lack) {
		fprintf(f->out, "<text x=\"%d\" y=\"%.1f\">%s: %s</text>\n", LEFT, f->y + 10,
			p->title, lack);
	} else {
		middle = f->y + f->height / 2;
		fprintf(f->out,
			"<text class=\"middle\" transform=\"rotate(-90 20 %.1f)\" x=\"20\" "
			"y=\"%.1f\">%s",
			middle, middle, p->title);
		fprintf(f->out, unit ? " (%s)</text>\n" : "</text>\n", unit ? unit->name : "");
		step = step_of(f->seconds, 9);
		fputs("<path class=\"grid\" d=\"", f->out);
		for (int i = 0; i * step <= f->seconds; i++)
			fprintf(f->out, "M%.1f %.1fv%.1f", LEFT + x_of(f, i * step), f->y,
				f->height);
		fputs("\"/>\n", f->out);
		if (p->kind == PANEL_SHARES)
			draw_rates(f, unit);
		else if (p->kind == PANEL_STATES)
			draw_states(f);
		else
			draw_curves(f, p, unit);
	}
	f->y += f->height + GAP;
}

void report_write_svg(FILE *out, const struct report *r, const struct flow *flow)
{
	char local[ADDRESS_TEXT_LEN], remote[ADDRESS_TEXT_LEN];
	double height = TOP + BOTTOM;
	struct figure f = { out, r, flow, fmax(seconds(r, r->flows.end_ns), 1e-3), .y = TOP };

	for (size_t i = 0; i < n_panels; i++)
		if (is_drawn(&panels[i], r))
			height += height_of(&panels[i], flow) + GAP;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\">\n",
		WIDTH, height, WIDTH, height);
	fputs("<style>text{font:11px sans-serif;fill:#222}.head{font-size:13px}"
	      ".head,.middle{text-anchor:middle}.end{text-anchor:end}"
	      ".grid{stroke:#ddd;stroke-width:.5}.axis{stroke:#666;fill:none}"
	      ".curve{fill:none;stroke-width:1.3}"
	      ".points{fill:none;stroke-width:1.8;stroke-linecap:round}</style>\n"
	      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
	      out);
	format_address_port(local, sizeof(local), flow->first.laddr, flow->first.lport);
	format_address_port(remote, sizeof(remote), flow->first.raddr, flow->first.rport);
	/* "Flow 1: 10.0.0.1:1234 > [2001:db8::1]:443 (bpf_bbr)" */
	fprintf(out, "<text class=\"head\" x=\"%d\" y=\"26\">Flow %u: ", WIDTH / 2,
		flow->number + 1);
	put_words(out, local, sizeof(local));
	fputs(" &gt; ", out);
	put_words(out, remote, sizeof(remote));
	fputs(" (", out);
	put_words(out, flow->instance, sizeof(flow->instance));
	fputs(")</text>\n", out);
	for (size_t i = 0; i < n_panels; i++)
		if (is_drawn(&panels[i], r))
			draw_panel(&f, &panels[i]);
	put_times(&f);
	fputs("</svg>\n", out);
}
