/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which steps, in which order, lead from a machine as it is to the one that is wanted. No kernel is
 * involved.
 */
#include "machines.h"

static bool prune;

static void make(const char *only)
{
	plan_free(&plan);
	plan_make(&wanted, &found, only, prune, &plan);
}

/* Expects steps of these kinds, in order; -1 ends them. */
static void expect(const int *kinds)
{
	size_t n = 0;

	make(NULL);
	for (; kinds[n] >= 0; n++) {
		assert_true(n < plan.n);
		assert_int_equal(plan.step[n].kind, kinds[n]);
	}
	assert_int_equal(plan.n, n);
}

#define EXPECT(...) expect((const int[]){ __VA_ARGS__ __VA_OPT__(, ) - 1 })

static void nothing_is_to_be_done_for_nothing(void **state)
{
	(void)state;
	EXPECT();
}

static void what_is_the_same_stays(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct machine *m = i ? &wanted : &found;
		struct machine_instance *inst = add(m, "one");

		add_profile(inst, "fast", "gain=2");
		add_rule(inst, 1, 1);
		machine_add_default(m, i ? "x" : "/proc/9/ns/net", 7, "one");
		machine_add_attachment(m, "/cg", "one");
	}
	add_note("one", 7, "reno");
	EXPECT();
}

static void instances_come_and_go(void **state)
{
	(void)state;
	add(&wanted, "new");
	add(&found, "old");
	EXPECT(STEP_LOAD, STEP_UNLOAD);
	assert_string_equal(plan.step[0].name, "new");
	assert_null(plan.step[0].found);
	assert_string_equal(plan.step[1].name, "old");
}

static void what_bpftool_registered_stays(void **state)
{
	(void)state;
	add(&found, "old")->is_ours = false;
	EXPECT();
	/* Its parameters are those of the file if that has it. */
	add_profile(add(&wanted, "old"), "default", "gain=2");
	EXPECT(STEP_PROFILE_CHANGE);
}

static void other_code_is_replaced_with_all_settings(void **state)
{
	(void)state;
	add_profile(add(&wanted, "one"), "fast", "gain=2");
	strcpy(add(&found, "one")->version, "0");
	EXPECT(STEP_REPLACE);
	strcpy(found.instance[0].version, "1");
	EXPECT(STEP_PROFILE_ADD);
	found.instance[0].is_open = false; /* its ABI is not known */
	EXPECT(STEP_REPLACE);
	found.instance[0].algorithm = NULL;
	EXPECT(STEP_REPLACE);
}

static void profiles_follow(void **state)
{
	struct machine_instance *new = add(&wanted, "one"), *old = add(&found, "one");

	(void)state;
	add_profile(new, "same", "gain=2");
	add_profile(old, "same", "gain=2");
	add_profile(new, "changed", "count=3");
	add_profile(old, "changed", "count=2");
	add_profile(new, "added", "gain=2");
	add_profile(old, "gone", "gain=2");
	EXPECT(STEP_PROFILE_ADD, STEP_PROFILE_CHANGE, STEP_PROFILE_DELETE);
	assert_string_equal(plan.step[0].profile_wanted->name, "added");
	assert_string_equal(plan.step[1].profile_wanted->name, "changed");
	assert_string_equal(plan.step[1].profile_found->name, "changed");
	assert_string_equal(plan.step[2].profile_found->name, "gone");
}

static void rules_follow_by_the_name_of_their_profile(void **state)
{
	struct machine_instance *new = add(&wanted, "one"), *old = add(&found, "one");

	(void)state;
	add_profile(new, "a", "gain=2");
	add_profile(new, "b", "gain=3");
	add_profile(old, "b", "gain=3"); /* at another place */
	add_profile(old, "a", "gain=2");
	add_rule(new, 1, 1);
	add_rule(old, 1, 2);
	EXPECT();
	new->rules.rule[0].profile = 2;
	EXPECT(STEP_RULES);
	new->rules.rule[0].profile = 1;
	new->rules.rule[0].dport = 2;
	EXPECT(STEP_RULES);
	new->rules.rule[0].dport = 1;
	add_rule(new, 2, 1);
	EXPECT(STEP_RULES);
	add_rule(old, 2, 2);
	EXPECT();
}

/* A rule must not name a profile that does not exist yet, or no longer exists. */
static void rules_come_between_new_and_old_profiles(void **state)
{
	struct machine_instance *new = add(&wanted, "one"), *old = add(&found, "one");

	(void)state;
	add_profile(new, "new", "gain=2");
	add_rule(new, 1, 1);
	add_profile(old, "old", "gain=2");
	add_rule(old, 1, 1);
	EXPECT(STEP_PROFILE_ADD, STEP_RULES, STEP_PROFILE_DELETE);
}

