/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the scopes of two experiments have a connection in common. */
#include "../loader/fixture.h"
#include "cgroup/cgroup.h"
#include "experiment/running/running.h"
#include "tuning/rule_text.h"

/* The scope that a command line's options ask for. */
static struct experiment_scope scope(struct socket_filter filter)
{
	const char *arms[] = { "a=cubic", "b=reno" };
	const struct experiment_options opt = { .arms = { arms, 2 } };
	struct experiment_request r;

	assert_int_equal(experiment_request_parse("x", &opt, &filter, &r), EXIT_DONE);
	return r.config.scope;
}

static bool overlap(struct socket_filter a, struct socket_filter b)
{
	struct experiment_scope first = scope(a), second = scope(b);
	bool found = scopes_overlap(&first, "/c", &second, "/c");

	assert_int_equal(scopes_overlap(&second, "/c", &first, "/c"), found);
	return found;
}

#define FILTER(...) ((struct socket_filter){ __VA_ARGS__ })

static void prefixes(void **state)
{
	(void)state;
	assert_true(overlap(FILTER(), FILTER()));
	assert_true(overlap(FILTER(.dst = "10.0.0.0/8"), FILTER()));
	assert_true(overlap(FILTER(.dst = "10.0.0.0/8"), FILTER(.dst = "10.1.0.0/16")));
	assert_true(overlap(FILTER(.dst = "10.1.2.3"), FILTER(.dst = "10.1.2.3")));
	assert_false(overlap(FILTER(.dst = "10.0.0.0/8"), FILTER(.dst = "11.0.0.0/8")));
	assert_false(overlap(FILTER(.dst = "10.1.2.0/25"), FILTER(.dst = "10.1.2.128/25")));
	assert_true(overlap(FILTER(.dst = "2001:db8::/32"), FILTER(.dst = "2001:db8:1::/48")));
	assert_false(overlap(FILTER(.dst = "2001:db8::/33"), FILTER(.dst = "2001:db8:8000::/33")));
	assert_false(overlap(FILTER(.dst = "10.0.0.0/8"), FILTER(.dst = "2001:db8::/32")));
	assert_true(overlap(FILTER(.dst = "::/0"), FILTER(.dst = "10.0.0.0/8")));
	assert_true(overlap(FILTER(.dst = "0.0.0.0/0"), FILTER(.dst = "10.0.0.0/8")));
	assert_false(overlap(FILTER(.dst = "0.0.0.0/0"), FILTER(.dst = "fd00::/8")));
}

static void ports_and_marks(void **state)
{
	(void)state;
	assert_false(overlap(FILTER(.dport = "80"), FILTER(.dport = "443")));
	assert_true(overlap(FILTER(.dport = "80"), FILTER(.dport = "80")));
	assert_true(overlap(FILTER(.dport = "80"), FILTER(.sport = "443")));
	assert_false(overlap(FILTER(.sport = "80"), FILTER(.sport = "443")));
	assert_false(overlap(FILTER(.mark = "0"), FILTER(.mark = "1")));
	assert_true(overlap(FILTER(.mark = "0"), FILTER(.dport = "1")));
	assert_false(overlap(FILTER(.dst = "10.0.0.0/8", .dport = "80"),
			     FILTER(.dst = "10.1.0.0/16", .dport = "81")));
}

static void namespaces(void **state)
{
	struct experiment_scope any = scope(FILTER()), one = any, other = any;

	(void)state;
	one.netns = 1;
	other.netns = 2;
	assert_true(scopes_overlap(&any, "/c", &one, "/c"));
	assert_false(scopes_overlap(&one, "/c", &other, "/c"));
}

static void cgroups(void **state)
{
	struct experiment_scope any = scope(FILTER());

	(void)state;
	assert_true(scopes_overlap(&any, "/c", &any, "/c/a"));
	assert_true(scopes_overlap(&any, "/c/a", &any, "/c"));
	assert_true(scopes_overlap(&any, "/", &any, "/c"));
	assert_false(scopes_overlap(&any, "/c/a", &any, "/c/b"));
	assert_false(scopes_overlap(&any, "/c/a", &any, "/c/ab"));
	assert_true(cgroup_is_within("/c/a", "/c"));
	assert_true(cgroup_is_within("/c", "/c"));
	assert_true(cgroup_is_within("/c", "/"));
	assert_false(cgroup_is_within("/c", "/c/a"));
	assert_false(cgroup_is_within("/cd", "/c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes),
		cmocka_unit_test(ports_and_marks),
		cmocka_unit_test(namespaces),
		cmocka_unit_test(cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
