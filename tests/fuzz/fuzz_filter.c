// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filter expressions of bbrmon snapshot. The input is a connection, and then the text of an expression. What is
 * accepted is a function of the connection: its negation gives the opposite, with itself by "and" and "or" it
 * gives the same. Nothing of the system is looked up but names of services.
 */
#include <arpa/inet.h>

#include "err.h"
#include "sockets/filter_expr.h"
#include "fuzz.h"

#define MAX_TEXT 1024

static unsigned long accepted, refused, empty, matched, unmatched, recorded, with_states,
	ops[FILTER_MODE + 1];
static unsigned long compares[FILTER_LT + 1], no_cgroup, no_device, any_host, with_port, inet6,
	too_long;

static const char *const op_names[] = { "and",	  "or",	    "not",  "host",    "port", "mark",
					"cgroup", "device", "name", "profile", "mode" };
static const char *const compare_names[] = { "=", "!=", ">=", "<=", ">", "<" };

static void report(void)
{
	say_reached("accepted", accepted);
	say_reached("refused", refused);
	say_reached("empty", empty);
	say_reached("matched", matched);
	say_reached("unmatched", unmatched);
	say_reached("recorded", recorded);
	say_reached("states", with_states);
	say_reached("no cgroup", no_cgroup);
	say_reached("no device", no_device);
	say_reached("any host", any_host);
	say_reached("host with port", with_port);
	say_reached("host of IPv6", inet6);
	say_reached("as many nodes as there can be", too_long);
	for (int i = 0; i <= FILTER_MODE; i++)
		say_reached(op_names[i], ops[i]);
	for (int i = 0; i <= FILTER_LT; i++)
		say_reached(compare_names[i], compares[i]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stderr = fopen("/dev/null", "w"); /* for what is refused; glibc lets it be assigned */
	return stderr ? atexit(report) : -1;
}

static bool find_cgroup(const char *option, const char *path, __u64 *id)
{
	if (path[0] != '/') {
		err("%s %s: no such cgroup", option, path);
		no_cgroup++;
		return false;
	}
	*id = strlen(path);
	return true;
}

static bool find_device(void *ctx, const char *option, const char *name,
			struct filter_device **list, int *n)
{
	CHECK(ctx == &no_device);
	*n = name[0] == 'e' ? 2 : 0;
	if (!*n) {
		err("%s %s: no such device", option, name);
		no_device++;
		return false;
	}
	*list = malloc(2 * sizeof(**list));
	CHECK(*list);
	(*list)[0] = (struct filter_device){ 0, strlen(name) };
	(*list)[1] = (struct filter_device){ 7, 1 };
	return true;
}

static const struct filter_system fake_system = { find_cgroup, find_device, &no_device };

static void note_nodes(const struct filter *f)
{
	too_long += f->n == FILTER_NODES;
	with_states += f->states != ~0u;
	for (int i = 0; i < f->n; i++) {
		const struct filter_node *node = &f->nodes[i];

		ops[node->op]++;
		if (node->op > FILTER_NOT)
			compares[node->compare]++;
		if (node->op != FILTER_HOST)
			continue;
		any_host += node->host.any;
		with_port += node->host.port >= 0;
		inet6 += node->host.is_inet6;
	}
}

/* A tree: each node has children that were made before it, and one parent at most. */
static void check_tree(const struct filter *f)
{
	int parents[FILTER_NODES] = {};

	CHECK(f->n <= FILTER_NODES && f->root < f->n);
	for (int i = 0; i < f->n; i++) {
		const struct filter_node *node = &f->nodes[i];

		if (node->op > FILTER_NOT)
			continue;
		CHECK(node->left >= 0 && node->left < i && !parents[node->left]++);
		if (node->op != FILTER_NOT)
			CHECK(node->right >= 0 && node->right < i && !parents[node->right]++);
	}
}

/* What the expression in another one gives; -1: that is too long or too deep. */
static int in_form(const char *form, const char *text, const struct snapshot *c)
{
	static struct filter f;
	char *whole;
	int result = -1;

	CHECK(asprintf(&whole, form, text, text) > 0);
	if (filter_parse(&f, whole, &fake_system))
		result = filter_matches(&f, c);
	filter_free(&f);
	free(whole);
	return result;
}

static void check_forms(const char *text, const struct snapshot *c, int expected)
{
	static const struct {
		const char *form;
		bool negates;
	} forms[] = {
		{ "( %s )", false },	       { "! ( %s )", true },
		{ "not(%s)", true },	       { "(%s)and(%s)", false },
		{ "( %s ) or ( %s )", false }, { "\t(%s)\n(%s) ", false },
		{ "!(%s) && !(%s)", true },    { "! (%s)||!(%s)", true },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		int result = in_form(forms[i].form, text, c);

		CHECK(result == (forms[i].negates ? !expected : expected) || result == -1);
	}
}

static void check_accepted(const struct filter *f, const char *text, const struct snapshot *c)
{
	bool result = filter_matches(f, c);

	accepted++;
	matched += result;
	unmatched += !result;
	check_tree(f);
	note_nodes(f);
	if (f->root < 0) {
		empty++;
		CHECK(f->states != ~0u || result);
	} else if (f->states == ~0u) {
		check_forms(text, c, result);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct filter f;
	struct input in = { data, size };
	struct bbr_snapshot state;
	struct origin origin = { .id = 1 };
	char profiles[BBR_PROFILES][BBR_PROFILE_NAME_LEN] = {}, text[MAX_TEXT + 1];
	struct snapshot c = { &origin, &state, false };
	uint8_t flags;

	input_take(&in, &flags, sizeof(flags));
	input_take(&in, &state, sizeof(state));
	input_take(&in, origin.name, sizeof(origin.name) - 1);
	input_take(&in, profiles[1], BBR_PROFILE_NAME_LEN - 1);
	state.event.profile &= 3; /* what is beyond the first two has no name */
	if (flags & 1)
		origin.profiles = (const void *)profiles;
	c.is_recorded = flags & 2;
	recorded += c.is_recorded;
	size = in.left < MAX_TEXT ? in.left : MAX_TEXT;
	input_take(&in, text, size);
	text[size] = 0;

	if (filter_parse(&f, text, &fake_system))
		check_accepted(&f, text, &c);
	else
		refused++;
	filter_free(&f);
	return 0;
}
