// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "address.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/units.h"
#include "event/event.h"
#include "event_source.h"
#include "filter/filter.h"
#include "kernel/clock.h"
#include "recording/replay.h"
#include "verbs.h"

#define WAIT_MS 500 /* for more of a pipe */

int event_source_open(struct event_source *s, const struct watch_config *config)
{
	memset(s, 0, sizeof(*s));
	s->config = *config;
	if (config->read)
		return replay_open(&s->replay, &s->config);
	recording_run_init(&s->run, &s->config.request);
	return monitor_open(&s->monitor, &s->config);
}

int event_source_poll(struct event_source *s, int wait_ms, bool *idle)
{
	return s->config.read ? replay_poll(&s->replay, wait_ms, idle) :
				monitor_poll(&s->monitor, wait_ms, idle);
}

int event_source_wait(const struct event_source *s, int fd, int most_ms)
{
	const struct monitor *m = s->config.read ? NULL : &s->monitor;
	int rest_ms = m ? monitor_rest_ms(m) : 0;
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = m && !rest_ms ? monitor_fd(m) : -1, .events = POLLIN },
	};

	if (poll(fds, 2, rest_ms && rest_ms < most_ms ? rest_ms : most_ms) < 0 && errno != EINTR)
		return err_refused("cannot wait for events: %s", strerror(errno));
	return EXIT_DONE;
}

int event_source_read_all(struct event_source *s)
{
	int ret = EXIT_DONE;
	bool idle;

	while (!ret && !is_interrupted() && !event_source_is_over(s))
		ret = event_source_poll(s, WAIT_MS, &idle);
	return ret;
}

bool event_source_is_over(const struct event_source *s)
{
	return s->config.read && s->replay.is_over && !s->replay.has_event;
}

__u64 event_source_now_ns(const struct event_source *s)
{
	return s->config.read ? replay_now_ns(&s->replay) : now_ns();
}

__u64 event_source_start_ns(const struct event_source *s)
{
	return s->config.read ? s->replay.first_ns : s->monitor.began_ns;
}

__s64 event_source_shift_ns(const struct event_source *s)
{
	return s->config.read ? s->replay.shift_ns : 0;
}

struct recording_run event_source_run(const struct event_source *s)
{
	struct recording_run run = s->run;

	if (s->config.read)
		return replay_run(&s->replay);
	run.epoch_ns = realtime_ns() - now_ns();
	return run;
}

struct watch_totals event_source_totals(const struct event_source *s)
{
	return s->config.read ? replay_totals(&s->replay) : monitor_totals(&s->monitor);
}

__u64 event_source_drops(const struct event_source *s)
{
	const struct watch_totals totals = event_source_totals(s);

	return counters_drops(&totals.counters);
}

void event_source_stop(struct event_source *s)
{
	if (!s->config.read)
		monitor_stop(&s->monitor);
}

void event_source_close(struct event_source *s)
{
	if (s->config.read)
		replay_close(&s->replay);
	else
		monitor_close(&s->monitor);
}

/* ---- the options that choose it */

#define RING_SIZE_DEFAULT (4 << 20)
#define RING_SIZE_MAX (1ull << 31) /* max_entries of a map has 32 bits */
#define TIME_MAX_NS 9e18

bool option_parse(const char *option, const char *s, unit_parser parse, double *value)
{
	enum parse_error error = parse(s, value);

	return !error || err_value(option, s, parse_error_text(error));
}

static bool take_time(const char *option, const char *s, double least, __u64 *ns)
{
	double value;

	if (!option_parse(option, s, parse_duration, &value))
		return false;
	if (value < least || value > TIME_MAX_NS)
		return err_value(option, s,
				 least ? "must be 1ns to 9000000000s" :
					 "must be 0s to 9000000000s");
	*ns = value;
	return true;
}

bool option_time(const char *option, const char *s, void *to)
{
	return take_time(option, s, 1, to);
}

static bool option_from(const char *option, const char *s, void *to)
{
	return take_time(option, s, 0, to);
}

bool option_until(const char *option, const char *s, void *to)
{
	__u64 *ns = to;

	if (!take_time(option, s, 0, ns))
		return false;
	*ns += !*ns; /* 0 is no limit */
	return true;
}

bool option_every(const char *option, const char *s, void *to)
{
	struct watch_request *request = to;
	static const struct {
		const char *word;
		enum bbr_sampling sampling;
	} words[] = {
		{ "ack", BBR_SAMPLE_ACK },
		{ "round", BBR_SAMPLE_ROUND },
		{ "transition", BBR_SAMPLE_NONE },
	};

	request->is_sampling_given = true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(s, words[i].word)) {
			request->sampling = words[i].sampling;
			return true;
		}
	}
	request->sampling = BBR_SAMPLE_TIME;
	if (!isdigit((unsigned char)s[0]) && s[0] != '-' && s[0] != '.')
		err("%s %s: not an event, and not a time", option, s);
	else if (option_time(option, s, &request->interval_ns))
		return true;
	remedy("one of: ack, round, transition, or a time like 100ms");
	return false;
}