static void defaults_are_noted(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	machine_add_default(&wanted, "x", 7, "one");
	machine_add_default(&found, "x", 7, "reno");
	EXPECT(STEP_DEFAULT);
	assert_string_equal(plan.step[0].previous, "reno");
	/* Set by others: what was there before is not known. */
	strcpy(found.def[0].name, "one");
	EXPECT(STEP_DEFAULT);
	assert_string_equal(plan.step[0].previous, "");
	add_note("one", 7, "reno");
	EXPECT();
}

static void defaults_go_back_to_what_was_before_any_of_us(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	add(&found, "two");
	machine_add_default(&found, "x", 7, "two");
	machine_add_default(&found, "y", 8, "two"); /* set by others: stays */
	add_note("one", 7, "reno");
	add_note("two", 7, "one");
	EXPECT(STEP_DEFAULT_BACK, STEP_UNLOAD);
	assert_string_equal(plan.step[0].previous, "reno");
	/* From one of ours to another: the next way back must not lead to the former. */
	machine_add_default(&wanted, "x", 7, "one");
	EXPECT(STEP_DEFAULT, STEP_UNLOAD);
	assert_string_equal(plan.step[0].previous, "reno");
	/* Notes that form a loop come to an end. */
	strcpy(found.note[0].previous, "two");
	make(NULL);
}

static void attachments_follow(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	add(&found, "two");
	machine_add_attachment(&wanted, "/new", "one");
	machine_add_attachment(&wanted, "/moved", "one");
	add_attached("/moved", "two");
	add_attached("/old", "gone");
	EXPECT(STEP_ATTACH, STEP_ATTACH, STEP_DETACH, STEP_UNLOAD);
	assert_null(plan.step[0].at_found);
	assert_string_equal(plan.step[1].at_found->name, "two");
	assert_string_equal(plan.step[2].name, "gone");
}

static void what_no_apply_made_stays(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one")->is_applied = false;
	add(&found, "two")->is_applied = false;
	machine_add_default(&found, "x", 7, "one");
	machine_add_default(&found, "y", 8, "two");
	add_note("one", 7, "reno");
	add_note("two", 8, "reno");
	found.note[0].is_applied = found.note[1].is_applied = false;
	machine_add_attachment(&found, "/one", "one");
	machine_add_attachment(&found, "/two", "two");
	machine_add_attachment(&found, "/gone", "gone");
	EXPECT();
	/* What belongs to an instance that stays is not listed beside it. */
	assert_int_equal(plan.n_left, 4);
	assert_string_equal(plan.left[0].name, "two");
	assert_int_equal(plan.left[1].default_found->inode, 7);
	assert_string_equal(plan.left[2].at_found->path, "/one");
	assert_string_equal(plan.left[3].at_found->path, "/gone");
	prune = true;
	EXPECT(STEP_DETACH, STEP_DETACH, STEP_DETACH, STEP_DEFAULT_BACK, STEP_DEFAULT_BACK,
	       STEP_UNLOAD);
	assert_int_equal(plan.n_left, 0);
	prune = false;
	/* With an instance that goes, its defaults go, whoever set them; its attachments may wait for another. */
	found.instance[1].is_applied = true;
	EXPECT(STEP_DEFAULT_BACK, STEP_UNLOAD);
	assert_int_equal(plan.step[0].default_found->inode, 8);
	assert_int_equal(plan.n_left, 4);
	/* What the file names goes to it, whoever made it. */
	found.instance[1].is_applied = false;
	add(&wanted, "two");
	machine_add_attachment(&wanted, "/gone", "one");
	machine_add_default(&wanted, "y", 8, "one");
	EXPECT(STEP_DEFAULT, STEP_ATTACH);
}

static void only_one_instance(void **state)
{
	(void)state;
	add_profile(add(&wanted, "one"), "default", "gain=2");
	add(&found, "one");
	add(&found, "two");
	add_attached("/a", "two");
	add_attached("/b", "one");
	machine_add_default(&found, "x", 7, "two");
	add_note("two", 7, "reno");
	make("one");
	assert_int_equal(plan.n, 2);
	assert_int_equal(plan.step[0].kind, STEP_PROFILE_CHANGE);
	assert_int_equal(plan.step[1].kind, STEP_DETACH);
	assert_string_equal(plan.step[1].at_found->path, "/b");
}

