// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon why: what limits each connection.
 */
#include <string.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/options.h"
#include "filter/filter.h"
#include "kernel/clock.h"
#include "kernel/instance.h"
#include "kernel/netns.h"
#include "groups.h"
#include "output_file.h"
#include "recording/replay.h"
#include "verbs.h"

#define FOR_DEFAULT_NS (5 * NS_PER_S)

struct asking {
	bool json, with_idle, has_unseen;
	const char *netns, *read;
	__u64 for_ns;
	struct recording_part part;
	const char *lack; /* what a recording without connections lacks */
	struct value_list names;
	__u64 largest; /* groups; 0: GROUPS_LARGEST */
	struct grouping grouping;

	struct filter filter;
	struct why_connections connections;
	struct cpus cpus;
};

static int read_live(struct asking *a)
{
	struct live l = {
		.netns = a->netns,
		.filter = &a->filter,
		.names = &a->names,
		.for_ns = a->for_ns ? a->for_ns : FOR_DEFAULT_NS,
		.connections = &a->connections,
		.cpus = &a->cpus,
	};
	int ret = live_read(&l);

	a->has_unseen = l.has_unseen;
	grouping_read(&a->grouping);
	return ret;
}

static int read_recorded(struct asking *a)
{
	struct recorded_why r = {
		.file = a->read,
		.filter = &a->filter,
		.part = a->part,
		.connections = &a->connections,
	};
	int ret = recorded_why_read(&r);

	a->lack = !r.has_run  ? "the recording has no events" :
		  !r.has_time ? "no events in this time" :
				"no event has BBR's state";
	return ret;
}

/* Nothing is shown: why? */
static void say_nothing(const struct asking *a)
{
	for (size_t i = 0; i < a->connections.n; i++)
		if (a->connections.list[i]->is_wanted) {
			err(a->read ? "no connection has two events with BBR's state" :
				      "no connection was read twice; watch longer: --for");
			return;
		}
	err("%s", a->read && !a->connections.n ? a->lack : "no connection matches");
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

/*
 * is_explained: it was said why nothing matches. Returns EXIT_NOTHING if a recording has nothing to
 * judge.
 */
static int print_results(const struct asking *a, const struct why_results *r, bool is_explained)
{
	for (size_t i = 0; i < r->n; i++) {
		if (a->json) {
			why_print_json(stdout, &r->list[i]);
			continue;
		}
		if (i)
			putchar('\n');
		why_print_text(stdout, &r->list[i]);
	}
	if (r->idle)
		err("%u idle connection%s not shown; --idle shows them", r->idle,
		    r->idle == 1 ? " is" : "s are");
	if (r->in_sockmaps)
		err("%u of these are in a sockmap: data that its BPF program redirects does not go "
		    "through TCP",
		    r->in_sockmaps);
	if (r->n || r->idle)
		return EXIT_DONE;
	if (!is_explained)
		say_nothing(a);
	return a->read ? EXIT_NOTHING : EXIT_DONE;
}

static int print_groups(struct asking *a, const struct why_results *r, bool is_explained)
{
	struct groups g AUTO(groups_free);

	why_groups_make(&g, r, &a->grouping, a->largest ? a->largest : GROUPS_LARGEST);
	for (size_t i = 0; i < g.n; i++) {
		if (a->json) {
			why_print_group_json(stdout, g.list[i], a->grouping.by);
			continue;
		}
		if (i)
			putchar('\n');
		why_print_group_text(stdout, g.list[i]);
	}
	if (g.n)
		return EXIT_DONE;
	if (!is_explained)
		say_nothing(a);
	return a->read ? EXIT_NOTHING : EXIT_DONE;
}

static int answer(struct asking *a)
{
	struct why_results r AUTO(why_results_free);
	int ret, error, names;

	why_results_make(&r, &a->connections, a->read ? NULL : &a->cpus,
			 a->with_idle || a->grouping.by);
	names = check_names(a);
	ret = a->grouping.by ? print_groups(a, &r, names) : print_results(a, &r, names);
	error = output_close(stdout, NULL);
	return error ? error : names ? names : ret;
}

/* ---- options */

static int parse_request(struct asking *a, int argc, char **argv)
{
	const struct filter_system system = { .cgroup = cgroup_id };
	const struct known known = { a->read, recording_described };

	return filter_parse_words(&a->filter, argc, argv, &system, &known) &&
			       filter_add_names(&a->filter, a->names.arg, a->names.n) ?
		       EXIT_DONE :
		       EXIT_USAGE;
}

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
	struct asking *a = options;
	int ret = parse_request(a, argc - 1, argv + 1);

	if (!ret)
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
