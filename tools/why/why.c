// SPDX-License-Identifier: GPL-2.0-only
/* bbrmon why: what limits each connection. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/options.h"
#include "connection.h"
#include "event/event.h"
#include "filter/filter.h"
#include "kernel/clock.h"
#include "kernel/instance.h"
#include "kernel/netns.h"
#include "output_file.h"
#include "sockets/sockets.h"
#include "stream/event_source.h"
#include "verbs.h"

#define FOR_DEFAULT_NS (5 * NS_PER_S)

/*
 * The window has this many readings, but readings take no more than a tenth of the time, and a
 * connection's state is not read more often than a round trip of some length changes it.
 */
#define READINGS 50
#define PAUSE_LEAST_NS (20 * NS_PER_MS)
#define SHARE 10

#define WHY_CONNECTIONS_MAX (1u << 17) /* of a recording: 1.2 kB each, with its result */

struct asking {
	bool json, with_idle;
	const char *netns, *read;
	__u64 for_ns; /* 0: FOR_DEFAULT_NS */
	struct recording_part part;
	struct value_list names;
	__u64 largest; /* groups; 0: GROUPS_LARGEST */
	struct grouping grouping;

	struct filter filter;
	struct why_connections connections;

	/* Of this machine. */
	struct kernel_counts counts;
	struct sockets sockets;
	struct cpus cpus;
	struct profile_bounds bounds;
	unsigned int round; /* of the present reading, from 1 */
	bool has_unseen; /* connections in namespaces that cannot be found from here */

	/* Of a recording. */
	struct event_source source;
	__u64 run; /* of the connections in the map */
	__u64 start_ns; /* the first event of this run */
	bool has_run, has_time; /* there are events, and some in this part */
	__u64 left_out; /* events of more connections than WHY_CONNECTIONS_MAX */
};

/* ---- the connections of this machine, read again and again */

static struct why_connection *find_or_add(struct asking *a, __u64 cookie)
{
	struct conn_key key = conn_key_of_id(0, cookie);
	struct why_connection *c = why_connection_get(&a->connections, &key, ~0ul);

	c->cookie = cookie;
	return c;
}

/* What BBR knows of a connection. What the kernel counts of it comes next. */
static bool take_bbr(void *ctx, const struct origin *origin, const struct bbr_snapshot *snap)
{
	struct asking *a = ctx;
	struct why_connection *c = find_or_add(a, snap->cookie);

	why_reading_of_event(&c->of_bbr, origin->algorithm, &snap->event);
	if (why_connection_note_profile(c, origin, &snap->event))
		c->of_bbr.profile_bound =
			profile_bound(&a->bounds, snap->event.tag, snap->event.profile);
	c->round = a->round;
	c->is_wanted |= filter_matches(&a->filter, origin, &snap->event, snap);
	return !is_interrupted();
}

static bool take_counts(void *ctx, const struct why_socket *s)
{
	struct asking *a = ctx;
	struct why_connection *c = find_or_add(a, s->snap.cookie);
	struct origin origin = { .algorithm = &why_no_bbr };
	struct why_reading r;

	why_connection_note(c, s->name, &s->snap.event);
	c->cgroup = s->snap.cgroup;
	if (s->snap.inode) /* a closed socket still sends for the process that had it */
		c->inode = s->snap.inode;
	why_reading_of_socket(&r, s);
	memcpy(origin.name, s->name, sizeof(origin.name));
	if (c->round == a->round)
		why_reading_merge(&r, &c->of_bbr);
	else
		c->is_wanted |= filter_matches(&a->filter, &origin, &s->snap.event, &s->snap);
	why_window_add(&c->window, &r);
	return !is_interrupted();
}

static int follow(struct asking *a)
{
	__u64 for_ns = a->for_ns ? a->for_ns : FOR_DEFAULT_NS;
	__u64 end = now_ns() + for_ns, began, now, pause;
	bool is_last = false;
	int ret;

	for (;;) {
		began = now_ns();
		a->round++;
		ret = sockets_read(&a->sockets, a->netns, take_bbr, a);
		if (!ret && !is_interrupted())
			ret = kernel_counts_read(&a->counts, a->netns, take_counts, a);
		now = now_ns();
		if (ret || is_last || is_interrupted())
			return ret;
		pause = for_ns / READINGS;
		if (pause < PAUSE_LEAST_NS)
			pause = PAUSE_LEAST_NS;
		if (pause < SHARE * (now - began))
			pause = SHARE * (now - began);
		/*
		 * Of different lengths: an application that does the same ten times a second would
		 * otherwise be seen at the same moment each time.
		 */
		pause = pause / 2 + random() % (pause + 1);
		is_last = now + pause >= end;
		if (is_last)
			pause = end > now ? end - now : 0;
		nanosleep(&(struct timespec){ pause / NS_PER_S, pause % NS_PER_S }, NULL);
	}
}

