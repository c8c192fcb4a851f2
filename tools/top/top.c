// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon top: connections as they are now, refreshed in place.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/err.h"
#include "stream/interrupt.h"
#include "cli/options.h"
#include "recording/replay.h"
#include "top.h"
#include "top_screen.h"
#include "verbs.h"
#include "stream/watch_options.h"

#define EVERY_NS (200 * NS_PER_MS) /* samples of a connection; the history has slots of 500 ms */
#define BATCH_WAIT_MS 500

/* Without a block to write we would not notice that the reader has gone. */
static bool has_reader(void)
{
	struct pollfd fd = { .fd = STDOUT_FILENO };

	return poll(&fd, 1, 0) <= 0 || !(fd.revents & POLLERR);
}

static int run_batch(struct top *t)
{
	int ret = EXIT_DONE;

	while (!ret && !top_is_done(t) && !event_source_is_over(&t->source) && has_reader()) {
		bool idle;

		ret = event_source_poll(&t->source, top_wait_ms(t, BATCH_WAIT_MS), &idle);
		top_follow_now(t);
	}
	return ret;
}

static void print_summary(const struct top *t)
{
	const struct watch_totals *totals = event_source_totals(&t->source);

	if (screen_is_gone())
		return;
	fprintf(stderr, "%llu connections, %llu events, %llu dropped\n", t->table.next_serial,
		t->events, counters_drops(&totals->counters));
}

static int run(struct top *t)
{
	struct watch_config config;
	int ret;

	t->config.handle = top_handle_event;
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
		quiet_sockets_open(&t->sockets, &t->config, &t->table);
		t->next_ns = event_source_now_ns(&t->source);
	}
	errno = 0;
	ret = t->batch ? run_batch(t) : top_run_screen(t);
	t->paused = true; /* what is still to come is only counted */
	event_source_stop(&t->source);
	if (!ret)
		print_summary(t);
	event_source_close(&t->source);
	quiet_sockets_close(&t->sockets);
	conn_table_free(&t->table);
	view_free(&t->view);
	if (!ret && t->batch && ferror(stdout) && errno != EPIPE) {
		err("cannot write: %s", strerror(errno));
		ret = EXIT_REFUSED;
	}
	return ret;
}

static bool option_interval(const char *option, const char *value, void *to)
{
	__u64 *ns = to;

	if (!option_time(option, value, to))
		return false;
	if (*ns >= INTERVAL_MIN_NS && *ns <= 3600 * NS_PER_S)
		return true;
	err("%s %s: must be 100ms to 3600s", option, value);
	return false;
}

static bool option_sort(const char *option, const char *value, void *to)
{
	enum column *column = to;
	char names[256];

	*column = column_by_name(value);
	if (*column != COLUMNS)
		return true;
	print_column_names(names, sizeof(names));
	err("%s %s: no such column", option, value);
	remedy("one of: %s", names);
	return false;
}

static bool option_width(const char *option, const char *value, void *to)
{
	__u64 *width = to;

	if (!option_count(option, value, to))
		return false;
	if (*width >= SCREEN_MIN_WIDTH && *width <= 1000)
		return true;
	err("%s %s: must be %d to 1000", option, value, SCREEN_MIN_WIDTH);
	return false;
}

static const struct option_def options[] = {
	{ "interval", 'i', "TIME", option_interval, offsetof(struct top, interval_ns),
	  "time between two refreshes, by default 1s" },
	{ "sort", 's', "COLUMN", option_sort, offsetof(struct top, view.sort),
	  "rate (the default), bw, rtt, min_rtt, lost, remote, ..." },
	{ "reverse", 0, NULL, option_flag, offsetof(struct top, view.reverse),
	  "reverse the order" },
	{ "filter", 'f', "FILTER", option_text, offsetof(struct top, filter),
	  "show only these connections, until another filter is typed;\n"
	  "the totals count all" },
	{ "no-colour", 0, NULL, option_flag, offsetof(struct top, no_colour),
	  "no colours, like the environment variable NO_COLOR" },
	{ "batch", 'b', NULL, option_flag, offsetof(struct top, batch),
	  "print a block of text at each refresh" },
	{ "json", 'j', NULL, option_flag, offsetof(struct top, json),
	  "print a JSON object for each connection and refresh" },
	{ "count", 'n', "N", option_count, offsetof(struct top, count),
	  "with --batch: end after N blocks" },
	{ "width", 'w', "N", option_width, offsetof(struct top, width),
	  "with --batch: show the columns for a screen this wide, not all" },
	{},
};

static const struct option_group groups[] = {
	{ options, 0 },
	{ watch_options, offsetof(struct top, config) },
	{ connection_options, offsetof(struct top, config) },
	{ read_options, offsetof(struct top, config) },
	{},
};

static void init(void *options)
{
	struct top *t = options;

	t->config.request.sampling = BBR_SAMPLE_TIME;
	t->config.request.interval_ns = EVERY_NS;
	t->config.ring_size = RING_SIZE_DEFAULT;
	t->config.speed = -1;
	t->interval_ns = NS_PER_S;
	t->view.sort = COL_RATE;
}

static int run_verb(void *options, int argc, char **argv)
{
	struct top *t = options;
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
	if (ret < 0)
		ret = run(t);
	watch_config_free(&t->config);
	return ret;
}

VERB(top, NEEDS(WATCH, .may = EVERY_NETNS, .changes = of_reading), .args = "[FILTER]",
     .brief = "show the connections as they are now, refreshed in place",
     .about = "Shows the connections that use BBR as they are now, refreshed in place.\n"
	      "Key h lists the keys.\n"
	      "Without --every, top looks at a connection at most five times a second.",
     .groups = groups, .max_args = FILTER_WORDS, .size = sizeof(struct top), .init = init,
     .run = run_verb);
