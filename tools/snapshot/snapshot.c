// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon snapshot: the state of all connections, once.
 */
#define _GNU_SOURCE /* sigaction() */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <net/if.h>
#include <sys/stat.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/options.h"
#include "filter/filter.h"
#include "kernel/netns.h"
#include "recording/replay.h"
#include "snapshot.h"
#include "sockets/sockets.h"
#include "stream/event_source.h"
#include "verbs.h"

#define OUTPUT_BUFFER (256 << 10)

struct taking {
	bool json, no_header, summed;
	const char *netns, *read;
	__u64 at_ns; /* 0: the end of the recording */
	struct value_list names;
	const char *sort;
	struct sort_order order;

	struct filter filter;
	struct snapshot_style style;
	bool *is_seen; /* for each of names: is there a connection of this name? */
	struct kept_snapshots kept;
	struct summary summary;
	bool has_header;
	int write_error; /* errno of stdout, or 0 */
};

/*
 * Prints the header before the first connection, or when it is known that there is none: never
 * before an error message.
 */
static void print_header(struct taking *t)
{
	if (!t->json && !t->no_header && !t->summed && !t->has_header)
		snapshot_print_header(stdout);
	t->has_header = true;
}

static void print(struct taking *t, const struct snapshot *c)
{
	errno = 0;
	print_header(t);
	if (t->json)
		snapshot_print_json(stdout, &t->style, c);
	else
		snapshot_print_text(stdout, &t->style, c);
	note_write_error(&t->write_error, ferror(stdout));
}

static bool take(void *ctx, const struct origin *origin, const struct bbr_snapshot *state)
{
	struct taking *t = ctx;
	const struct snapshot c = { origin, state, t->read };

	sockets_note_name(origin, &t->names, t->is_seen);
	if (!filter_matches(&t->filter, origin, &state->event, t->read ? NULL : state))
		return !is_interrupted();
	if (t->summed)
		summary_add(&t->summary, &c);
	else if (t->order.n)
		kept_add(&t->kept, &c);
	else
		print(t, &c);
	return !is_interrupted() && !t->write_error;
}

/* Prints what was kept until all connections were read. */
static void print_rest(struct taking *t)
{
	__u32 *sorted;

	if (t->summed)
		summary_print(stdout, &t->summary, t->json);
	if (!t->kept.n)
		return;
	sorted = kept_sort(&t->kept, &t->order);
	for (size_t i = 0; i < t->kept.n && !is_interrupted() && !t->write_error; i++) {
		const struct kept_snapshot *k = &t->kept.list[sorted[i]];
		const struct snapshot c = { k->origin, &k->state, t->read };

		print(t, &c);
	}
	free(sorted);
}

static int take_recorded(struct taking *t)
{
	struct recorded recorded;
	int ret = recorded_open(&recorded, t->read, t->at_ns ? t->at_ns : ~0ull);

	if (ret)
		return ret;
	recorded_for_each(&recorded, take, t);
	print_rest(t);
	print_header(t);
	recorded_close(&recorded);
	return EXIT_DONE;
}

/*
 * Says what was not read: users of the instances that were asked for. That is a failure where
 * another place would show them, and none if only sockets keep their namespace.
 */
static int report_unseen(const struct taking *t, const struct sockets *sockets)
{
	bool is_failure = false;
	struct json j;

	for (int i = 0; i < sockets->n_instances; i++) {
		const char *name = sockets->instances[i].origin.name;
		__u32 users = sockets->instances[i].unseen;

		if (!users || !names_have(&t->names, name))
			continue;
		err("%s: %u user%s not shown: in network namespaces that cannot be found from "
		    "here, or without a connection",
		    name, users, users == 1 ? " is" : "s are");
		if (t->json) {
			json_begin(&j, stdout);
			json_add_string(&j, "event", "unseen");
			json_add_string(&j, "instance", name);
			json_add_int(&j, "users_unseen", users);
			json_end(&j);
		}
		is_failure = sockets->has_unseen_netns;
	}
	if (!is_failure)
		return EXIT_DONE;
	netns_say_unseen(netns_unseen(), "snapshot");
	return EXIT_REFUSED;
}