static int read_live(struct asking *a)
{
	int ret = sockets_open(&a->sockets);

	if (ret)
		return ret;
	srandom(now_ns());
	ret = kernel_counts_open(&a->counts);
	if (!ret) {
		cpus_read(&a->cpus);
		ret = follow(a);
	}
	if (!ret)
		cpus_read(&a->cpus);
	for (int i = 0; i < a->sockets.n_instances; i++) {
		const struct sockets_instance *inst = &a->sockets.instances[i];

		a->has_unseen |= inst->unseen && names_have(&a->names, inst->origin.name);
	}
	a->has_unseen &= !a->netns && a->sockets.has_unseen_netns;
	kernel_counts_close(&a->counts);
	sockets_close(&a->sockets);
	profile_bounds_free(&a->bounds);
	grouping_read(&a->grouping);
	return ret;
}

/* ---- the connections of a recording, of each of its runs */

static bool note_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct conn_key key = conn_key_of(origin, e);
	struct asking *a = ctx;
	struct recording_run run = event_source_run(&a->source);
	struct why_connection *c;
	struct why_reading reading;
	__u64 since;

	/* A run of the recorder did not see the connections of the one before. */
	if (!a->has_run || a->run != run.id) {
		why_connections_cut(&a->connections);
		a->has_run = true;
		a->run = run.id;
		a->start_ns = e->time_ns;
	}
	since = e->time_ns > a->start_ns ? e->time_ns - a->start_ns : 0;
	if (since < a->part.from_ns || (a->part.until_ns && since > a->part.until_ns))
		return true;
	a->has_time = true;
	/* At its end a connection has forgotten its state. */
	if (e->kind == BBR_EV_END || !event_has_state(e))
		return true;
	c = why_connection_get(&a->connections, &key, WHY_CONNECTIONS_MAX);
	if (!c) {
		a->left_out++;
		return true;
	}
	why_connection_note(c, origin->name, e);
	why_connection_note_profile(c, origin, e);
	c->is_recorded = true;
	c->is_wanted |= filter_matches(&a->filter, origin, e, NULL);
	why_reading_of_event(&reading, origin->algorithm, e);
	why_window_add(&c->window, &reading);
	return true;
}

static int read_recorded(struct asking *a)
{
	const struct watch_config config = {
		.request.sampling = BBR_SAMPLE_ACK, .handle = note_event, .ctx = a, .read = a->read
	};
	int ret = event_source_open(&a->source, &config);

	if (ret)
		return ret;
	ret = event_source_read_all(&a->source);
	event_source_close(&a->source);
	if (a->left_out)
		err("%llu events are left out: the recording has more than %u connections",
		    a->left_out, WHY_CONNECTIONS_MAX);
	return ret;
}

/* ---- answers */

/* Nothing is shown: why? */
static void say_nothing(const struct asking *a)
{
	for (size_t i = 0; i < a->connections.n; i++)
		if (a->connections.list[i]->is_wanted) {
			err(a->read ? "no connection has two events with BBR's state" :
				      "no connection was read twice; watch longer: --for");
			return;
		}
	err("%s", !a->read || a->connections.n ? "no connection matches" :
		  !a->has_run		       ? "the recording has no events" :
		  !a->has_time		       ? "no events in this time" :
						 "no event has BBR's state");
}

static bool is_seen(const struct asking *a, const char *name)
{
	for (size_t i = 0; i < a->connections.n; i++)
		if (!strcmp(a->connections.list[i]->name, name))
			return true;
	return false;
}

/* Checks that names without a connection are names of congestion controls that the kernel has. */
static int check_names(const struct asking *a)
{
	bool is_known = !a->read && !access(CONGESTION_CONTROLS, R_OK);

	for (int i = 0; i < a->names.n && is_known; i++) {
		const char *name = a->names.arg[i];

		if (!is_seen(a, name) && strcmp(name, KERNEL_BBR) &&
		    !congestion_control_exists(name))
			return err_nothing("%s: no congestion control with this name is loaded",
					   name);
	}
	return EXIT_DONE;
}

/* Returns an exit status. is_explained: it was said why nothing matches. */
static int print_results(struct asking *a, const struct why_results *r, bool is_explained)
{
	struct groups g AUTO(groups_free) = {};
	bool by = a->grouping.by;
	size_t n;

	if (by)
		why_groups_make(&g, r, &a->grouping, a->largest ? a->largest : GROUPS_LARGEST);
	n = by ? g.n : r->n;
	for (size_t i = 0; i < n; i++) {
		if (i && !a->json)
			putchar('\n');
		if (by && a->json)
			why_print_group_json(stdout, g.list[i], a->grouping.by);
		else if (by)
			why_print_group_text(stdout, g.list[i]);
		else if (a->json)
			why_print_json(stdout, &r->list[i]);
		else
			why_print_text(stdout, &r->list[i]);
	}
	if (r->idle)
		err("%u idle connection%s not shown; --idle shows them", r->idle,
		    r->idle == 1 ? " is" : "s are");
	if (r->in_sockmaps)
		err("%u of these are in a sockmap: data that its BPF program redirects does not go "
		    "through TCP",
		    r->in_sockmaps);
	if (n || r->idle)
		return EXIT_DONE;
	if (!is_explained)
		say_nothing(a);
	return a->read ? EXIT_NOTHING : EXIT_DONE; /* a recording has nothing to judge */
}

