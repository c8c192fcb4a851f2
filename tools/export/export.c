// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon export: metrics for Prometheus.
 *
 * One thread reads the ring, answers HTTP and reads the connections' state when a client asks for
 * metrics.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "cli/options.h"
#include "event/event.h"
#include "experiment/results/study.h"
#include "filter/filter.h"
#include "http.h"
#include "kernel/clock.h"
#include "kernel/netns.h"
#include "metrics.h"
#include "output_file.h"
#include "sockets/sockets.h"
#include "stream/event_source.h"
#include "verbs.h"

/* Not a port of another known exporter: Prometheus' list of 9100 to 9999 is full. */
#define DEFAULT_LISTEN "127.0.0.1:10227"
#define SETTLE_NS NS_PER_S
#define READING_NS NS_PER_S /* at most one reading of all connections in this time */
#define LOOP_MS 250 /* short enough to keep the lease of the ring */
#define DRAIN_STEP 64 /* connections that are read between two polls of the ring */
#define DRAIN_POLLS 64 /* of the ring at once: it may never be empty */

struct export
{
	struct watch_config config;
	struct http_address listen;
	const char *web_config;
	bool once;
	enum group_by by;
	__u64 largest; /* groups; 0: GROUPS_LARGEST */

	struct metrics metrics;
	struct rule_counts rules;
	struct experiments experiments;
	struct event_source source;
	struct sockets sockets;
	struct http http;
	__u64 settled_ns, read_ns; /* when that was done last */
	__u64 read; /* connections, by all readings so far */
	bool *is_seen; /* for each of the names: has a connection had it? */
	const char *unread; /* what the last reading failed to read, if no message said so */
	bool read_all; /* the last reading was possible and complete */
	int ret; /* of the source */
};

/* If bbrmon was stopped, nobody watched in the meantime. */
static void settle(struct export *x)
{
	__u64 now = now_ns(), since = now - x->settled_ns;

	if (since < SETTLE_NS)
		return;
	metrics_settle(&x->metrics, now, since < LEASE_NS);
	x->settled_ns = now;
}

/* An event so late shows that bbrmon was stopped since settle() ran. */
static void settle_late(struct export *x, const struct bbr_event *e)
{
	if (!x->once && !x->config.read && e->time_ns >= x->settled_ns + LEASE_NS)
		settle(x);
}

static bool note_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct export *x = ctx;

	settle_late(x, e);
	metrics_note(&x->metrics, origin, e);
	return true;
}

/* Reads the ring until it is empty, or for a while. */
static void drain(struct export *x)
{
	bool idle = false;

	for (int i = 0; i < DRAIN_POLLS && !idle && !x->ret; i++) {
		settle(x);
		x->ret = event_source_poll(&x->source, 0, &idle);
	}
}

static bool handle_socket(void *ctx, const struct origin *origin, const struct bbr_snapshot *snap)
{
	struct export *x = ctx;

	if (x->once)
		sockets_note_name(origin, &x->config.names, x->is_seen);
	/* A reading has all connections; events come only from those that were asked for. */
	if (is_wanted(&x->config, origin, &snap->event)) {
		settle_late(x, &snap->event);
		metrics_note_socket(&x->metrics, origin, snap);
		rule_counts_note(&x->rules, origin->id, snap);
	}
	/* A reading of very many connections must not make the ring overflow. */
	if (!x->once && ++x->read % DRAIN_STEP == 0 && !monitor_rest_ms(&x->source.monitor))
		drain(x);
	return true;
}

static void read_sockets(struct export *x)
{
	bool has_rules = !rule_counts_begin(&x->rules, &x->config.names);
	int ret;

	metrics_begin_reading(&x->metrics, now_ns());
	ret = sockets_read(&x->sockets, NULL, handle_socket, x);
	metrics_end_reading(&x->metrics, !ret);
	x->unread = !has_rules				? "rules" :
		    experiments_update(&x->experiments) ? "experiments" :
							  NULL;
	x->read_all =
		!x->unread && !ret && !(x->sockets.has_unseen_netns && sockets_unseen(&x->sockets));
	x->read_ns = now_ns();
}

