// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon stream: one line for each event.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "address.h"
#include "clock.h"
#include "connections.h"
#include "err.h"
#include "event.h"
#include "monitor.h"
#include "verbs.h"
#include "watch_options.h"

#define OUTPUT_BUFFER (256 << 10)
#define STDOUT_CHECK_MS 500

struct stream {
	struct monitor_config config;
	bool json;
	__u64 count; /* 0: no limit */
	__u64 duration_ns; /* 0: no limit */

	struct text_style style;
	struct connections connections;
	__u64 end_ns; /* of the duration; 0: no limit */
	__u64 shown;
	__u64 not_shown; /* received after the last line: what --count cut off, or a closed stdout */
	__u64 said_drops; /* so many have been reported */
	__u64 said_ns;
	int write_error; /* errno of stdout, or 0 */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/*
 * The first signal asks for an orderly end. The second has its default effect, because the first has
 * none while nobody reads our output: a write that a signal cuts short would tear a line.
 */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART | SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void print_help(void)
{
	printf("usage: bbrmon stream [options]\n"
	       "\n"
	       "Prints one line for each event of the connections that use a loaded bpf_bbr "
	       "instance,\n"
	       "until it is interrupted, and then a summary.\n"
	       "\n"
	       "  -j, --json           one JSON object a line\n"
	       "      --every WHAT     which ACKs: ack (each), round (the first of each round "
	       "trip; the\n"
	       "                       default), a time like 100ms (at most one a connection in "
	       "it),\n"
	       "                       transition (none, only changes of state)\n"
	       "      --remote PREFIX  connections whose remote address is in it: 10.0.0.0/8, "
	       "2001:db8::1\n"
	       "      --local PREFIX   the same for the local address\n"
	       "      --rport PORT     connections with this remote port\n"
	       "      --lport PORT     connections with this local port\n"
	       "      --name NAME      this instance (may be given more than once); otherwise all, "
	       "and\n"
	       "                       those that are loaded later\n"
	       "      --ring SIZE      ring buffer between kernel and bbrmon, 4m unless told\n"
	       "      --count N        end after N events\n"
	       "      --duration TIME  end after this time: 10s\n"
	       "  -v, --verbose        show messages of libbpf as well\n"
	       "  -h, --help           this help\n"
	       "      --version        the version\n");
}

/* Returns -1 to go on, or an exit status. */
static int parse_options(int argc, char **argv, struct stream *s)
{
	enum {
		EVERY = 256,
		REMOTE,
		LOCAL,
		RPORT,
		LPORT,
		NAME,
		RING,
		COUNT,
		DURATION,
		VERSION,
	};
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "every", required_argument, NULL, EVERY },
		{ "remote", required_argument, NULL, REMOTE },
		{ "local", required_argument, NULL, LOCAL },
		{ "rport", required_argument, NULL, RPORT },
		{ "lport", required_argument, NULL, LPORT },
		{ "name", required_argument, NULL, NAME },
		{ "ring", required_argument, NULL, RING },
		{ "count", required_argument, NULL, COUNT },
		{ "duration", required_argument, NULL, DURATION },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, VERSION },
		{ NULL, 0, NULL, 0 },
	};
	struct bbr_filter *filter = &s->config.request.filter;
	bool ok = true;
	int c;

	while (ok && (c = getopt_long(argc, argv, ":jvh", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			s->json = true;
			break;
		case EVERY:
			ok = parse_every(optarg, &s->config.request);
			break;
		case REMOTE:
			ok = parse_prefix("--remote", optarg, filter->raddr, filter->rmask);
			break;
		case LOCAL:
			ok = parse_prefix("--local", optarg, filter->laddr, filter->lmask);
			break;
		case RPORT:
			ok = parse_port("--rport", optarg, &filter->rport);
			break;
		case LPORT:
			ok = parse_port("--lport", optarg, &filter->lport);
			break;
		case NAME:
			s->config.names[s->config.n_names++] = optarg;
			break;
		case RING:
			ok = parse_ring_size(optarg, &s->config.ring_size);
			break;
		case COUNT:
			ok = parse_count(optarg, &s->count);
			break;
		case DURATION:
			ok = parse_time("--duration", optarg, &s->duration_ns);
			break;
		case 'v':
			err_init("bbrmon", true);
			break;
		case 'h':
			print_help();
			return EXIT_DONE;
		case VERSION:
			print_version();
			return EXIT_DONE;
		case ':':
			err("stream: %s: its value is missing", argv[optind - 1]);
			ok = false;
			break;
		default:
			err("stream: %s: not an option", argv[optind - 1]);
			ok = false;
		}
	}
	if (ok && optind < argc) {
		err("stream: %s: takes no arguments", argv[optind]);
		ok = false;
	}
	if (ok)
		return -1;
	remedy("bbrmon stream --help lists the options");
	return EXIT_USAGE;
}

static bool is_done(const struct stream *s)
{
	return interrupted || s->write_error || (s->count && s->shown >= s->count);
}

static bool handle_event(void *ctx, const char *instance, const struct bbr_event *e)
{
	struct stream *s = ctx;

	connections_note(&s->connections, e);
	if (s->write_error || (s->count && s->shown >= s->count)) {
		s->not_shown++;
		return false;
	}
	errno = 0;
	if (s->json)
		event_print_json(stdout, instance, e);
	else
		event_print_text(stdout, &s->style, instance, e);
	s->shown++;
	if (ferror(stdout))
		s->write_error = errno ? errno : EIO;
	return !is_done(s);
}

static void flush(struct stream *s)
{
	errno = 0;
	if (fflush(stdout) && !s->write_error)
		s->write_error = errno ? errno : EIO;
}