bool option_count(const char *option, const char *s, void *to)
{
	__u64 *count = to;
	double value;

	if (strchr(s, '.') || parse_number(s, &value) || value < 1 || value > 1e15)
		return err_value(option, s, "must be a whole number, 1 or more");
	*count = value;
	return true;
}

bool option_ring_size(const char *option, const char *s, void *to)
{
	size_t *size = to;
	unsigned long long page = sysconf(_SC_PAGESIZE), bytes;
	double value;

	if (!option_parse(option, s, parse_size, &value))
		return false;
	bytes = value <= RING_SIZE_MAX ? value : 0;
	if (bytes != value || bytes < page || bytes & (bytes - 1)) {
		err("%s %s: the kernel does not accept this size\n"
		    "powers of two from %lluk to 2g: 64k, 1m, 4m (the default), 16m, ...",
		    option, s, page / 1024);
		return false;
	}
	*size = bytes;
	return true;
}

static bool option_host(const char *option, const char *s, void *to)
{
	struct filter_node *condition = to;

	*condition = (struct filter_node){ .op = FILTER_HOST, .host.port = -1 };
	return parse_prefix(option, s, condition->host.addr, condition->host.mask);
}

static bool option_port(const char *option, const char *s, void *to)
{
	__u16 port;

	if (!parse_port(option, s, &port))
		return false;
	*(struct filter_node *)to = (struct filter_node){ .op = FILTER_PORT, .port = ntohs(port) };
	return true;
}

static bool option_speed(const char *option, const char *s, void *to)
{
	double value;

	if (!option_parse(option, s, parse_number, &value))
		return false;
	if (value > 1e6)
		return err_value(option, s, "must be 0 to 1000000");
	*(double *)to = value;
	return true;
}

/* Makes the filter from the words and from the options that are short forms of conditions. */
static bool make_filter(struct watch_config *config, int n, char **words)
{
	const struct known known = { config->read, recording_described };
	struct filter *f = config->filter;

	if (!filter_parse_words(f, n, words, NULL, &known))
		return false;
	for (int i = 0; i < FILTER_OPTIONS; i++) {
		struct filter_node *condition = &config->options[i];

		condition->is_remote = i == OPTION_REMOTE || i == OPTION_RPORT;
		if (condition->op != FILTER_AND && !filter_add(f, condition))
			return false;
	}
	/* Names are no part of the rest: instances with other names are not followed. */
	config->has_rest = !filter_push_down(f, &config->request.filter);
	return filter_add_names(f, config->names.arg, config->names.n);
}

int watch_filter(struct watch_config *config, int n, char **words)
{
	struct watch_request *request = &config->request;

	if (!config->ring_size)
		config->ring_size = RING_SIZE_DEFAULT;
	if (!request->is_sampling_given && !request->interval_ns)
		request->sampling = BBR_SAMPLE_ROUND;
	config->filter = mem_new(1, sizeof(*config->filter));
	if (!make_filter(config, n, words))
		return EXIT_USAGE;
	if (config->filter->root < 0) {
		free(config->filter);
		config->filter = NULL;
	}
	return -1;
}

void watch_config_free(struct watch_config *config)
{
	if (config->filter)
		filter_free(config->filter);
	free(config->filter);
}

void watch_limits_begin(struct watch_limits *l, const struct event_source *s)
{
	if (l->duration_ns)
		l->end_ns = event_source_now_ns(s) + l->duration_ns;
}

/* From this time of the current events to the end. Another run may be of an earlier time. */
static __s64 left_ns(const struct watch_limits *l, const struct event_source *s, __u64 time_ns)
{
	return l->end_ns ? (__s64)(l->end_ns - time_ns - event_source_shift_ns(s)) : INT64_MAX;
}

__s64 watch_limits_left_ns(const struct watch_limits *l, const struct event_source *s)
{
	return left_ns(l, s, event_source_now_ns(s));
}

bool watch_limits_take(struct watch_limits *l, const struct event_source *s,
		       const struct bbr_event *e)
{
	l->is_over |= s->config.read && left_ns(l, s, e->time_ns) <= 0;
	if (watch_limits_are_reached(l)) {
		l->left_out++;
		return false;
	}
	l->taken++;
	return true;
}

bool watch_limits_are_reached(const struct watch_limits *l)
{
	return l->is_over || (l->count && l->taken >= l->count);
}

const struct option_def limit_options[] = {
	{ "count", 0, "N", option_count, offsetof(struct watch_limits, count),
	  "end after N events" },
	{ "duration", 0, "TIME", option_time, offsetof(struct watch_limits, duration_ns),
	  "end after this time: 10s" },
	{},
};

#define MEMBER(m) offsetof(struct watch_config, m)