static void routes_get_it_and_lose_it(void **state)
{
	struct machine_route *old;

	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	add_route(&wanted, "10.0.0.0/8", "one", 0);
	add_route(&wanted, "10.1.0.0/16", "one", 0);
	add_route(&found, "10.0.0.0/8", "cubic", 1)->is.metric = 5;
	add_route(&found, "10.0.0.0/8", "one", 1)->is.metric = 6; /* by hand */
	add_route(&found, "10.1.0.0/16", "one", 1)->is_applied = true;
	add_route(&found, "10.2.0.0/16", "one", 1)->is_applied = true;
	add_route(&found, "10.3.0.0/16", "one", 1); /* by hand */
	EXPECT(STEP_ROUTE, STEP_ROUTE_BACK);
	assert_int_equal(plan.step[0].route_found->is.metric, 5);
	assert_null(plan.step[0].route_as);
	assert_ptr_equal(plan.step[1].route_found, &found.route[3]);
	/* "lock" counts, too. */
	wanted.route[1].is.is_locked = true;
	EXPECT(STEP_ROUTE, STEP_ROUTE, STEP_ROUTE_BACK);
	/* The same prefix of another namespace is something else. */
	old = &found.route[0];
	old->inode = 8;
	found.route[1].inode = 8;
	wanted.n_routes = 1;
	EXPECT(STEP_ROUTE_BACK, STEP_ROUTE_BACK);
	assert_int_equal(plan.n_waiting, 1);
	wanted.n_routes = 2;
}

static void a_route_is_made_where_none_is(void **state)
{
	struct machine_route *made;

	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	add_route(&wanted, "10.1.0.0/16", "one", 0);
	EXPECT();
	assert_int_equal(plan.n_waiting, 1);
	add_route(&found, "0.0.0.0/0", "", 1);
	add_route(&found, "10.0.0.0/8", "", 2)->is.metric = 5;
	add_route(&found, "10.0.0.0/8", "cubic", 3)->is.metric = 4;
	add_route(&found, "10.1.2.0/24", "", 4); /* narrower */
	EXPECT(STEP_ROUTE);
	assert_int_equal(plan.n_waiting, 0);
	assert_null(plan.step[0].route_found);
	assert_ptr_equal(plan.step[0].route_as, &found.route[2]);
	/* It is there, and leads as it should; then it does not. */
	made = add_route(&found, "10.1.0.0/16", "one", 3);
	made->is_applied = true;
	made->is.protocol = ROUTE_PROTOCOL;
	made->is.metric = ~0u;
	EXPECT();
	found.route[1].is.metric = 3;
	EXPECT(STEP_ROUTE);
	assert_ptr_equal(plan.step[0].route_found, &found.route[4]);
	assert_ptr_equal(plan.step[0].route_as, &found.route[1]);
	/* Its prefix has got a route of its own. */
	add_route(&found, "10.1.0.0/16", "", 4);
	EXPECT(STEP_ROUTE, STEP_ROUTE_BACK);
	assert_ptr_equal(plan.step[0].route_found, &found.route[5]);
	assert_ptr_equal(plan.step[1].route_found, &found.route[4]);
	/* Of an instance that was unloaded: the kernel does not say its name. */
	found.route[4].name[0] = 0;
	wanted.route[0].inode = 8;
	EXPECT(STEP_ROUTE_BACK);
	wanted.is_tuning = true;
	EXPECT();
}

/* A file that an old bbrctl saved: it has nothing about defaults and cgroups. */
static void a_file_of_profiles_and_rules(void **state)
{
	(void)state;
	wanted.is_tuning = true;
	add_profile(add(&wanted, "one"), "default", "gain=2");
	add_profile(add(&found, "one"), "old", "gain=2");
	add(&found, "two");
	add_attached("/b", "one");
	machine_add_default(&found, "x", 7, "one");
	add_note("one", 7, "reno");
	EXPECT(STEP_PROFILE_CHANGE, STEP_PROFILE_DELETE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_to_be_done_for_nothing),
		TEST(what_is_the_same_stays),
		TEST(instances_come_and_go),
		TEST(what_bpftool_registered_stays),
		TEST(other_code_is_replaced_with_all_settings),
		TEST(profiles_follow),
		TEST(rules_follow_by_the_name_of_their_profile),
		TEST(rules_come_between_new_and_old_profiles),
		TEST(defaults_are_noted),
		TEST(defaults_go_back_to_what_was_before_any_of_us),
		TEST(attachments_follow),
		TEST(what_no_apply_made_stays),
		TEST(only_one_instance),
		TEST(routes_get_it_and_lose_it),
		TEST(a_route_is_made_where_none_is),
		TEST(a_file_of_profiles_and_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
