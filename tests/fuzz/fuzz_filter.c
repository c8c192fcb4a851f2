// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filter expressions of bbrmon. The input is a connection, then the text of an expression. An
 * accepted expression is a function of the connection: its negation gives the opposite, and itself
 * combined by "and" or "or" gives the same. A recording describes one more algorithm. The only
 * lookups in the system are names of services.
 */
#define _GNU_SOURCE /* asprintf() */
#include <arpa/inet.h>

#include "cli/err.h"
#include "filter/filter.h"
#include "fuzz.h"
#include "tests/unit/tools/made_up.h"

#define MAX_TEXT 1024

static unsigned long accepted, refused, empty, matched, unmatched, recorded, with_states,
	ops[FILTER_FIELD + 1];
static unsigned long compares[FILTER_LT + 1], no_cgroup, no_device, any_host, with_port, inet6,
	too_long, pushed_all, no_socket, described;

static const char *const op_names[] = { "and",	"or",	  "not",    "host", "port",
					"mark", "cgroup", "device", "name", "profile",
					"mode", "reason", "field" };
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
	say_reached("refused for want of a socket", no_socket);
	say_reached("all in the kernel", pushed_all);
	say_reached("matched of an algorithm that was described", described);
	say_reached("as many nodes as there can be", too_long);
	for (int i = 0; i <= FILTER_FIELD; i++)
		say_reached(op_names[i], ops[i]);
	for (int i = 0; i <= FILTER_LT; i++)
		say_reached(compare_names[i], compares[i]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stderr = fopen("/dev/null", "w"); /* for refusals; glibc allows the assignment */
	return stderr ? atexit(report) : -1;
}

static int find_cgroup(const char *option, const char *path, __u64 *id)
{
	if (path[0] != '/') {
		err("%s %s: no such cgroup", option, path);
		no_cgroup++;
		return EXIT_USAGE;
	}
	*id = strlen(path);
	return EXIT_DONE;
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

static const struct known known = { "a recording", describe_made_up };
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

/* The nodes are a tree: children are made before their parent, and each has one parent at most. */
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

/* The subject of an expression. */
struct subject {
	struct origin origin;
	struct bbr_snapshot state;
	bool is_recorded;
};

static bool matches(struct filter *f, const struct subject *c)
{
	return filter_matches(f, &c->origin, &c->state.event, c->is_recorded ? NULL : &c->state);
}

static bool is_in(const __u32 addr[4], const __u32 want[4], const __u32 mask[4])
{
	for (int i = 0; i < 4; i++)
		if ((addr[i] & mask[i]) != want[i])
			return false;
	return true;
}

/* What the BPF program does with the filter. */
static bool kernel_matches(const struct bbr_filter *k, const struct bbr_event *e)
{
	return is_in(e->laddr, k->laddr, k->lmask) && is_in(e->raddr, k->raddr, k->rmask) &&
	       (!k->lport || k->lport == e->lport) && (!k->rport || k->rport == e->rport);
}

/*
 * The expression matches nothing that the kernel leaves out. If all of it is pushed down, it
 * matches all that the kernel keeps.
 */
static void check_push_down(const struct filter *f, const struct subject *c, bool result)
{
	struct bbr_filter kernel = {};
	bool all = filter_push_down(f, &kernel), kept = kernel_matches(&kernel, &c->state.event);

	pushed_all += all && f->root >= 0;
	CHECK(kept || !result);
	if (all && (c->is_recorded || f->states == ~0u))
		CHECK(kept == result);
}

/* The result of the expression inside another one; -1 if that is too long or too deep. */
static int in_form(const char *form, const char *text, const struct subject *c)
{
	static struct filter f;
	char *whole;
	int result = -1;

	CHECK(asprintf(&whole, form, text, text) > 0);
	if (filter_parse(&f, whole, &fake_system, &known))
		result = matches(&f, c);
	filter_free(&f);
	free(whole);
	return result;
}

static void check_forms(const char *text, const struct subject *c, int expected)
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

static void check_accepted(struct filter *f, const char *text, const struct subject *c)
{
	bool result = matches(f, c);

	accepted++;
	matched += result;
	unmatched += !result;
	described += result && c->origin.algorithm == &made_up && f->root >= 0;
	check_tree(f);
	check_push_down(f, c, result);
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
	struct subject c = { .origin = { .id = 1, .algorithm = algorithms[0] } };
	char profiles[BBR_PROFILES][BBR_PROFILE_NAME_LEN] = {}, text[MAX_TEXT + 1];
	uint8_t flags;

	input_take(&in, &flags, sizeof(flags));
	input_take(&in, &c.state, sizeof(c.state));
	input_take(&in, c.origin.name, sizeof(c.origin.name) - 1);
	input_take(&in, profiles[1], BBR_PROFILE_NAME_LEN - 1);
	c.state.event.profile &= 3; /* profiles after the first two have no name */
	if (flags & 4)
		c.origin.algorithm = &made_up;
	if (flags & 1)
		c.origin.profiles = (const void *)profiles;
	c.is_recorded = flags & 2;
	recorded += c.is_recorded;
	size = in.left < MAX_TEXT ? in.left : MAX_TEXT;
	input_take(&in, text, size);
	text[size] = 0;

	if (filter_parse(&f, text, &fake_system, &known))
		check_accepted(&f, text, &c);
	else
		refused++;
	/* With events only, an expression that needs a socket must be refused. */
	if (!f.needs_socket && f.n) {
		filter_free(&f);
		filter_parse(&f, text, NULL, &known);
		CHECK(!f.needs_socket);
	} else if (f.needs_socket) {
		filter_free(&f);
		CHECK(!filter_parse(&f, text, NULL, &known));
		no_socket++;
	}
	filter_free(&f);
	return 0;
}
