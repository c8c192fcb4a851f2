// SPDX-License-Identifier: GPL-2.0-only
/*
 * A figure of one flow, drawn by gnuplot.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "address.h"
#include "kernel/clock.h"
#include "cli/err.h"
#include "event/event.h"
#include "flow_series.h"
#include "panels.h"

#define WIDTH 880
#define TOP 44 /* pixels */
#define BOTTOM 40
#define PANEL 150
#define STRIP 80
#define TITLE_LEN (2 * ADDRESS_TEXT_LEN + 24)

static const char *const rgb[COLOURS] = {
	[COLOUR_BLUE] = "0x0072b2", [COLOUR_RED] = "0xd55e00",	  [COLOUR_GREEN] = "0x009e73",
	[COLOUR_PINK] = "0xcc79a7", [COLOUR_YELLOW] = "0xe69f00", [COLOUR_SKY] = "0x56b4e9",
	[COLOUR_GREY] = "0x8a8f98", [COLOUR_PALE] = "0xc9ced6",
};

extern char **environ;

#define COUNT(list) (sizeof(list) / sizeof(list[0]))

/* "Flow 1: 10.0.0.1:1234 > [2001:db8::1]:443" */
static void flow_title(char buf[TITLE_LEN], const struct flow *flow)
{
	char local[ADDRESS_TEXT_LEN], remote[ADDRESS_TEXT_LEN];

	format_address_port(local, sizeof(local), flow->first.laddr, flow->first.lport);
	format_address_port(remote, sizeof(remote), flow->first.raddr, flow->first.rport);
	snprintf(buf, TITLE_LEN, "Flow %u: %s > %s", flow->number + 1, local, remote);
}

static double seconds(const struct report *r, __u64 time_ns)
{
	return (time_ns - r->flows.start_ns) / (double)NS_PER_S;
}

/* A curve needs no points between equal ones, but each sample must be visible. */
static bool is_needed(const struct flow_series *s, unsigned int curve, size_t i)
{
	__s64 value = flow_series_value(s, i, curve);

	if (s->curves.curve[curve].look == LOOK_POINTS)
		return value != VALUE_NONE;
	return !i || i + 1 == s->n || value != flow_series_value(s, i - 1, curve) ||
	       value != flow_series_value(s, i + 1, curve);
}

/* A block of data for each curve; columns: time, value. */
static void write_values(FILE *out, const struct report *r, const struct flow_series *s,
			 unsigned int curve)
{
	fprintf(out, "$%s << END\n", s->curves.curve[curve].key);
	for (size_t i = 0; i < s->n; i++) {
		__s64 value = flow_series_value(s, i, curve);

		if (!is_needed(s, curve, i))
			continue;
		fprintf(out, "%.6f ", seconds(r, flow_series_time_ns(s, i)));
		if (value == VALUE_NONE)
			fputs("?\n", out);
		else
			fprintf(out, "%lld\n", value);
	}
	fputs("END\n", out);
}

static unsigned int curves_in(const struct curves *c, enum field_lane lane)
{
	unsigned int n = 0;

	for (unsigned int curve = 0; curve < c->n; curve++)
		n += c->curve[curve].lane == lane;
	return n;
}

static enum colour state_colour(const struct curves *c, unsigned int curve, __s64 state)
{
	return state >= 0 && state < c->curve[curve].n_states ?
		       curve_state_colour(c, curve, state) :
		       COLOUR_PALE;
}

/* Columns: from, until, the middle of the row, colour. The first curve's row is at the top. */
static void write_strip(FILE *out, const struct report *r, const struct flow_series *s)
{
	unsigned int row = curves_in(&s->curves, LANE_STATE);

	fputs("$strip << END\n", out);
	for (unsigned int curve = 0; curve < s->curves.n; curve++) {
		size_t next;

		if (s->curves.curve[curve].lane != LANE_STATE)
			continue;
		for (size_t i = 0; i + 1 < s->n; i = next) {
			__s64 value = flow_series_value(s, i, curve);

			for (next = i + 1; next + 1 < s->n; next++)
				if (flow_series_value(s, next, curve) != value)
					break;
			fprintf(out, "%.6f %.6f %u %s\n", seconds(r, flow_series_time_ns(s, i)),
				seconds(r, flow_series_time_ns(s, next)), row,
				rgb[state_colour(&s->curves, curve, value)]);
		}
		row--;
	}
	fputs("END\n", out);
}

