// SPDX-License-Identifier: GPL-2.0-only
/*
 * A figure of one flow, drawn by gnuplot.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "event/event.h"
#include "flow_series.h"
#include "report.h"

#define WIDTH 880
#define TOP 44 /* pixels */
#define BOTTOM 40
#define PANEL 150
#define STRIP 80
#define TITLE_LEN 128

/* Okabe and Ito's colours, as on the page. */
#define BLUE "0x0072b2"
#define RED "0xd55e00"
#define GREEN "0x009e73"
#define PINK "0xcc79a7"
#define YELLOW "0xe69f00"
#define SKY "0x56b4e9"
#define PALE "0xc9ced6"

extern char **environ;

struct state_colour {
	const char *name, *rgb;
};

static const struct state_colour modes[] = {
	{ "STARTUP", YELLOW }, { "DRAIN", PINK }, { "PROBE_BW", BLUE }, { "PROBE_RTT", GREEN }
};
static const struct state_colour ca_states[] = { { "open", PALE },
						 { "disorder", SKY },
						 { "cwr", BLUE },
						 { "recovery", YELLOW },
						 { "loss", RED } };
static const struct state_colour policers[] = { { "off", PALE },
						{ "sampling", SKY },
						{ "detected", RED } };

#define COUNT(list) (sizeof(list) / sizeof(list[0]))

/* The lanes of the strip, from the top. */
static const struct lane {
	const char *title;
	enum flow_series_id series;
	const struct state_colour *states;
	size_t n_states;
} lanes[] = {
	{ "mode", SERIES_mode, modes, COUNT(modes) },
	{ "recovery", SERIES_ca_state, ca_states, COUNT(ca_states) },
	{ "policer", SERIES_policer, policers, COUNT(policers) },
};

static void add_endpoint(char *buf, size_t size, const __u32 addr[4], __u16 port)
{
	char text[EVENT_ADDR_LEN];

	event_addr(text, addr);
	snprintf(buf, size, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, ntohs(port));
}

/* "Flow 1: 10.0.0.1:1234 > [2001:db8::1]:443" */
static void flow_title(char buf[TITLE_LEN], const struct flow *flow)
{
	char local[EVENT_ADDR_LEN + 8], remote[EVENT_ADDR_LEN + 8];

	add_endpoint(local, sizeof(local), flow->first.laddr, flow->first.lport);
	add_endpoint(remote, sizeof(remote), flow->first.raddr, flow->first.rport);
	snprintf(buf, TITLE_LEN, "Flow %u: %s > %s", flow->number + 1, local, remote);
}

static double seconds(const struct report *r, __u64 time_ns)
{
	return (time_ns - r->flows.start_ns) / (double)NS_PER_S;
}

/* A curve needs no points between equal ones; of samples each is to be seen. */
static bool is_needed(const struct flow_series *s, int series, size_t i)
{
	__s64 value = s->rows[i].value[series];

	if (series == SERIES_delivery_rate_bps || series == SERIES_rtt_us)
		return value != VALUE_NONE;
	return !i || i + 1 == s->n || value != s->rows[i - 1].value[series] ||
	       value != s->rows[i + 1].value[series];
}

/* A block of data for each series; columns: time, value. */
static void write_series(FILE *out, const struct report *r, const struct flow_series *s, int series)
{
	fprintf(out, "$%s << END\n", flow_series_names[series]);
	for (size_t i = 0; i < s->n; i++) {
		__s64 value = s->rows[i].value[series];

		if (!is_needed(s, series, i))
			continue;
		fprintf(out, "%.6f ", seconds(r, s->rows[i].time_ns));
		if (value == VALUE_NONE)
			fputs("?\n", out);
		else
			fprintf(out, "%lld\n", value);
	}
	fputs("END\n", out);
}

static const char *state_rgb(const struct lane *lane, __s64 state)
{
	return state >= 0 && state < (__s64)lane->n_states ? lane->states[state].rgb : PALE;
}

/* Columns: from, until, the middle of the lane, colour. */
static void write_strip(FILE *out, const struct report *r, const struct flow_series *s)
{
	fputs("$strip << END\n", out);
	for (size_t k = 0; k < COUNT(lanes); k++) {
		int series = lanes[k].series;
		size_t next;

		for (size_t i = 0; i + 1 < s->n; i = next) {
			for (next = i + 1; next + 1 < s->n; next++)
				if (s->rows[next].value[series] != s->rows[i].value[series])
					break;
			fprintf(out, "%.6f %.6f %zu %s\n", seconds(r, s->rows[i].time_ns),
				seconds(r, s->rows[next].time_ns), COUNT(lanes) - k,
				state_rgb(&lanes[k], s->rows[i].value[series]));
		}
	}
	fputs("END\n", out);
}