const struct option_def watch_options[] = {
	{ "every", 0, "WHAT", option_every, MEMBER(request),
	  "which ACKs: ack (each), round (the first of each round trip; the\n"
	  "default of stream and record), a time like 100ms (at most one per\n"
	  "connection in it), transition (none, only changes of state)" },
	{ "ring", 0, "SIZE", option_ring_size, MEMBER(ring_size),
	  "size of the ring buffer between kernel and bbrmon, by default 4m" },
	{},
};

const struct option_def connection_options[] = {
	{ "remote", 0, "PREFIX", option_host, MEMBER(options[OPTION_REMOTE]),
	  "only connections with a remote address in PREFIX: 10.0.0.0/8,\n"
	  "2001:db8::1" },
	{ "local", 0, "PREFIX", option_host, MEMBER(options[OPTION_LOCAL]),
	  "only connections with a local address in PREFIX" },
	{ "rport", 0, "PORT", option_port, MEMBER(options[OPTION_RPORT]),
	  "only connections with this remote port" },
	{ "lport", 0, "PORT", option_port, MEMBER(options[OPTION_LPORT]),
	  "only connections with this local port" },
	{ "name", 0, "NAME", option_append, MEMBER(names),
	  "only this instance, or bbr, the kernel's own (repeat for\n"
	  "several); by default all, also those loaded later" },
	{},
};

const struct privileges_change of_reading[] = {
	{ "read", .spares = PRIVILEGES_ALL, .may = READ_FILE },
	{},
};

const struct option_def read_options[] = {
	{ "read", 'r', "FILE", option_text, MEMBER(read),
	  "read a recording instead of live connections" },
	{ "speed", 0, "N", option_speed, MEMBER(speed),
	  "speed of a recording: 1 is real time, 0 is as fast as possible" },
	{},
};

const struct option_def part_options[] = {
	{ "from", 0, "TIME", option_from, offsetof(struct recording_part, from_ns),
	  "only events from this time after the first one on: 10s" },
	{ "to", 0, "TIME", option_until, offsetof(struct recording_part, until_ns),
	  "only events until this time" },
	{},
};

static void print_kinds(const char *what, __u64 total, const __u64 *by_kind)
{
	const char *before = " (";

	fprintf(stderr, "  %-12s %llu", what, total);
	for (int i = 0; i < BBR_EV_MAX; i++) {
		if (!by_kind[i])
			continue;
		fprintf(stderr, "%s%s %llu", before, event_kind_name(i), by_kind[i]);
		before = ", ";
	}
	fprintf(stderr, "%s\n", total && before[0] == ',' ? ")" : "");
}

void watch_summary_print(const struct watch_totals *t, const __u64 *connections,
			 const char *left_out, __u64 n)
{
	const struct counters *c = &t->counters;
	const char *least = t->is_cut ? "at least " : "";

	fprintf(stderr, "  %-12s %s%.3fs\n", "watched", least, t->watched_ns / (double)NS_PER_S);
	if (t->unwatched_ns)
		fprintf(stderr,
			"  %-12s %.3fs: bbrmon or the machine was stopped, or its output was "
			"blocked\n",
			"not watched", t->unwatched_ns / (double)NS_PER_S);
	if (connections)
		fprintf(stderr, "  %-12s %llu\n", "connections", *connections);
	fprintf(stderr, "  %-12s %s%llu\n", "ACKs", least, c->acks);
	print_kinds("events", counters_received(c), c->received);
	if (c->not_matched)
		fprintf(stderr, "  %-12s %llu\n", "not matched", c->not_matched);
	if (n)
		fprintf(stderr, "  %-12s %llu\n", left_out, n);
	print_kinds("dropped", counters_drops(c), c->drops);
}

static void open_kinds(struct json *j, const char *key, __u64 total, const __u64 *by_kind)
{
	json_open_object(j, key);
	for (int i = 0; i < BBR_EV_KINDS; i++)
		json_add_int(j, event_kind_name(i), by_kind[i]);
	json_add_int(j, "total", total);
}

void watch_summary_begin(struct json *j, const struct watch_totals *t)
{
	const struct counters *c = &t->counters;

	json_begin(j, stdout);
	json_open_object(j, "summary");
	json_add_int(j, "watched_ms", t->watched_ns / NS_PER_MS);
	json_add_int(j, "unwatched_ms", t->unwatched_ns / NS_PER_MS);
	json_add_bool(j, "cut_off", t->is_cut);
	json_add_int(j, "acks", c->acks);
	json_add_int(j, "seq", c->seq);
	open_kinds(j, "events", counters_received(c), c->received);
	json_close(j);
	open_kinds(j, "drops", counters_drops(c), c->drops);
	json_add_int(j, "unknown", c->drops_unknown);
	json_close(j);
}

void watch_summary_end(struct json *j)
{
	json_close(j);
	json_end(j);
}
