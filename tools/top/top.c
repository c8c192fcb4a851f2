// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon top: connections as they are now, refreshed in place.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/completion.h"
#include "cli/err.h"
#include "cli/options.h"
#include "cli/units.h"
#include "kernel/clock.h"
#include "recording/replay.h"
#include "stream/event_source.h"
#include "top.h"
#include "verbs.h"

#define EVERY_NS (200 * NS_PER_MS) /* samples of a connection; the history has slots of 500 ms */
#define BATCH_WAIT_MS 500
#define INTERVAL_MIN_NS (100 * NS_PER_MS)

/*
 * Updates what is shown, on each event and at the end of each interval.
 */

/*
 * Reading takes a tenth of the time, unless it takes more than a second. There is at least this
 * time between two readings.
 */
#define SHARE 10
#define PAUSE_NS (900 * NS_PER_MS)
#define PAUSE_MAX_NS (10 * NS_PER_S)

#define LOOK_NS (30 * NS_PER_MS)

static bool look(struct top *t)
{
	__u64 now = t->look ? now_ns() : 0;

	if (now < t->next_look_ns || !t->look)
		return true;
	if (!t->look(t->look_ctx))
		return false;
	t->next_look_ns = now_ns() + LOOK_NS;
	return true;
}

static bool note_socket(void *ctx, const struct origin *origin, const struct bbr_snapshot *snap)
{
	struct top *t = ctx;

	if (is_wanted(&t->config, origin, &snap->event))
		conn_table_note_snapshot(&t->table, origin, snap);
	else if (filter_knows(t->config.filter, &snap->event))
		conn_table_leave_out(&t->table, origin, &snap->event);
	t->is_reading = look(t);
	return t->is_reading;
}

void top_read_names(struct top *t)
{
	struct view *v = &t->view;

	/* Only who asks for processes pays for them. */
	v->grouping.with_processes =
		v->sort == COL_PROCESS || column_is_chosen(&v->choice, COL_PROCESS);
	grouping_read(&v->grouping);
	for (__u32 i = 0; i < t->table.n; i++) {
		struct conn *c = t->table.all[i];
		bool is_named = !c->cookie || c->service[0];
		const char *path = is_named ? NULL : grouping_cgroup(&v->grouping, c->cgroup);
		const struct owner *owner;
		size_t n;

		if (path)
			service_of(c->service, sizeof(c->service), path);
		owner = c->cookie ? owners_of(&v->grouping.owners, c->inode, &n) : NULL;
		if (owner)
			snprintf(c->process, sizeof(c->process), "%s[%u]", owner->name, owner->pid);
	}
}

/* Reads connections without events, unless the last reading was a moment ago. */
static void read_sockets(struct top *t)
{
	__u64 now = now_ns(), pause;

	if (!t->has_sockets || now < t->next_reading_ns || t->is_reading)
		return;
	t->is_reading = true;
	t->next_look_ns = now + LOOK_NS;
	conn_table_begin_snapshot(&t->table, now);
	if (sockets_read(&t->sockets, NULL, note_socket, t) == EXIT_DONE && t->is_reading)
		conn_table_end_snapshot(&t->table);
	t->is_reading = false;
	top_read_names(t);
	pause = (now_ns() - now) * SHARE;
	if (pause < PAUSE_NS)
		pause = PAUSE_NS;
	t->next_reading_ns = now_ns() + (pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS);
}

bool top_is_done(const struct top *t)
{
	return is_interrupted() || (t->count && t->blocks >= t->count) ||
	       (t->batch && ferror(stdout));
}

void top_refresh(struct top *t, __u64 now)
{
	read_sockets(t);
	conn_table_tick(&t->table, now);
	t->style.now_ns = now;
	view_build(&t->view, &t->table);
	if (t->batch)
		top_print_block(t);
	t->next_ns = now + t->interval_ns;
	t->has_news = false;
}

/*
 * Intervals are in the time of events, so a recording shows the same however fast it is read. In a
 * long time without events, only the first interval is shown.
 */