/* Columns: time, each flow that has series, all flows; Mbit/s. */
static void write_rates(FILE *out, const struct report *r)
{
	double mbps = 8e3 / r->shares.interval_ns;

	fputs("$rates << END\n", out);
	for (int k = 0; k < RATE_INTERVALS; k++) {
		fprintf(out, "%.6f", (k + 0.5) * r->shares.interval_ns / NS_PER_S);
		for (unsigned int i = 0; i < r->n_shown; i++)
			fprintf(out, " %.6g", r->shares.share[r->shown[i]->number].bytes[k] * mbps);
		fprintf(out, " %.6g\n", r->shares.total[k] * mbps);
	}
	fputs("END\n", out);
}

/* What is in a recording is not to be taken for gnuplot's commands. */
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
	fputs("set datafile missing '?'\n"
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

static void place_panel(FILE *out, struct page *page, int pixels, const char *label)
{
	double top = 1 - page->y / (double)page->height;

	page->y += pixels;
	fprintf(out, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", top,
		1 - (page->y - 14) / (double)page->height);
	fprintf(out, "set ylabel '%s' offset 1,0\n", label);
}

/* One series as gnuplot plots it. */
static void put_series(FILE *out, const char *before, enum flow_series_id series, double unit,
		       const char *with, const char *rgb, const char *title)
{
	fprintf(out, "%s$%s using 1:($2/%g) with %s lc rgb %s title '%s'", before,
		flow_series_names[series], unit, with, rgb, title);
}

/* The same as points. A dot would be too small in the legend. */
static void put_points(FILE *out, const char *before, enum flow_series_id series, double unit,
		       const char *rgb, const char *title)
{
	fprintf(out, "%s$%s using 1:($2/%g) with dots lw 1.6 lc rgb %s notitle", before,
		flow_series_names[series], unit, rgb);
	fprintf(out, ", keyentry with points pt 7 ps 0.4 lc rgb %s title '%s'", rgb, title);
}

#define STEPS "steps lw 1.5"

static bool has_values(const struct flow_series *s, enum flow_series_id series)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].value[series] != VALUE_NONE)
			return true;
	return false;
}

/* From 0 on. Without a value gnuplot does not know up to where, and gives up. */
static void set_range(FILE *out, bool has_any)
{
	fputs(has_any ? "set yrange [0:0.001<*]\n" : "set yrange [0:1]\n", out);
}

static void put_rate(FILE *out, const struct flow_series *s)
{
	double top = flow_series_rate_top(s) / 1e6;

	set_range(out, has_values(s, SERIES_pacing_rate_bps) || has_values(s, SERIES_bw_bps));
	if (top)
		fprintf(out,
			"set yrange [0:%g]\n"
			"set label 1 'above %.4g Mbit/s cut off' at graph 1, graph 1.04 right font "
			"',9'\n",
			top, top);
	put_series(out, "plot ", SERIES_pacing_rate_bps, 1e6, STEPS, PINK, "pacing rate");
	put_points(out, ", ", SERIES_delivery_rate_bps, 1e6, BLUE, "delivery rate");
	put_series(out, ", ", SERIES_bw_bps, 1e6, STEPS, RED, "bw");
	fputs("\nunset label 1\n", out);
}

static void put_rtt(FILE *out, const struct flow_series *s)
{
	set_range(out, has_values(s, SERIES_rtt_us) || has_values(s, SERIES_srtt_us));
	put_points(out, "plot ", SERIES_rtt_us, 1e3, BLUE, "RTT");
	put_series(out, ", ", SERIES_srtt_us, 1e3, "lines", YELLOW, "srtt");
	put_series(out, ", ", SERIES_min_rtt_us, 1e3, STEPS, RED, "min_rtt");
	fputc('\n', out);
}

static void put_inflight(FILE *out)
{
	set_range(out, true);
	put_series(out, "plot ", SERIES_cwnd, 1, STEPS, PINK, "cwnd");
	put_series(out, ", ", SERIES_inflight, 1, "lines", BLUE, "inflight");
	put_series(out, ", ", SERIES_bdp_milli, 1e3, STEPS, RED, "BDP");
	fputc('\n', out);
}

static void put_losses(FILE *out, const struct flow *flow)
{
	set_range(out, true);
	put_series(out, "plot ", SERIES_lost, 1, STEPS, RED, "lost");
	put_series(out, ", ", SERIES_bytes_retrans, flow->last.mss ? flow->last.mss : 1, STEPS,
		   BLUE, "retransmitted");
	fputc('\n', out);
}