/* Columns: time, each flow that has series, all flows; bits per second. */
static void write_rates(FILE *out, const struct report *r)
{
	double bps = 8.0 * NS_PER_S / r->shares.interval_ns;

	fputs("$rates << END\n", out);
	for (int k = 0; k < RATE_INTERVALS; k++) {
		fprintf(out, "%.6f", (k + 0.5) * r->shares.interval_ns / NS_PER_S);
		for (unsigned int i = 0; i < r->n_shown; i++)
			fprintf(out, " %.6g", r->shares.share[r->shown[i]->number].bytes[k] * bps);
		fprintf(out, " %.6g\n", r->shares.total[k] * bps);
	}
	fputs("END\n", out);
}

/* gnuplot must not take what is in a recording for commands. */
static void put_words(FILE *out, const char *words)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.:>[]() -";

	for (; *words; words++)
		fputc(strchr(plain, *words) ? *words : '?', out);
}

static void set_up(FILE *out, const struct report *r, const struct flow *flow, int height)
{
	char title[TITLE_LEN];

	flow_title(title, flow);
	fprintf(out,
		"set terminal svg size %d,%d font 'sans-serif,11' noenhanced background 'white'\n",
		WIDTH, height);
	fputs("set encoding utf8\n"
	      "set datafile missing '?'\n"
	      "set multiplot title '",
	      out);
	put_words(out, title);
	fputs(" (", out);
	put_words(out, flow->instance);
	fputs(")' font ',13'\n", out);
	fprintf(out, "set xrange [0:%.6f]\n", fmax(seconds(r, r->flows.end_ns), 1e-3));
	fputs("set lmargin at screen 0.09\n"
	      "set rmargin at screen 0.78\n"
	      "set key at screen 0.8, graph 1 left top Left reverse samplen 1.5\n"
	      "set grid lc rgb '#dddddd' lw 0.5\n"
	      "set border 3 lc rgb '#666666'\n"
	      "set tics nomirror\n"
	      "set format x ''\n",
	      out);
}

struct page {
	int height, y; /* pixels; y from the top */
};

static int pixels_of(const struct panel *p)
{
	return p->kind == PANEL_STATES ? STRIP : PANEL;
}

static void place_panel(FILE *out, struct page *page, const struct panel *p,
			const struct panel_unit *unit)
{
	double top = 1 - page->y / (double)page->height;

	page->y += pixels_of(p);
	fprintf(out, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", top,
		1 - (page->y - 14) / (double)page->height);
	/* The names of the rows of states are wider than numbers. */
	fprintf(out, unit ? "set ylabel '%s (%s)' offset 1,0\n" : "set ylabel '%s' offset 2,0\n",
		p->title, unit ? unit->name : "");
}

/* One curve as gnuplot plots it; a dot would be too small in the legend. */
static void put_curve(FILE *out, const char *before, const struct curve *c, double unit)
{
	const char *colour = rgb[c->colour];

	fprintf(out, "%s$%s using 1:($2/%g) with ", before, c->key, unit);
	if (c->look == LOOK_POINTS)
		fprintf(out,
			"dots lw 1.6 lc rgb %s notitle, "
			"keyentry with points pt 7 ps 0.4 lc rgb %s",
			colour, colour);
	else
		fprintf(out, "%s lc rgb %s", c->look == LOOK_LINE ? "lines" : "steps lw 1.5",
			colour);
	fprintf(out, " title '%s'", c->name);
}

static bool has_values(const struct flow_series *s, enum field_lane lane)
{
	for (unsigned int curve = 0; curve < s->curves.n; curve++)
		for (size_t i = 0; s->curves.curve[curve].lane == lane && i < s->n; i++)
			if (flow_series_value(s, i, curve) != VALUE_NONE)
				return true;
	return false;
}

/* Sets a range from 0. Without a value gnuplot does not know its upper end, and gives up. */
static void set_range(FILE *out, bool has_any)
{
	fputs(has_any ? "set yrange [0:0.001<*]\n" : "set yrange [0:1]\n", out);
}