static int answer(struct asking *a)
{
	struct why_results r AUTO(why_results_free);
	int ret, error, names;

	why_results_make(&r, &a->connections, a->read ? NULL : &a->cpus,
			 a->with_idle || a->grouping.by);
	names = check_names(a);
	ret = print_results(a, &r, names);
	error = output_close(stdout, NULL);
	return error ? error : names ? names : ret;
}

/* ---- options */

/* Refuses options that do not go together. */
static int check_options(const struct asking *a)
{
	const struct conflict conflicts[] = {
		{ a->read && a->netns, "--netns",
		  "it belongs to this machine, and the recording may come from another",
		  "remove it, or --read" },
		NO_GROUPS_IN(a->read, a->grouping.by),
		{ a->read && a->filter.needs_socket, "filter",
		  "recordings have no state, fwmark, cgroup or dev",
		  "remove these conditions, or --read" },
		{ a->read && a->for_ns, "--for", "it is how long live connections are watched",
		  "--from and --to select a part of the recording" },
		NO_LARGEST(a->largest, a->grouping.by),
		{ !a->read && (a->part.from_ns || a->part.until_ns), "--from and --to",
		  "they are times in a recording", "add --read FILE, or use --for" },
		NO_EMPTY_PART(a->part),
		{},
	};

	return refuse_conflicts("why", conflicts);
}

#define MEMBER(m) offsetof(struct asking, m)

static const struct option_def options[] = {
	{ "json", 'j', NULL, option_flag, MEMBER(json), "print one JSON object per line" },
	{ "for", 0, "TIME", option_time, MEMBER(for_ns),
	  "how long to watch, by default 5s; Ctrl-C ends it early" },
	{ "by", 0, "WHAT", option_group_by, MEMBER(grouping.by),
	  "print totals by cgroup, process, prefix (remote, /24 or /64) or netns" },
	{ "largest", 0, "N", option_largest, MEMBER(largest),
	  "with --by: show the first N groups (20), and the sum of the rest" },
	{ "idle", 0, NULL, option_flag, MEMBER(with_idle),
	  "also show connections that sent nothing and had nothing to send" },
	{ "netns", 'N', "NAME", option_text, MEMBER(netns), "only this network namespace" },
	{ "name", 0, "NAME", option_append, MEMBER(names),
	  "only this congestion control (repeat for several)" },
	{ "read", 'r', "FILE", option_text, MEMBER(read),
	  "judge a recording, which has less data, instead of live connections" },
	{},
};

static const struct option_group groups[] = { { options, 0 }, { part_options, MEMBER(part) }, {} };

static int run_verb(void *options, int argc, char **argv)
{
	const struct filter_system system = { .cgroup = cgroup_id };
	struct asking *a = options;
	const struct known known = { a->read, recording_described };
	int ret = EXIT_USAGE;

	if (filter_parse_words(&a->filter, argc - 1, argv + 1, &system, &known) &&
	    filter_add_names(&a->filter, a->names.arg, a->names.n))
		ret = check_options(a);
	if (!ret) {
		interrupt_catch();
		ret = a->read ? read_recorded(a) : read_live(a);
	}
	if (!ret)
		ret = answer(a);
	if (!ret && a->has_unseen) {
		netns_say_unseen(netns_unseen(), "why");
		ret = EXIT_REFUSED;
	}
	filter_free(&a->filter);
	why_connections_free(&a->connections);
	cpus_free(&a->cpus);
	grouping_free(&a->grouping);
	return ret;
}

static const struct privileges_change changes[] = {
	/* As for snapshot: /proc/PID/fd, which only its owner can list, and the paths of cgroups. */
	{ "by", .more = EVERY_NETNS | FIND_CGROUPS },
	{ "netns", .spares = EVERY_NETNS },
	{ "read", .spares = PRIVILEGES_ALL, .may = READ_FILE },
	{},
};

VERB(why, NEEDS(WATCH | EVERY_NETNS, .changes = changes), .args = "[FILTER]",
     .brief = "say what limits each connection",
     .about = "Watches connections for some seconds and says what limited each of them, for which\n"
	      "share of the time, and what to do. It shows connections of any congestion control,\n"
	      "with most detail for BBR. FILTER uses the syntax of ss(8).",
     .groups = groups, .max_args = FILTER_WORDS, .size = sizeof(struct asking), .run = run_verb);
