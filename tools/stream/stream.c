// SPDX-License-Identifier: GPL-2.0-only
/* bbrmon stream: prints one line for each event. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/options.h"
#include "event/conn_map.h"
#include "event/event.h"
#include "event_source.h"
#include "filter/filter.h"
#include "kernel/clock.h"
#include "verbs.h"

#define OUTPUT_BUFFER (256 << 10)
#define STDOUT_CHECK_NS (500 * (__s64)NS_PER_MS)

/*
 * The event of a connection's last line. The key is what a reader of lines tells connections apart by:
 * conn and name. After an upgrade two can have the same.
 */
struct printed {
	struct conn_key key;
	__u32 origin;
	struct bbr_event e;
};

struct stream {
	struct watch_config config;
	struct watch_limits limits;
	bool json, changes;

	const struct event_source *source;
	__u64 start_ns; /* of its first events */
	struct text_style style;
	struct conn_map printed; /* of open connections: struct printed */
	struct connections connections;
	__u64 said_drops; /* how many have been reported */
	__u64 said_ns;
	int write_error; /* errno of stdout, or 0 */
};

static bool is_done(const struct stream *s)
{
	return is_interrupted() || s->write_error || watch_limits_are_reached(&s->limits);
}

static void print_json(struct stream *s, const struct origin *origin, const struct bbr_event *e)
{
	struct conn_key key = conn_key_of_id(0, e->conn);
	bool keeps = s->changes && e->conn;
	struct printed *p;

	memcpy(key.name, origin->name, strnlen(origin->name, sizeof(key.name) - 1));
	p = keeps ? (void *)conn_map_find(&s->printed, &key) : NULL;
	event_print_json(stdout, origin, p && p->origin == origin->id ? &p->e : NULL, e);
	if (!keeps)
		return;
	if (e->kind == BBR_EV_END) {
		conn_map_drop(&s->printed, &key);
		return;
	}
	if (!p && s->printed.n < CONNECTIONS_MAX) /* lines of others have all members */
		p = mem_need(conn_map_new(&s->printed, &key, sizeof(*p)));
	if (p) {
		p->origin = origin->id;
		p->e = *e;
	}
}

static bool handle_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct stream *s = ctx;

	connections_note(&s->connections, e);
	s->limits.is_over |= s->write_error;
	if (!watch_limits_take(&s->limits, s->source, e))
		return false;
	errno = 0;
	s->style.start_ns = s->start_ns - event_source_shift_ns(s->source);
	if (s->json)
		print_json(s, origin, e);
	else
		event_print_text(stdout, &s->style, origin, e);
	note_write_error(&s->write_error, ferror(stdout));
	return !is_done(s);
}

static void flush(struct stream *s)
{
	errno = 0;
	note_write_error(&s->write_error, fflush(stdout));
}

static void report_drops(struct stream *s, const struct event_source *source)
{
	__u64 drops = event_source_drops(source), now = now_ns();

	if (s->config.read || drops <= s->said_drops || now - s->said_ns < NS_PER_S)
		return;
	err("%llu events dropped so far: ring too small or output too slow; "
	    "use --ring, --every or a filter",
	    drops);
	s->said_drops = drops;
	s->said_ns = now;
}

static int follow_events(struct stream *s, struct event_source *source)
{
	while (!is_done(s)) {
		__s64 left_ns = watch_limits_left_ns(&s->limits, source);
		__u64 shown = s->limits.taken;
		bool idle;
		int ret;

		if (left_ns <= 0 || event_source_is_over(source))
			break;
		if (left_ns > STDOUT_CHECK_NS)
			left_ns = STDOUT_CHECK_NS;
		ret = event_source_poll(source, left_ns / NS_PER_MS + 1, &idle);
		if (ret)
			return ret;
		if (idle)
			flush(s);
		/* Without an event to write we would not notice that the reader has gone. */
		if (s->limits.taken == shown && is_reader_gone(STDOUT_FILENO))
			s->write_error = EPIPE;
		report_drops(s, source);
	}
	return EXIT_DONE;
}

static void print_summary(struct stream *s, const struct watch_totals *t)
{
	__u64 accounted = counters_received(&t->counters) + counters_drops(&t->counters);
	struct json j;

	if (!s->json) {
		watch_summary_print(t, &s->connections.seen, "not shown", s->limits.left_out);
	} else if (!s->write_error) {
		watch_summary_begin(&j, t);
		json_add_int(&j, "connections", s->connections.seen);
		json_add_int(&j, "not_shown", s->limits.left_out);
		if (s->config.has_rest)
			json_add_int(&j, "not_matched", t->counters.not_matched);
		watch_summary_end(&j);
	}
	if (s->connections.uncounted)
		err("more connections: %llu events are of others than the %u open ones "
		    "that are counted",
		    s->connections.uncounted, CONNECTIONS_MAX);
	/* Neither a full ring nor a stop explains that: somebody else writes to our slot. */
	if (accounted != t->counters.seq)
		err("%llu events were counted, but %llu were received or dropped", t->counters.seq,
		    accounted);
}

static int run(struct stream *s)
{
	struct event_source source;
	struct watch_totals totals;
	int ret;

	s->config.handle = handle_event;
	s->config.ctx = s;
	s->style.colour = isatty(STDOUT_FILENO) && wants_colour();
	setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);

	interrupt_catch();
	s->source = &source;
	ret = event_source_open(&source, &s->config);
	if (ret)
		return ret;
	s->start_ns = event_source_start_ns(&source);
	watch_limits_begin(&s->limits, &source);
	ret = follow_events(s, &source);
	event_source_stop(&source);
	flush(s);
	totals = event_source_totals(&source);
	if (!ret)
		print_summary(s, &totals);
	flush(s);
	event_source_close(&source);
	return ret ? ret : say_write_error(s->write_error);
}

#define OPTION(member) offsetof(struct stream, member)

static const struct option_def options[] = {
	{ "json", 'j', NULL, option_flag, OPTION(json), "print one JSON object per line" },
	{ "changes", 0, NULL, option_flag, OPTION(changes),
	  "with --json: print only what differs from the connection's previous line" },
	{},
};

static const struct option_group groups[] = {
	{ options, 0 },
	{ limit_options, OPTION(limits) },
	{ watch_options, OPTION(config) },
	{ connection_options, OPTION(config) },
	{ read_options, OPTION(config) },
	{},
};

static int run_verb(void *options, int argc, char **argv)
{
	struct stream *s = options;
	int ret = watch_filter(&s->config, argc - 1, argv + 1);

	if (ret < 0 && s->changes && !s->json)
		ret = err_usage("stream: --changes needs --json");
	if (ret < 0)
		ret = run(s);
	conn_map_free(&s->printed);
	conn_map_free(&s->connections.live);
	watch_config_free(&s->config);
	return ret;
}

VERB(stream, NEEDS(WATCH, .changes = of_reading), .args = "[FILTER]",
     .brief = "print one line for each event, live or from a recording",
     .about = "Prints one line for each event of connections that use an instance of bpf_bbr or "
	      "the\n"
	      "kernel's own bbr, or of those in a recording, and a summary at the end.",
     .groups = groups, .max_args = FILTER_WORDS, .size = sizeof(struct stream), .run = run_verb);