static void print_build(struct openmetrics *om)
{
	static const struct om_family family = { "bbrmon_build", OM_INFO, NULL,
						 "This exporter's version." };
	char abi[16];
	const struct om_label labels[] = { { "version", BBR_VERSION }, { "abi", abi }, {} };

	snprintf(abi, sizeof(abi), "%u.%u", BBR_ABI_MAJOR, BBR_ABI_MINOR);
	om_family(om, &family);
	om_number(om, &family, labels, 1);
}

static void print_kinds(struct openmetrics *om, const struct om_family *family,
			const __u64 by_kind[BBR_EV_MAX])
{
	for (int i = 0; i < BBR_EV_KINDS; i++) {
		const struct om_label labels[] = { { "kind", event_kind_name(i) }, {} };

		om_number(om, family, labels, by_kind[i]);
	}
}

static void print_plain(struct openmetrics *om, const char *name, enum om_type type,
			const char *unit, const char *help, double value)
{
	const struct om_family family = { name, type, unit, help };
	const struct om_label none = {};

	om_family(om, &family);
	om_number(om, &family, &none, value);
}

/* How many events were received, and how many were missed. */
static void print_watching(const struct export *x, struct openmetrics *om)
{
	static const struct om_family events = { "bbrmon_events", OM_COUNTER, NULL,
						 "Events that were received." };
	static const struct om_family drops = {
		"bbrmon_dropped_events", OM_COUNTER, NULL,
		"Events that were lost because the ring buffer was full."
	};
	const struct om_label unknown[] = { { "kind", "unknown" }, {} };
	const struct watch_totals t = event_source_totals(&x->source);

	om_family(om, &events);
	print_kinds(om, &events, t.counters.received);
	om_family(om, &drops);
	print_kinds(om, &drops, t.counters.drops);
	om_number(om, &drops, unknown, t.counters.drops_unknown);
	print_plain(om, "bbrmon_acks", OM_COUNTER, NULL,
		    "ACKs of the connections that are watched, sampled or not.", t.counters.acks);
	print_plain(om, "bbrmon_watched_seconds", OM_COUNTER, "seconds",
		    "Time in which instances were watched.", t.watched_ns / (double)NS_PER_S);
	print_plain(om, "bbrmon_unwatched_seconds", OM_COUNTER, "seconds",
		    "Time in which they were not, because bbrmon was stopped or had no place.",
		    t.unwatched_ns / (double)NS_PER_S);
	print_plain(
		om, "bbrmon_untracked_events", OM_COUNTER, NULL,
		"Events that were not counted because there was no memory for their connection.",
		x->metrics.untracked);
}

static void print_live(struct export *x, struct openmetrics *om)
{
	__u64 began = now_ns();

	if (!x->once)
		drain(x);
	if (began - x->read_ns >= READING_NS)
		read_sockets(x);
	metrics_print(&x->metrics, om, !x->once);
	rule_counts_print(&x->rules, om);
	experiments_print(&x->experiments, om, !x->once);
	if (!x->once)
		print_watching(x, om);
	print_plain(om, "bbrmon_unseen_users", OM_GAUGE, NULL,
		    "Sockets that use an instance and were not read: in network namespaces that "
		    "cannot be found from here.",
		    sockets_unseen(&x->sockets));
	print_plain(om, "bbrmon_reading_complete", OM_GAUGE, NULL,
		    "1 if the state of all connections could be read.", x->read_all);
	print_plain(om, "bbrmon_scrape_duration_seconds", OM_GAUGE, "seconds",
		    "Time taken to make these metrics.", (now_ns() - began) / (double)NS_PER_S);
	print_build(om);
	om_end(om);
}