static void refresh_until(struct top *t, __u64 time_ns)
{
	/* The first one, or of another boot. */
	if (!t->next_ns || time_ns + 2 * t->interval_ns < t->next_ns)
		t->next_ns = time_ns + t->interval_ns;
	if (time_ns < t->next_ns)
		return;
	top_refresh(t, t->config.read ? t->next_ns : time_ns);
	if (time_ns >= t->next_ns)
		t->next_ns +=
			(time_ns - t->next_ns) / t->interval_ns * t->interval_ns + t->interval_ns;
}

static bool handle_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct top *t = ctx;
	bool wanted = is_wanted(&t->config, origin, e);

	t->events += wanted;
	t->last_ns = e->time_ns;
	if (t->paused) {
		t->unseen += wanted;
		conn_table_note_unseen(&t->table, origin, e);
		return true;
	}
	if (top_is_done(t))
		return false;
	refresh_until(t, e->time_ns);
	if (wanted)
		conn_table_note(&t->table, origin, e);
	else if (filter_knows(t->config.filter, e))
		conn_table_leave_out(&t->table, origin, e);
	t->has_news = true;
	return true;
}

void top_follow_now(struct top *t)
{
	if (t->paused || !t->next_ns || t->is_over)
		return;
	if (event_source_is_over(&t->source)) { /* what came after the last whole interval */
		t->is_over = true;
		if (t->has_news)
			top_refresh(t, t->last_ns);
	} else {
		refresh_until(t, event_source_now_ns(&t->source));
	}
}

int top_wait_ms(const struct top *t, int most)
{
	__u64 now = event_source_now_ns(&t->source);

	if (t->config.read || t->paused || t->next_ns <= now)
		return most;
	if (t->next_ns - now >= most * NS_PER_MS)
		return most;
	return (t->next_ns - now) / NS_PER_MS + 1;
}

