/* SPDX-License-Identifier: GPL-2.0-only */
/* What people and programs are told about each step of a plan: done, or still to be done. */
#include <arpa/inet.h>

#include "machines.h"

#include "cli/json.h"
#include "machine/plan.h"

#include "../capture.h"

static void make(size_t steps)
{
	plan_free(&plan);
	plan_make(&wanted, &found, NULL, false, &plan);
	assert_int_equal(plan.n, steps);
}

static const char *printed(size_t step, bool done)
{
	capture_begin();
	step_print(&plan.step[step], done);
	capture_end();
	return captured_output();
}

static const char *diff(size_t step)
{
	capture_begin();
	step_print_diff(&plan.step[step], &wanted, &found);
	capture_end();
	return captured_output();
}

static const char *json(void)
{
	struct json j;

	capture_begin();
	json_begin(&j, stdout);
	plan_add_json(&j, &plan);
	json_end(&j);
	capture_end();
	return captured_output();
}

/* The only step's texts: done, not done, as lines of a file, as JSON. */
static void expect(const char *done, const char *not_done, const char *lines, const char *members)
{
	char whole[1024];

	make(1);
	assert_string_equal(printed(0, true), done);
	assert_string_equal(printed(0, false), not_done);
	assert_string_equal(diff(0), lines);
	snprintf(whole, sizeof(whole),
		 "{\"changes\":[{\"name\":\"one\",%s}],\"left_alone\":[],\"waiting\":[]}\n",
		 members);
	assert_string_equal(json(), whole);
}

static void nothing_to_do(void **state)
{
	(void)state;
	make(0);
	assert_string_equal(json(), "{\"changes\":[],\"left_alone\":[],\"waiting\":[]}\n");
}

static void an_instance_comes(void **state)
{
	struct machine_instance *inst = add(&wanted, "one");

	(void)state;
	add_profile(inst, "default", "count=4");
	add_rule(inst, htons(443), 0);
	expect("one: loaded\n", "one: is not loaded\n",
	       "+[instance one]\n+algorithm = made_up\n+\n+[default]\n+count = 4\n+[rules]\n"
	       "+rule = --dport 443 --profile default\n",
	       "\"change\":\"load\"");
}

static void an_instance_goes(void **state)
{
	struct machine_instance *inst = add(&found, "one");

	(void)state;
	add_profile(inst, "default", "count=4");
	expect("one: unloaded\n", "one: is loaded\n",
	       "-[instance one]\n-algorithm = made_up\n-\n-[default]\n-count = 4\n",
	       "\"change\":\"unload\"");
	inst->is_open = false; /* its parameters are not known */
	inst->algorithm = NULL;
	strcpy(inst->loaded.abi.algorithm, "toy");
	assert_string_equal(diff(0), "-[instance one]\n");
}

static void code_of_another_version(void **state)
{
	(void)state;
	add_profile(add(&wanted, "one"), "default", "gain=2");
	strcpy(add(&found, "one")->version, "0");
	expect("one: upgraded from 0 to 1\n", "one: has the code of 0, not of 1\n",
	       " [instance one]\n-; version 0\n+; version 1\n [default]\n-gain = 1\n+gain = 2\n",
	       "\"change\":\"upgrade\",\"old\":{\"version\":\"0\",\"algorithm\":\"made_up\"},"
	       "\"new\":{\"version\":\"1\",\"algorithm\":\"made_up\"}");
}

static void code_of_another_algorithm(void **state)
{
	struct machine_instance *old = add(&found, "one");

	(void)state;
	add(&wanted, "one");
	old->is_open = false;
	old->algorithm = NULL;
	strcpy(old->loaded.abi.algorithm, "toy");
	expect("one: upgraded from toy to made_up\n", "one: has the code of toy, not of made_up\n",
	       " [instance one]\n-algorithm = toy\n+algorithm = made_up\n",
	       "\"change\":\"upgrade\",\"old\":{\"version\":\"1\",\"algorithm\":\"toy\"},"
	       "\"new\":{\"version\":\"1\",\"algorithm\":\"made_up\"}");
}

static void a_profile_comes(void **state)
{
	(void)state;
	add_profile(add(&wanted, "one"), "fast", "gain=2");
	add(&found, "one");
	expect("one: profile fast added\n", "one: profile fast is missing\n",
	       " [instance one]\n+[fast]\n+gain = 2\n",
	       "\"change\":\"profile_add\",\"profile\":\"fast\"");
}

static void a_profile_goes(void **state)
{
	(void)state;
	add(&wanted, "one");
	add_profile(add(&found, "one"), "fast", "gain=2");
	expect("one: profile fast deleted\n", "one: has a profile fast\n",
	       " [instance one]\n-[fast]\n-gain = 2\n",
	       "\"change\":\"profile_delete\",\"profile\":\"fast\"");
}