/* "a, b;q=0.5": true if one of the types is ours, in our version, and not refused. */
static bool accepts_openmetrics(const char *accept)
{
	static const char type[] = "application/openmetrics-text";

	for (; *accept; accept += strcspn(accept, ","), accept += *accept == ',') {
		const char *version, *q, *end;

		accept += strspn(accept, " \t");
		if (strncmp(accept, type, strlen(type)))
			continue;
		end = accept + strcspn(accept, ",");
		version = strstr(accept, "version=");
		q = strstr(accept, "q=");
		if ((!version || version > end || !strncmp(version, "version=1.0.0", 13)) &&
		    (!q || q > end || strtod(q + 2, NULL) > 0))
			return true;
	}
	return false;
}

static const char index_page[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\"><head><meta charset=\"utf-8\"><title>bbrmon export</title></head>\n"
	"<body><h1>bbrmon export</h1>\n"
	"<p>Metrics of the TCP connections that use BBR: <a href=\"/metrics\">/metrics</a></p>\n"
	"<p>bpf-bbr " BBR_VERSION "</p></body></html>\n";

static bool make_page(void *ctx, const char *path, const char *accept, struct http_page *page)
{
	struct openmetrics om = { .classic = !accepts_openmetrics(accept) };
	struct export *x = ctx;

	if (!strcmp(path, "/")) {
		page->type = "text/html; charset=utf-8";
		page->text = strdup(index_page);
		page->size = strlen(index_page);
		return true;
	}
	if (strcmp(path, "/metrics"))
		return false;
	page->type = om.classic ? CLASSIC_CONTENT_TYPE : OPENMETRICS_CONTENT_TYPE;
	om.out = open_memstream(&page->text, &page->size);
	if (!om.out)
		return true;
	print_live(x, &om);
	if (fclose(om.out)) {
		free(page->text);
		page->text = NULL;
	}
	return true;
}

static void serve(struct export *x)
{
	printf("%s/metrics\n", x->http.url);
	fflush(stdout);
	x->settled_ns = now_ns();
	while (!is_interrupted() && !x->ret) {
		x->ret = event_source_wait(&x->source, http_fd(&x->http),
					   http_wait_ms(&x->http, LOOP_MS));
		if (x->ret)
			break;
		drain(x);
		http_run(&x->http);
	}
	http_close(&x->http);
}

static int run_live(struct export *x)
{
	int ret = sockets_open(&x->sockets);

	if (ret)
		return ret;
	ret = event_source_open(&x->source, &x->config);
	if (!ret) {
		/* After the source, whose guardian would inherit the socket. */
		ret = http_open(&x->http, &x->listen, x->web_config, make_page, x);
		if (!ret)
			serve(x);
		event_source_stop(&x->source);
		event_source_close(&x->source);
	}
	sockets_close(&x->sockets);
	return ret ? ret : x->ret;
}

/* Without events there are only gauges: a counter would begin with 0 each time. */
static int run_once(struct export *x)
{
	struct openmetrics om = { .out = stdout, .classic = true };
	int ret = sockets_open(&x->sockets);

	if (ret)
		return ret;
	print_live(x, &om);
	if (x->sockets.has_unseen_netns && sockets_unseen(&x->sockets))
		netns_say_unseen(netns_unseen(), "export");
	sockets_close(&x->sockets);
	if (x->unread)
		err("export: the %s of an instance cannot be read", x->unread);
	ret = output_close(stdout, NULL);
	if (!ret)
		ret = sockets_check_names(&x->config.names, x->is_seen);
	return ret || x->read_all ? ret : EXIT_REFUSED;
}

static int run_recording(struct export *x)
{
	struct openmetrics om = { .out = stdout, .classic = true };
	int ret = event_source_open(&x->source, &x->config);

	if (ret)
		return ret;
	ret = event_source_read_all(&x->source);
	metrics_settle(&x->metrics, event_source_now_ns(&x->source), true);
	if (x->metrics.untracked)
		err("%llu events are not counted: more than %u connections were open at once",
		    x->metrics.untracked, RECORDED_TRACKED_MAX);
	if (x->metrics.series.is_full)
		err("more than %d modes or fields of algorithms: the others have no metrics",
		    SERIES_FIELDS);
	if (!ret) {
		metrics_print(&x->metrics, &om, true);
		print_watching(x, &om);
		print_build(&om);
		ret = output_close(stdout, NULL);
	}
	event_source_close(&x->source);
	return ret;
}

static int run(struct export *x)
{
	int ret;

	x->config.handle = note_event;
	x->config.ctx = x;
	metrics_init(&x->metrics, !x->config.read);
	x->metrics.groups.grouping = (struct grouping){ .by = x->by, .has_no_pids = true };
	x->metrics.groups.largest = x->largest ? x->largest : GROUPS_LARGEST;
	x->is_seen = mem_new(x->config.names.n, sizeof(*x->is_seen));
	interrupt_catch();
	if (x->config.read)
		ret = run_recording(x);
	else
		ret = x->once ? run_once(x) : run_live(x);
	metrics_free(&x->metrics);
	rule_counts_free(&x->rules);
	experiments_close(&x->experiments);
	free(x->is_seen);
	return ret;
}

#define OPTION(member) offsetof(struct export, member)

static const struct option_def options[] = {
	{ "listen", 'l', "ADDR:PORT", http_parse_address, OPTION(listen),
	  "address to listen on: " DEFAULT_LISTEN " by default, [::1]:9000;\n"
	  "port 0 picks a free one and prints it" },
	{ "web-config", 0, "FILE", option_text, OPTION(web_config),
	  "TLS and passwords: the file that Prometheus' exporters call\n"
	  "web.config.file" },
	{ "once", 0, NULL, option_flag, OPTION(once),
	  "print the gauges, without counters, and exit" },
	{ "by", 0, "WHAT", option_group_by, OPTION(by),
	  "also metrics by cgroup, process, prefix (remote, /24 or /64) or\n"
	  "netns" },
	{ "largest", 0, "N", option_largest, OPTION(largest),
	  "with --by: export N groups (20), and the rest as other" },
	{},
};

static const struct option_group groups[] = {
	{ options, 0 },
	{ watch_options, OPTION(config) },
	{ connection_options, OPTION(config) },
	{ read_options, OPTION(config) },
	{},
};

static void init(void *options)
{
	struct export *x = options;

	http_parse_address("--listen", DEFAULT_LISTEN, &x->listen);
	x->config.request.sampling = BBR_SAMPLE_TIME;
	x->config.request.interval_ns = NS_PER_S;
}

static int run_verb(void *options, int argc, char **argv)
{
	struct export *x = options;
	const struct conflict conflicts[] = {
		NO_GROUPS_IN(x->config.read, x->by),
		NO_LARGEST(x->largest, x->by),
		{},
	};
	int ret = watch_filter(&x->config, argc - 1, argv + 1);

	if (ret < 0)
		ret = refuse_conflicts("export", conflicts);
	if (!ret)
		ret = run(x);
	watch_config_free(&x->config);
	return ret;
}

static const struct privileges_change changes[] = {
	/* As for snapshot: /proc/PID/fd and the paths of cgroups. */
	{ "by", .more = FIND_CGROUPS },
	{ "read", .spares = PRIVILEGES_ALL, .may = READ_FILE },
	{},
};

VERB(export,
     NEEDS(WATCH | EVERY_NETNS, .may = CAP(NET_BIND_SERVICE) | CGROUP_PROGRAMS | FIND_CGROUPS,
	   .changes = changes),
     .args = "[FILTER]", .brief = "serve metrics to Prometheus over HTTP",
     .about = "Serves metrics of the connections that use BBR to Prometheus, at /metrics. "
	      "By default\n"
	      "--every is 1s. From a recording it prints the metrics at its end.",
     .groups = groups, .max_args = FILTER_WORDS, .size = sizeof(struct export), .init = init,
     .run = run_verb);