static int take_live(struct taking *t)
{
	struct sockets sockets;
	int ret = sockets_open(&sockets);

	if (ret)
		return ret;
	ret = sockets_read(&sockets, t->netns, take, t);
	/* Show what could be read even if a namespace could not be entered. */
	print_rest(t);
	if (!ret && !is_interrupted() && !t->write_error)
		ret = sockets_check_names(&t->names, t->is_seen);
	if (!ret)
		print_header(t);
	if (!ret && !t->netns && !is_interrupted() && !t->write_error)
		ret = report_unseen(t, &sockets);
	sockets_close(&sockets);
	return ret;
}

static int run(struct taking *t)
{
	struct stat st;
	int ret;

	t->style.colour = isatty(STDOUT_FILENO) && wants_colour();
	/* Connections of our own namespace do not show it. With --netns or --read, none does. */
	if (!t->netns && !t->read && !stat(NETNS_OWN, &st))
		t->style.own_netns = st.st_ino;
	t->is_seen = mem_new(t->names.n, sizeof(*t->is_seen));
	t->style.grouping = &t->summary.grouping;
	grouping_read(&t->summary.grouping);
	setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
	interrupt_catch();
	ret = t->read ? take_recorded(t) : take_live(t);
	errno = 0;
	note_write_error(&t->write_error, fflush(stdout));
	return ret ? ret : say_write_error(t->write_error);
}

struct device_search {
	const char *name;
	struct filter_device *list;
	int n;
};

static int find_in_netns(const struct netns *ns, void *data)
{
	struct device_search *search = data;
	unsigned int index = if_nametoindex(search->name);

	if (index) {
		MEM_ADD(search->list, search->n) = (struct filter_device){ ns->inode, index };
	}
	return EXIT_DONE;
}

/*
 * Finds a device by its index, which then means any namespace, or by its name in each namespace
 * that is read. In a recording, which check_options() refuses, nothing is looked for here.
 */
static bool find_device(void *ctx, const char *option, const char *name,
			struct filter_device **list, int *n)
{
	struct device_search search = { .name = name };
	const struct taking *t = ctx;
	char *end;
	unsigned long index = strtoul(name, &end, 10);

	if (t->read || (isdigit((unsigned char)name[0]) && !*end && index <= ~0u)) {
		search.list = mem_new(1, sizeof(*search.list));
		search.list[search.n++] = (struct filter_device){ 0, index };
	} else {
		netns_visit_all(t->netns, NULL, find_in_netns, &search);
	}
	*list = search.list;
	*n = search.n;
	if (!*n)
		err("%s %s: no network device of this name", option, name);
	return *n;
}

static int parse_request(struct taking *t, int argc, char **argv)
{
	const struct filter_system system = { cgroup_id, find_device, t };
	const struct known known = { t->read, recording_described };
	bool is_right = filter_parse_words(&t->filter, argc, argv, &system, &known) &&
			filter_add_names(&t->filter, t->names.arg, t->names.n);

	if (is_right && t->sort)
		is_right = t->summary.grouping.by ? summary_sort(&t->summary, t->sort) :
						    sort_parse(&t->order, t->sort, &known);
	t->summary.ascending ^= t->sort && t->order.reverse;
	return is_right ? EXIT_DONE : EXIT_USAGE;
}

/* Refuses options that do not go together. */
static int check_options(const struct taking *t)
{
	static const char not_recorded[] = "recordings do not have it";
	static const char leave_away[] = "remove it, or --read";

	const struct conflict conflicts[] = {
		{ t->read && t->summary.grouping.with_processes, "--processes", not_recorded,
		  leave_away },
		{ t->read && t->style.with_cgroup, "--cgroup", not_recorded, leave_away },
		{ t->read && t->netns, "--netns",
		  "it belongs to this machine, and the recording may come from another",
		  leave_away },
		{ t->read && t->filter.needs_socket, "filter",
		  "recordings have no state, fwmark, cgroup or dev",
		  "remove these conditions, or --read" },
		{ !t->read && t->at_ns, "--at", "it is a time in a recording", "add --read FILE" },
		NO_GROUPS_IN(t->read, t->summary.grouping.by),
		NO_LARGEST(t->summary.largest, t->summary.grouping.by),
		{ t->summed && t->summary.grouping.by, "--summary and --by",
		  "each prints totals of its own", "remove one of them" },
		{ t->order.reverse && !t->sort, "--reverse", "there is no order to reverse",
		  "add --sort KEY" },
		{ t->summed && t->order.n, "--sort", "totals are always in the same order",
		  "remove it, or --summary" },
		{},
	};

	return refuse_conflicts("snapshot", conflicts);
}