/* Plots the curves of a lane, divided by `unit`. */
static void put_lane(FILE *out, const struct flow *flow, enum field_lane lane, double unit)
{
	const struct curves *c = &flow->series->curves;
	const char *before = "plot ";

	for (unsigned int curve = 0; curve < c->n; curve++) {
		double own = c->curve[curve].divisor ? c->curve[curve].divisor : 1;

		if (c->curve[curve].lane != lane)
			continue;
		if (c->curve[curve].is_bytes && flow->last.mss)
			own = flow->last.mss;
		put_curve(out, before, &c->curve[curve], unit * own);
		before = ", ";
	}
	fputc('\n', out);
}

static void put_curves(FILE *out, const struct flow *flow, enum field_lane lane,
		       const struct panel_unit *unit)
{
	double top = lane == LANE_RATE ? flow_series_rate_top(flow->series) / unit->size : 0;

	set_range(out, has_values(flow->series, lane));
	if (top)
		fprintf(out,
			"set yrange [0:%g]\n"
			"set label 1 'above %.4g %s cut off' at graph 1, graph 1.04 right font "
			"',9'\n",
			top, top, unit->name);
	put_lane(out, flow, lane, unit->size);
	fputs("unset label 1\n", out);
}

static void put_state_names(FILE *out, const struct curves *c, unsigned int curve)
{
	for (unsigned int i = 0; i < c->curve[curve].n_states; i++) {
		enum colour colour = curve_state_colour(c, curve, i);

		/* Pale is the state in which nothing happens. */
		if (colour != COLOUR_PALE)
			fprintf(out,
				", keyentry with boxes fs solid noborder lc rgb %s title "
				"'%s'",
				rgb[colour], curve_state_name(c, curve, i));
	}
}

static void put_strip(FILE *out, const struct curves *c)
{
	unsigned int rows = curves_in(c, LANE_STATE), row = rows;

	fprintf(out, "set yrange [0.5:%u.5]\nset ytics (", rows);
	for (unsigned int curve = 0; curve < c->n; curve++)
		if (c->curve[curve].lane == LANE_STATE) {
			fprintf(out, "%s'%s' %u", row < rows ? ", " : "", c->curve[curve].name,
				row);
			row--;
		}
	fputs(")\nset key maxrows 6 font ',9' spacing 0.8\n"
	      "plot $strip using 1:3:1:2:($3-0.4):($3+0.4):4 with boxxyerror fs solid noborder "
	      "lc rgb variable notitle",
	      out);
	for (unsigned int curve = 0; curve < c->n; curve++)
		if (c->curve[curve].lane == LANE_STATE)
			put_state_names(out, c, curve);
	fputs("\nset autoscale y\nset ytics autofreq\n"
	      "set key maxrows auto font ',11' spacing 1\n",
	      out);
}

static void put_rates(FILE *out, const struct report *r, const struct panel_unit *unit)
{
	static const enum colour colours[] = { COLOUR_BLUE, COLOUR_RED,	   COLOUR_GREEN,
					       COLOUR_PINK, COLOUR_YELLOW, COLOUR_SKY };

	set_range(out, true);
	fprintf(out, "plot $rates using 1:($%u/%g) with lines lc rgb 0x888888 title 'all'",
		r->n_shown + 2, unit->size);
	for (unsigned int i = 0, n = 0; i < r->n_shown; i++) {
		if (!flow_sends(r->shown[i]))
			continue;
		fprintf(out, ", $rates using 1:($%u/%g) with lines lc rgb %s dt %zu ", i + 2,
			unit->size, rgb[colours[n % COUNT(colours)]], n / COUNT(colours) % 5 + 1);
		/* The panel has room for only so many names. */
		if (n++ < 7)
			fprintf(out, "title 'flow %u'", r->shown[i]->number + 1);
		else
			fputs("notitle", out);
	}
	fputc('\n', out);
}

static void put_panel(FILE *out, const struct report *r, const struct flow *flow,
		      const struct panel *p, const struct panel_unit *unit)
{
	switch (p->kind) {
	case PANEL_SHARES:
		put_rates(out, r, unit);
		break;
	case PANEL_CURVES:
		put_curves(out, flow, p->lane, unit);
		break;
	case PANEL_STATES:
		put_strip(out, &flow->series->curves);
		break;
	default: /* only on the page */
		break;
	}
}