static void each_parameter_that_changes(void **state)
{
	struct machine_instance *new = add(&wanted, "one"), *old = add(&found, "one");

	(void)state;
	add_profile(new, "fast", "gain=2");
	add_profile(new, "fast", "usec=20ms");
	add_profile(old, "fast", "usec=1ms");
	add_profile(old, "fast", "count=4");
	add_profile(new, "fast", "count=4"); /* the same */
	expect("one: profile fast: gain=2 (was 1)\none: profile fast: usec=20ms (was 1ms)\n",
	       "one: profile fast: not gain=2, but 1\none: profile fast: not usec=20ms, but 1ms\n",
	       " [instance one]\n [fast]\n-gain = 1\n+gain = 2\n-usec = 1ms\n+usec = 20ms\n",
	       "\"change\":\"profile_change\",\"profile\":\"fast\",\"params\":{"
	       "\"gain\":{\"old\":1,\"new\":2,\"unit\":\"ratio\"},"
	       "\"usec\":{\"old\":1000,\"new\":20000,\"unit\":\"us\"}}");
}

static void only_rules_that_differ_are_shown(void **state)
{
	struct machine_instance *new = add(&wanted, "one"), *old = add(&found, "one");

	(void)state;
	for (int i = 1; i <= 4; i++) {
		add_rule(old, htons(i), 0);
		add_rule(new, htons(i == 2 ? 20 : i), 0);
	}
	expect("one: 4 rules (before: 4)\n", "one: has other rules than the file: 4, not 4\n",
	       " [instance one]\n [rules]\n-rule = --dport 2 --profile default\n"
	       "+rule = --dport 20 --profile default\n",
	       "\"change\":\"rules\",\"old_rules\":4,\"new_rules\":4");
}

static void a_rule_twice_as_often_is_shown_once(void **state)
{
	struct machine_instance *new = add(&wanted, "one"), *old = add(&found, "one");

	(void)state;
	add_rule(old, htons(1), 0);
	add_rule(new, htons(1), 0);
	add_rule(new, htons(1), 0);
	expect("one: 2 rules (before: 1)\n", "one: has other rules than the file: 1, not 2\n",
	       " [instance one]\n [rules]\n+rule = --dport 1 --profile default\n",
	       "\"change\":\"rules\",\"old_rules\":1,\"new_rules\":2");
	new->rules.n = 0;
	expect("one: 0 rules (before: 1)\n", "one: has other rules than the file: 1, not 0\n",
	       " [instance one]\n [rules]\n-rule = --dport 1 --profile default\n",
	       "\"change\":\"rules\",\"old_rules\":1,\"new_rules\":0");
}

static void a_namespace_gets_a_default(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	machine_add_default(&wanted, "ns1", 7, "one");
	/* What it has now is not known. */
	expect("one: now the default of network namespace ns1 (was not known)\n",
	       "one: is not the default of network namespace ns1\n",
	       " [instance one]\n+default_in = ns1\n",
	       "\"change\":\"default\",\"netns\":\"ns1\",\"inode\":7");
	machine_add_default(&found, "/proc/9/ns/net", 7, "reno");
	expect("one: now the default of network namespace ns1 (was reno)\n",
	       "one: is not the default of network namespace ns1, but reno is\n",
	       " [instance one]\n+default_in = ns1\n",
	       "\"change\":\"default\",\"netns\":\"ns1\",\"inode\":7,\"old_default\":\"reno\"");
	/* It is the default, but bbrctl did not make it so. */
	strcpy(found.def[0].name, "one");
	make(1);
	assert_string_equal(
		printed(0, false),
		"one: is the default of network namespace ns1, but bbrctl did not set it\n");
}

static void a_namespace_gets_its_default_back(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	machine_add_default(&found, "ns1", 7, "one");
	add_note("one", 7, "reno");
	expect("one: no longer the default of network namespace ns1\n",
	       "one: is the default of network namespace ns1\n",
	       " [instance one]\n-default_in = ns1\n",
	       "\"change\":\"default_back\",\"netns\":\"ns1\",\"inode\":7,\"old_default\":\"one\"");
}

static void a_route_gets_it(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	add_route(&wanted, "10.1.2.0/24", "one", 0)->is.is_locked = true;
	add_route(&found, "10.1.2.0/24", "cubic", 1);
	expect("one: now the congctl (locked) of route 10.1.2.0/24 in network namespace x (was "
	       "cubic)\n",
	       "one: is not the congctl (locked) of route 10.1.2.0/24 in network namespace x, but "
	       "cubic is\n",
	       " [instance one]\n+route = 10.1.2.0/24 --lock --netns x\n",
	       "\"change\":\"route\",\"prefix\":\"10.1.2.0/24\",\"netns\":\"x\",\"inode\":7,"
	       "\"locked\":true,\"old_congctl\":\"cubic\",\"made\":false");
	/* There is none, or nothing at all leads there. */
	add_route(&found, "0.0.0.0/0", "", 1);
	found.route[0].inode = 8;
	make(1);
	assert_non_null(strstr(printed(0, true), " x, which was made\n"));
	assert_non_null(strstr(printed(0, false), " x, which is not there\n"));
	found.route[1].inode = 8;
	make(0);
	capture_begin();
	step_print_waiting(&plan.waiting[0], "; ");
	capture_end();
	assert_string_equal(captured_output(),
			    "; one: waits: nothing leads to route 10.1.2.0/24 in "
			    "network namespace x yet\n");
}