/* Without an event to write we would not notice that the reader has gone. */
static void check_stdout(struct stream *s)
{
	struct pollfd fd = { .fd = STDOUT_FILENO };

	if (poll(&fd, 1, 0) > 0 && fd.revents & POLLERR)
		s->write_error = EPIPE;
}

static void report_drops(struct stream *s, const struct monitor *m)
{
	__u64 drops = monitor_drops(m), now = now_ns();

	if (drops <= s->said_drops || now - s->said_ns < NS_PER_S)
		return;
	err("%llu events dropped so far: ring too small or output too slow; "
	    "use --ring, --every or a filter",
	    drops);
	s->said_drops = drops;
	s->said_ns = now;
}

static int wait_ms(const struct stream *s, __u64 now)
{
	if (!s->end_ns || s->end_ns - now > STDOUT_CHECK_MS * NS_PER_MS)
		return STDOUT_CHECK_MS;
	return (s->end_ns - now) / NS_PER_MS + 1;
}

static int follow_events(struct stream *s, struct monitor *m)
{
	while (!is_done(s)) {
		__u64 now = now_ns(), shown = s->shown;
		bool idle;
		int status;

		if (s->end_ns && now >= s->end_ns)
			break;
		status = monitor_poll(m, wait_ms(s, now), &idle);
		if (status)
			return status;
		if (idle)
			flush(s);
		if (s->shown == shown)
			check_stdout(s);
		report_drops(s, m);
	}
	return EXIT_DONE;
}

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

static void print_summary_text(const struct stream *s, const struct monitor *m)
{
	const struct counters *c = &m->total;

	fprintf(stderr, "  %-12s %.3fs\n", "watched", m->watched_ns / (double)NS_PER_S);
	if (m->unwatched_ns)
		fprintf(stderr, "  %-12s %.3fs: bbrmon was stopped, or its output was blocked\n",
			"not watched", m->unwatched_ns / (double)NS_PER_S);
	fprintf(stderr, "  %-12s %llu\n", "connections", s->connections.seen);
	fprintf(stderr, "  %-12s %llu\n", "ACKs", c->acks);
	print_kinds("events", counters_received(c), c->received);
	if (s->not_shown)
		fprintf(stderr, "  %-12s %llu\n", "not shown", s->not_shown);
	print_kinds("dropped", counters_drops(c), c->drops);
}

static void add_number(struct json_object *o, const char *key, __u64 value)
{
	json_object_object_add(o, key, json_object_new_int64(value));
}

static struct json_object *kinds_object(__u64 total, const __u64 *by_kind)
{
	struct json_object *o = json_object_new_object();

	for (int i = 0; i < BBR_EV_KINDS; i++)
		add_number(o, event_kind_name(i), by_kind[i]);
	add_number(o, "total", total);
	return o;
}

static void print_summary_json(const struct stream *s, const struct monitor *m)
{
	const struct counters *c = &m->total;
	struct json_object *line = json_object_new_object(), *o = json_object_new_object();
	struct json_object *drops = kinds_object(counters_drops(c), c->drops);

	add_number(drops, "unknown", c->drops_unknown);
	json_object_object_add(line, "summary", o);
	add_number(o, "watched_ms", m->watched_ns / NS_PER_MS);
	add_number(o, "unwatched_ms", m->unwatched_ns / NS_PER_MS);
	add_number(o, "connections", s->connections.seen);
	add_number(o, "acks", c->acks);
	add_number(o, "seq", c->seq);
	json_object_object_add(o, "events", kinds_object(counters_received(c), c->received));
	json_object_object_add(o, "drops", drops);
	add_number(o, "not_shown", s->not_shown);
	printf("%s\n", json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN));
	json_object_put(line);
}

static void print_summary(struct stream *s, const struct monitor *m)
{
	__u64 accounted = counters_received(&m->total) + counters_drops(&m->total);

	if (!s->json)
		print_summary_text(s, m);
	else if (!s->write_error)
		print_summary_json(s, m);
	/* Not even a full ring or a stop explains that; somebody else writes to our slot. */
	if (accounted != m->total.seq)
		err("%llu events were counted, but %llu were received or dropped", m->total.seq,
		    accounted);
}

static int run(struct stream *s)
{
	const char *no_color = getenv("NO_COLOR");
	struct monitor *m = malloc(sizeof(*m));
	int status;

	if (!m) {
		err("cannot start: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	s->config.handle = handle_event;
	s->config.ctx = s;
	s->style.start_ns = now_ns();
	s->style.colour = isatty(STDOUT_FILENO) && !(no_color && *no_color);
	setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);

	catch_signals();
	status = monitor_open(m, &s->config);
	if (status)
		goto out;
	if (s->duration_ns)
		s->end_ns = now_ns() + s->duration_ns;
	status = follow_events(s, m);
	monitor_stop(m);
	flush(s);
	if (!status)
		print_summary(s, m);
	flush(s);
	monitor_close(m);
	connections_free(&s->connections);
	if (!status && s->write_error && s->write_error != EPIPE) {
		err("cannot write: %s", strerror(s->write_error));
		status = EXIT_REFUSED;
	}
out:
	free(m);
	return status;
}

int verb_stream(int argc, char **argv)
{
	struct stream s = {
		.config.request.sampling = BBR_SAMPLE_ROUND,
		.config.ring_size = RING_SIZE_DEFAULT,
	};
	int status;

	s.config.names = calloc(argc, sizeof(*s.config.names));
	if (!s.config.names) {
		err("cannot start: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	status = parse_options(argc, argv, &s);
	if (status < 0)
		status = have_caps("stream") ? run(&s) : EXIT_REFUSED;
	free(s.config.names);
	return status;
}