static bool is_drawn(const struct panel *p, const struct report *r)
{
	return !p->is_only_on_page && (p->lane || flows_sending(&r->flows) > 1);
}

static void write_panels(FILE *out, const struct report *r, const struct flow *flow,
			 struct page *page)
{
	for (size_t i = 0; i < n_panels; i++) {
		if (!is_drawn(&panels[i], r))
			continue;
		place_panel(out, page, &panels[i], panel_unit(&panels[i], r, flow));
		if (page->y + BOTTOM == page->height)
			fputs("set format x '%g'\nset xlabel 'Time (s)'\n", out);
		put_panel(out, r, flow, &panels[i], panel_unit(&panels[i], r, flow));
	}
}

static void write_commands(FILE *out, const struct report *r, const struct flow *flow)
{
	struct page page = { .y = TOP, .height = TOP + BOTTOM };

	for (size_t i = 0; i < n_panels; i++)
		page.height += is_drawn(&panels[i], r) ? pixels_of(&panels[i]) : 0;
	for (unsigned int curve = 0; curve < flow->series->curves.n; curve++)
		write_values(out, r, flow->series, curve);
	write_strip(out, r, flow->series);
	write_rates(out, r);
	set_up(out, r, flow, page.height);
	write_panels(out, r, flow, &page);
	fputs("unset multiplot\n", out);
}

/* Starts gnuplot, which reads from *to and writes to these files. Returns 0 or an errno. */
static int start_gnuplot(int out, int messages, pid_t *pid, FILE **to)
{
	/* -d: ignore ~/.gnuplot. */
	char *const argv[] = { "gnuplot", "-d", NULL };
	posix_spawn_file_actions_t actions;
	int pipe_fds[2], error;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return errno;
	*to = fdopen(pipe_fds[1], "w");
	if (!*to) {
		error = errno;
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		return error;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipe_fds[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipe_fds[0]);
	if (error)
		fclose(*to);
	return error;
}

/*
 * Shows gnuplot's messages, if it failed. Otherwise they do not concern the user: it warns of
 * curves without a point.
 */
static void show_messages(FILE *messages)
{
	char line[256];

	rewind(messages);
	while (fgets(line, sizeof(line), messages)) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			err("gnuplot: %s", line);
	}
}

static int run_gnuplot(int out, FILE *messages, const struct report *r, const struct flow *flow)
{
	pid_t pid;
	FILE *to;
	int error = start_gnuplot(out, fileno(messages), &pid, &to), ret;

	if (error) {
		err("cannot run gnuplot: %s", strerror(error));
		if (error == ENOENT)
			remedy("install it: Debian's package is gnuplot-nox");
		return EXIT_REFUSED;
	}
	write_commands(to, r, flow);
	fclose(to);
	if (waitpid(pid, &ret, 0) == pid && !ret)
		return EXIT_DONE;
	show_messages(messages);
	err("gnuplot did not draw the figure");
	return EXIT_REFUSED;
}

/* Returns false and sets errno if it fails. */
static bool copy_to(const char *path, FILE *drawn)
{
	FILE *out = fopen(path, "we");
	char part[BUFSIZ];
	bool is_written;
	size_t len;

	if (!out)
		return false;
	rewind(drawn);
	while ((len = fread(part, 1, sizeof(part), drawn)))
		fwrite(part, 1, len, out);
	is_written = !ferror(drawn) && !ferror(out);
	return !fclose(out) && is_written;
}

/* A file that exists stays as it is unless gnuplot has drawn the whole figure. */
int report_write_svg(const char *path, const struct report *r, const struct flow *flow)
{
	FILE *drawn = tmpfile(), *messages = tmpfile();
	int ret = EXIT_REFUSED;

	if (!drawn || !messages) {
		err("cannot make a temporary file: %s", strerror(errno));
	} else {
		/* If gnuplot ends early, its status says so. */
		signal(SIGPIPE, SIG_IGN);
		ret = run_gnuplot(fileno(drawn), messages, r, flow);
		if (!ret && !copy_to(path, drawn)) {
			err("cannot write %s: %s", path, strerror(errno));
			ret = EXIT_REFUSED;
		}
	}
	if (drawn)
		fclose(drawn);
	if (messages)
		fclose(messages);
	return ret;
}