#define MEMBER(m) offsetof(struct taking, m)

static const struct option_def options[] = {
	{ "json", 'j', NULL, option_flag, MEMBER(json), "print one JSON object per line" },
	{ "oneline", 'O', NULL, option_flag, MEMBER(style.oneline),
	  "print addresses and state on one line" },
	{ "no-header", 'H', NULL, option_flag, MEMBER(no_header), "print no header line" },
	{ "processes", 'p', NULL, option_flag, MEMBER(summary.grouping.with_processes),
	  "show the processes that have the socket open" },
	{ "cgroup", 0, NULL, option_flag, MEMBER(style.with_cgroup),
	  "show the path of the socket's cgroup" },
	{ "netns", 'N', "NAME", option_text, MEMBER(netns), "only this network namespace" },
	{ "name", 0, "NAME", option_append, MEMBER(names),
	  "only this congestion control (repeat for several);\n"
	  "bbr is the kernel's own" },
	{ "sort", 0, "KEYS", option_text, MEMBER(sort),
	  "sort by JSON keys: bw_bps,-lport; \"-\": from the highest to the lowest" },
	{ "reverse", 0, NULL, option_flag, MEMBER(order.reverse), "reverse the order" },
	{ "summary", 's', NULL, option_flag, MEMBER(summed),
	  "print totals by congestion control, profile and mode instead" },
	{ "by", 0, "WHAT", option_group_by, MEMBER(summary.grouping.by),
	  "print totals by cgroup, process, prefix (remote, /24 or /64) or netns" },
	{ "largest", 0, "N", option_largest, MEMBER(summary.largest),
	  "with --by: show the first N groups (20), and the sum of the rest" },
	{ "read", 'r', "FILE", option_text, MEMBER(read),
	  "show the end of a recording instead of live connections" },
	{ "at", 0, "TIME", option_until, MEMBER(at_ns),
	  "show the state at this time after the recording's start: 10s" },
	{},
};

static const struct option_group groups[] = { { options, 0 }, {} };

static void init(void *options)
{
	struct taking *t = options;

	summary_sort(&t->summary, "-bw_bps");
}

static int run_verb(void *options, int argc, char **argv)
{
	struct taking *t = options;
	int ret = parse_request(t, argc - 1, argv + 1);

	if (!ret)
		ret = check_options(t);
	t->summed |= t->summary.grouping.by;
	if (!ret)
		ret = run(t);
	filter_free(&t->filter);
	summary_free(&t->summary);
	free(t->kept.list);
	free(t->is_seen);
	return ret;
}

static const struct privileges_change changes[] = {
	/* CAP_DAC_READ_SEARCH is for /proc/PID/fd, which only its owner can list. */
	{ "processes", .more = EVERY_NETNS | CAP(DAC_READ_SEARCH) },
	{ "cgroup", .more = FIND_CGROUPS },
	{ "by", .more = EVERY_NETNS | FIND_CGROUPS },
	{ "netns", .spares = EVERY_NETNS },
	{ "read", .spares = PRIVILEGES_ALL, .may = READ_FILE },
	{},
};

VERB(snapshot, NEEDS(WATCH | EVERY_NETNS, .changes = changes), .args = "[FILTER]",
     .brief = "print the state of all connections once",
     .about = "Shows the state of each connection that uses BBR: those of any bpf_bbr instance, "
	      "and\n"
	      "of the kernel's own bbr. FILTER uses the syntax of ss(8): dst 10.0.0.0/8 and "
	      "dport = :443.",
     .groups = groups, .max_args = FILTER_WORDS, .size = sizeof(struct taking), .init = init,
     .run = run_verb);