static void put_strip(FILE *out)
{
	fputs("set yrange [0.5:3.5]\nset ytics (", out);
	for (size_t k = 0; k < COUNT(lanes); k++)
		fprintf(out, "%s'%s' %zu", k ? ", " : "", lanes[k].title, COUNT(lanes) - k);
	fputs(")\nset key maxrows 6 font ',9' spacing 0.8\n"
	      "plot $strip using 1:3:1:2:($3-0.4):($3+0.4):4 with boxxyerror fs solid noborder "
	      "lc rgb variable notitle",
	      out);
	for (size_t k = 0; k < COUNT(lanes); k++)
		for (size_t i = 0; i < lanes[k].n_states; i++)
			/* Pale is the state in which nothing happens. */
			if (strcmp(lanes[k].states[i].rgb, PALE))
				fprintf(out,
					", keyentry with boxes fs solid noborder lc rgb %s title "
					"'%s'",
					lanes[k].states[i].rgb, lanes[k].states[i].name);
	fputs("\nset autoscale y\nset ytics autofreq\n"
	      "set key maxrows auto font ',11' spacing 1\n",
	      out);
}

static void put_rates(FILE *out, const struct report *r)
{
	static const char *const colours[] = { BLUE, RED, GREEN, PINK, YELLOW, SKY };

	fprintf(out, "plot $rates using 1:%u with lines lc rgb 0x888888 title 'all'",
		r->n_shown + 2);
	for (unsigned int i = 0, n = 0; i < r->n_shown; i++) {
		if (!flow_sends(r->shown[i]))
			continue;
		fprintf(out, ", $rates using 1:%u with lines lc rgb %s dt %zu ", i + 2,
			colours[n % COUNT(colours)], n / COUNT(colours) % 5 + 1);
		/* The panel has room for so many names. */
		if (n++ < 7)
			fprintf(out, "title 'flow %u'", r->shown[i]->number + 1);
		else
			fputs("notitle", out);
	}
	fputc('\n', out);
}

static void write_commands(FILE *out, const struct report *r, const struct flow *flow)
{
	bool several = flows_sending(&r->flows) > 1;
	struct page page = { .y = TOP, .height = TOP + (4 + several) * PANEL + STRIP + BOTTOM };

	for (int series = 0; series < N_SERIES; series++)
		write_series(out, r, flow->series, series);
	write_strip(out, r, flow->series);
	write_rates(out, r);
	set_up(out, r, flow, page.height);
	if (several) {
		set_range(out, true);
		place_panel(out, &page, PANEL, "Rate ACKed (Mbit/s)");
		put_rates(out, r);
	}
	place_panel(out, &page, PANEL, "Rate (Mbit/s)");
	put_rate(out, flow->series);
	place_panel(out, &page, PANEL, "RTT (ms)");
	put_rtt(out, flow->series);
	place_panel(out, &page, PANEL, "Inflight (packets)");
	put_inflight(out);
	place_panel(out, &page, STRIP, "");
	put_strip(out);
	place_panel(out, &page, PANEL, "Losses (packets)");
	fputs("set format x '%g'\nset xlabel 'Time (s)'\n", out);
	put_losses(out, flow);
	fputs("unset multiplot\n", out);
}

/* Starts gnuplot, which reads commands from *to and writes to these files. 0 or an errno. */
static int start_gnuplot(int out, int messages, pid_t *pid, FILE **to)
{
	/* -d: whatever ~/.gnuplot may say. */
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

/* It warns of curves without a point, which are none of the user's business: shown if it fails. */
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
	int error = start_gnuplot(out, fileno(messages), &pid, &to), status;

	if (error) {
		err("cannot run gnuplot: %s", strerror(error));
		if (error == ENOENT)
			remedy("install it: Debian's package is gnuplot-nox");
		return EXIT_REFUSED;
	}
	write_commands(to, r, flow);
	fclose(to);
	if (waitpid(pid, &status, 0) == pid && !status)
		return EXIT_DONE;
	show_messages(messages);
	err("gnuplot did not draw the figure");
	return EXIT_REFUSED;
}

int report_write_svg(const char *path, const struct report *r, const struct flow *flow)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), status;
	FILE *messages = fd < 0 ? NULL : tmpfile();

	if (!messages) {
		err("cannot write %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return EXIT_REFUSED;
	}
	/* If gnuplot ends early, its status says so. */
	signal(SIGPIPE, SIG_IGN);
	status = run_gnuplot(fd, messages, r, flow);
	fclose(messages);
	close(fd);
	if (status)
		unlink(path);
	return status;
}