static void a_route_gets_back_what_it_had(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	add_route(&found, "2001:db8::/32", "one", 1)->is_applied = true;
	expect("one: no longer the congctl of route 2001:db8::/32 in network namespace x\n",
	       "one: is the congctl of route 2001:db8::/32 in network namespace x\n",
	       " [instance one]\n-route = 2001:db8::/32 --netns x\n",
	       "\"change\":\"route_back\",\"prefix\":\"2001:db8::/32\",\"netns\":\"x\","
	       "\"inode\":7,\"locked\":false,\"old_congctl\":\"one\",\"made\":false");
}

static void a_cgroup_is_attached(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	machine_add_attachment(&wanted, "/cg", "one");
	expect("one: attached to /cg\n", "one: is not attached to /cg\n",
	       " [instance one]\n+attach = /cg\n", "\"change\":\"attach\",\"cgroup\":\"/cg\"");
}

static void a_cgroup_is_detached(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	add_attached("/cg", "one");
	expect("one: detached from /cg\n", "one: is attached to /cg\n",
	       " [instance one]\n-attach = /cg\n", "\"change\":\"detach\",\"cgroup\":\"/cg\"");
}

/* Its lines are among those of the instance, so they are not shown twice. */
static void what_comes_with_an_instance_is_shown_once(void **state)
{
	(void)state;
	add(&wanted, "one");
	machine_add_default(&wanted, "ns1", 7, "one");
	machine_add_attachment(&wanted, "/cg", "one");
	make(3);
	assert_string_equal(diff(0), "+[instance one]\n+algorithm = made_up\n+default_in = ns1\n"
				     "+attach = /cg\n+\n+[default]\n");
	assert_string_equal(diff(1), "");
	assert_string_equal(diff(2), "");
}

static void several_steps_in_order(void **state)
{
	(void)state;
	add(&wanted, "new");
	add(&found, "old");
	make(2);
	assert_string_equal(
		json(),
		"{\"changes\":[{\"name\":\"new\",\"change\":\"load\"},"
		"{\"name\":\"old\",\"change\":\"unload\"}],\"left_alone\":[],\"waiting\":[]}\n");
}

static const char *left(size_t i, const char *prefix)
{
	capture_begin();
	step_print_left(&plan.left[i], prefix);
	capture_end();
	return captured_output();
}

static void what_no_apply_made_is_left_alone(void **state)
{
	(void)state;
	add(&wanted, "one");
	add(&found, "one");
	add(&found, "two")->is_applied = false;
	machine_add_default(&found, "ns1", 7, "one");
	add_note("one", 7, "reno");
	found.note[0].is_applied = false;
	machine_add_attachment(&found, "/cg ", "one");
	make(0);
	assert_int_equal(plan.n_left, 3);
	assert_string_equal(left(0, ""),
			    "two: left alone: is loaded, but not by an apply (--prune)\n");
	assert_string_equal(left(1, "; "),
			    "; one: left alone: is the default of network namespace ns1, "
			    "but not by an apply (--prune)\n");
	assert_string_equal(
		left(2, ""),
		"one: left alone: is attached to \"/cg \", but not by an apply (--prune)\n");
	assert_string_equal(
		json(),
		"{\"changes\":[],\"left_alone\":["
		"{\"name\":\"two\",\"change\":\"unload\"},"
		"{\"name\":\"one\",\"change\":\"default_back\",\"netns\":\"ns1\",\"inode\":7,"
		"\"old_default\":\"one\"},"
		"{\"name\":\"one\",\"change\":\"detach\",\"cgroup\":\"/cg \"}],\"waiting\":[]}\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_to_do),
		TEST(an_instance_comes),
		TEST(an_instance_goes),
		TEST(code_of_another_version),
		TEST(code_of_another_algorithm),
		TEST(a_profile_comes),
		TEST(a_profile_goes),
		TEST(each_parameter_that_changes),
		TEST(only_rules_that_differ_are_shown),
		TEST(a_rule_twice_as_often_is_shown_once),
		TEST(a_namespace_gets_a_default),
		TEST(a_namespace_gets_its_default_back),
		TEST(a_route_gets_it),
		TEST(a_route_gets_back_what_it_had),
		TEST(a_cgroup_is_attached),
		TEST(a_cgroup_is_detached),
		TEST(what_comes_with_an_instance_is_shown_once),
		TEST(several_steps_in_order),
		TEST(what_no_apply_made_is_left_alone),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return failed;
}