bool line_add(struct line *l, const char *fmt, ...)
{
	size_t len = strlen(l->text), before = len ? 2 : 0;
	char piece[sizeof(l->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(piece, sizeof(piece), fmt, args);
	va_end(args);
	if (l->width && len + before + strlen(piece) > (size_t)l->width)
		return false;
	snprintf(l->text + len, sizeof(l->text) - len, "%*s%s", (int)before, "", piece);
	return true;
}

static void add_time(const struct top *t, struct line *l)
{
	time_t seconds =
		(event_source_run(&t->source).epoch_ns + (__s64)t->style.now_ns) / (__s64)NS_PER_S;
	struct tm tm;
	char text[16];

	if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		line_add(l, "%s", text);
}

void top_header(const struct top *t, struct line *first, struct line *second, int width)
{
	struct conn_totals totals;
	char rate[16];

	conn_table_totals(&t->table, &totals);
	format_short(rate, sizeof(rate), totals.rate);
	*first = (struct line){ .width = width };
	*second = (struct line){ .width = width };

	line_add(first, "bbrmon top");
	if (t->paused)
		line_add(first, "PAUSED, %llu events since", t->unseen);
	add_time(t, first);
	line_add(first, "drops %llu", event_source_drops(&t->source));
	line_add(first, "%s",
		 !t->config.read		  ? "live" :
		 event_source_is_over(&t->source) ? "recording, over" :
						    "recording");
	line_add(first, "instances %u", totals.origins);
	line_add(first, "events %llu", t->events);
	if (t->has_sockets && sockets_unseen(&t->sockets))
		line_add(first, "unseen users %u", sockets_unseen(&t->sockets));
	if (t->table.no_row)
		line_add(first, "%llu events of more than %u connections not shown",
			 t->table.no_row, CONNS_MAX);
	if (totals.without_history)
		line_add(first, "%u connections without history: %u others have one",
			 totals.without_history, HISTORIES_MAX);
	line_add(second, "connections %u", totals.live);
	line_add(second, "rate %s", rate);
	for (__u32 i = 0; i < totals.n_modes; i++)
		line_add(second, "%s %u", totals.modes[i].name, totals.modes[i].conns);
}

static int run_batch(struct top *t)
{
	int ret = EXIT_DONE;

	/* Without a block to write we would not notice that the reader has gone. */
	while (!ret && !top_is_done(t) && !event_source_is_over(&t->source) &&
	       !is_reader_gone(STDOUT_FILENO)) {
		bool idle;

		ret = event_source_poll(&t->source, top_wait_ms(t, BATCH_WAIT_MS), &idle);
		top_follow_now(t);
	}
	return ret;
}

static int run(struct top *t)
{
	struct watch_config config;
	int ret, write_error = 0;

	t->config.handle = handle_event;
	t->config.ctx = t;
	setlocale(LC_CTYPE, "");
	t->style.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	interrupt_catch();
	config = t->config;
	if (config.filter && filter_has_state(config.filter)) {
		/* Take events that do not match as well: they make a connection leave the table. */
		config.filter = NULL;
		config.has_rest = false;
	}
	ret = event_source_open(&t->source, &config);
	if (ret)
		return ret;
	if (!t->config.read) {
		t->has_sockets = sockets_open(&t->sockets) == EXIT_DONE;
		t->next_ns = event_source_now_ns(&t->source);
	}
	errno = 0;
	ret = t->batch ? run_batch(t) : top_run_screen(t);
	t->paused = true; /* what is still to come is only counted */
	event_source_stop(&t->source);
	if (!ret && !screen_is_gone())
		fprintf(stderr, "%llu connection%s, %llu event%s, %llu dropped\n",
			t->table.next_serial, plural(t->table.next_serial), t->events,
			plural(t->events), event_source_drops(&t->source));
	if (t->table.no_row)
		err("%llu events are not shown: there were more than %u connections at once",
		    t->table.no_row, CONNS_MAX);
	event_source_close(&t->source);
	if (t->has_sockets)
		sockets_close(&t->sockets);
	conn_table_free(&t->table);
	view_free(&t->view);
	if (t->batch)
		note_write_error(&write_error, ferror(stdout));
	return ret ? ret : say_write_error(write_error);
}

static bool option_interval(const char *option, const char *value, void *to)
{
	__u64 *ns = to;

	return option_time(option, value, to) &&
	       ((*ns >= INTERVAL_MIN_NS && *ns <= 3600 * NS_PER_S) ||
		err_value(option, value, "must be 100ms to 3600s"));
}

/* As for snapshot: from the lowest, or with a "-" from the highest. */
static bool option_sort(const char *option, const char *value, void *to)
{
	bool is_highest = *value == '-';
	struct view *v = to;

	v->sort = column_by_name(value + is_highest);
	v->reverse = v->sort < COL_SPARK && column_is_number(v->sort) != is_highest;
	return v->sort < COL_SPARK || column_refuse(option, value, value + is_highest,
						    "one of these, with a \"-\" to sort from the "
						    "highest to the lowest:");
}

static bool option_width(const char *option, const char *value, void *to)
{
	__u64 *width = to;

	return option_count(option, value, to) && ((*width >= SCREEN_MIN_WIDTH && *width <= 1000) ||
						   err_value(option, value, "must be 40 to 1000"));
}

#define OPTION(member) offsetof(struct top, member)

static const struct option_def options[] = {
	{ "interval", 'i', "TIME", option_interval, OPTION(interval_ns),
	  "time between two refreshes, by default 1s" },
	{ "sort", 's', "KEY", option_sort, OPTION(view),
	  "a column or its JSON key; \"-\": from the highest to the lowest:\n"
	  "-rate (the default), -bw, rtt, -lost, remote, ..." },
	{ "reverse", 0, NULL, option_flag, OPTION(reverse), "reverse the order" },
	{ "columns", 0, "LIST", option_columns, OPTION(view.choice),
	  "these columns, as many as fit the width: remote,rate,process;\n"
	  "with +, in addition to the usual ones: +process" },
	{ "by", 0, "WHAT", option_group_by, OPTION(view.grouping.by),
	  "rows are totals by cgroup, process, prefix (remote, /24 or /64)\n"
	  "or netns; key b" },
	{ "largest", 0, "N", option_largest, OPTION(view.largest),
	  "with --by: show the first N groups (20), and the sum of the rest" },
	{ "filter", 'f', "FILTER", option_text, OPTION(filter),
	  "show only these connections, until another filter is typed;\n"
	  "the totals count all" },
	{ "no-colour", 0, NULL, option_flag, OPTION(no_colour),
	  "no colours, like the environment variable NO_COLOR" },
	{ "no-color", 0, NULL, option_flag, OPTION(no_colour), "the same" },
	{ "batch", 'b', NULL, option_flag, OPTION(batch), "print a block of text at each refresh" },
	{ "json", 'j', NULL, option_flag, OPTION(json),
	  "print a JSON object for each connection and refresh" },
	{ "count", 'n', "N", option_count, OPTION(count), "with --batch: end after N blocks" },
	{ "width", 'w', "N", option_width, OPTION(width),
	  "with --batch: show the columns for a screen this wide, not all" },
	{},
};

void complete_columns(const struct completion *c)
{
	for (int i = 0; i < COLUMNS; i++)
		if (column_def(i)->name)
			completion_add_to_list(c, column_def(i)->name, column_def(i)->help);
}

static const struct option_group groups[] = {
	{ options, 0 },
	{ watch_options, OPTION(config) },
	{ connection_options, OPTION(config) },
	{ read_options, OPTION(config) },
	{},
};

static void init(void *options)
{
	struct top *t = options;

	t->config.request.sampling = BBR_SAMPLE_TIME;
	t->config.request.interval_ns = EVERY_NS;
	t->config.speed = -1;
	t->interval_ns = NS_PER_S;
	t->view.sort = COL_RATE;
}

static int run_verb(void *options, int argc, char **argv)
{
	struct top *t = options;
	const struct conflict conflicts[] = {
		NO_GROUPS_IN(t->config.read, t->view.grouping.by),
		/* On a screen a key chooses groups later. */
		NO_LARGEST(t->batch || t->json ? t->view.largest : 0, t->view.grouping.by),
		{},
	};
	int ret = watch_filter(&t->config, argc - 1, argv + 1);

	t->batch |= t->json;
	if (t->config.speed < 0) /* for people: as it happened */
		t->config.speed = !t->batch;
	t->known = (struct known){ t->config.read, recording_described };
	if (ret < 0 && t->filter && !view_filter(&t->view, t->filter, &t->known))
		ret = EXIT_USAGE;
	if (ret < 0 && !t->batch && (t->count || t->width)) {
		err("top: --count and --width need --batch");
		ret = EXIT_USAGE;
	}
	t->view.reverse ^= t->reverse;
	if (ret < 0)
		ret = refuse_conflicts("top", conflicts);
	if (!ret)
		ret = run(t);
	watch_config_free(&t->config);
	return ret;
}

static const struct privileges_change changes[] = {
	/* As for snapshot: /proc/PID/fd and the paths of cgroups. */
	{ "by", .more = EVERY_NETNS | FIND_CGROUPS },
	{ "read", .spares = PRIVILEGES_ALL, .may = READ_FILE },
	{},
};

VERB(top, NEEDS(WATCH, .may = EVERY_NETNS | FIND_CGROUPS, .changes = changes), .args = "[FILTER]",
     .brief = "show the connections as they are now, refreshed in place",
     .about = "Shows the connections that use BBR as they are now, refreshed in place.\n"
	      "Key h lists the keys.\n"
	      "Without --every, top samples a connection at most five times a second.",
     .groups = groups, .max_args = FILTER_WORDS, .size = sizeof(struct top), .init = init,
     .run = run_verb);
