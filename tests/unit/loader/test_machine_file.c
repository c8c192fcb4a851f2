/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that describe how a machine should be: what is read from them, and which mistakes are
 * found.
 */
#include <stdlib.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <sys/stat.h>

#include "fixture.h"

#include "machine/machine.h"

#include "../capture.h"

#define A16 "aaaaaaaaaaaaaaaa"
#define A256 A16 A16 A16 A16 A16 A16 A16 A16 A16 A16 A16 A16 A16 A16 A16 A16

static char folder[] = "/tmp/test_machine_file.XXXXXX";
static struct machine m;

static int begin(void **state)
{
	(void)state;
	m = (struct machine){};
	return 0;
}

static int end(void **state)
{
	(void)state;
	machine_free(&m);
	return 0;
}

static const char *write_file(const char *name, const char *text)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static int read_text(const char *text, const char *name)
{
	const char *path = write_file("file", text);
	int ret;

	machine_free(&m);
	ret = machine_file_read(path, name, &m);
	unlink(path);
	return ret;
}

static const char *value(size_t instance, const char *profile, const char *key)
{
	static char text[PARAM_TEXT_LEN];
	const struct profile_definition *def =
		profile_definitions_find(&m.instance[instance].profiles, profile);

	assert_non_null(def);
	param_format(param_find(def->params.algorithm, key, strlen(key)), &def->params, text,
		     sizeof(text));
	return text;
}

static void all_of_a_file(void **state)
{
	(void)state;
	assert_int_equal(read_text("; a comment\n"
				   "[instance one]\n"
				   "default_in = /proc/self/ns/net\n"
				   "[default]\n"
				   "cwnd_gain = 2.5\n"
				   "[fast]\n"
				   "bw_win = 11\n"
				   "[rules]\n"
				   "rule = --dport 443 --profile fast\n"
				   "rule = --profile default\n"
				   "[instance two]\n"
				   "algorithm = bbr3\n",
				   NULL),
			 EXIT_DONE);
	assert_int_equal(m.n_instances, 2);
	assert_false(m.is_tuning);
	assert_string_equal(m.instance[0].algorithm->name, "bbr");
	assert_string_equal(m.instance[0].version, BBR_VERSION);
	assert_int_equal(m.instance[0].profiles.n, 2);
	assert_string_equal(value(0, "default", "cwnd_gain"), "2.5");
	assert_string_equal(value(0, "fast", "bw_win"), "11");
	assert_int_equal(m.instance[0].rules.n, 2);
	assert_string_equal(machine_rule_profile(&m.instance[0], &m.instance[0].rules.rule[0]),
			    "fast");
	assert_int_equal(m.n_defaults, 1);
	assert_string_equal(m.def[0].name, "one");
	/* What the file leaves out: a profile default with default values. */
	assert_string_equal(m.instance[1].algorithm->name, "bbr3");
	assert_int_equal(m.instance[1].profiles.n, 1);
	assert_int_equal(param_set_changed(&m.instance[1].profiles.def[0].params), 0);
}

static void an_empty_file_wants_nothing(void **state)
{
	(void)state;
	assert_int_equal(read_text("; nothing\n", NULL), EXIT_DONE);
	assert_int_equal(m.n_instances, 0);
	assert_false(m.is_tuning);
}

static void a_rule_may_name_the_default_before_it_is_there(void **state)
{
	(void)state;
	assert_int_equal(read_text("[instance one]\n[rules]\nrule = --profile default\n"
				   "[default]\nbw_win = 11\n",
				   NULL),
			 EXIT_DONE);
	assert_int_equal(m.instance[0].profiles.n, 1);
	assert_string_equal(value(0, "default", "bw_win"), "11");
}

static void known_profiles_are_built_on(void **state)
{
	(void)state;
	assert_int_equal(read_text("[instance one]\n[p]\nfrom = tsunami\nbw_win = 11\n", NULL),
			 EXIT_DONE);
	assert_string_equal(value(0, "p", "bw_win"), "11");
	assert_string_equal(value(0, "p", "min_rtt_win"), "20s");
	/* bbrmo needs values. */
	assert_int_equal(read_text("[instance one]\n[p]\nfrom = bbrmo\npin_bw = 10mbit\n", NULL),
			 EXIT_USAGE);
	assert_int_equal(
		read_text("[instance one]\n[p]\nfrom = bbrmo\npin_bw = 10mbit\npin_min_rtt = 9ms\n",
			  NULL),
		EXIT_DONE);
}

static void only_one_instance(void **state)
{
	static const char text[] =
		"[instance one]\ndefault_in = /proc/self/ns/net\n[instance two]\n";

	(void)state;
	assert_int_equal(read_text(text, "two"), EXIT_DONE);
	assert_int_equal(m.n_instances, 1);
	assert_string_equal(m.instance[0].name, "two");
	assert_int_equal(m.n_defaults, 0);
	assert_int_equal(read_text(text, "three"), EXIT_USAGE);
}

static void files_of_before_are_of_one_instance(void **state)
{
	static const char text[] = "algorithm = bbr\n[default]\nbw_win = 11\n[rules]\n";

	(void)state;
	assert_int_equal(read_text(text, "mine"), EXIT_DONE);
	assert_true(m.is_tuning);
	assert_string_equal(m.instance[0].name, "mine");
	assert_string_equal(value(0, "default", "bw_win"), "11");
	assert_int_equal(read_text(text + strlen("algorithm = bbr\n"), NULL), EXIT_DONE);
	assert_string_equal(m.instance[0].name, "bpf_bbr");
}

static void the_usual_name_of_another_algorithm_is_refused(void **state)
{
	(void)state;
	assert_int_equal(read_text("[instance bpf_bbr]\nalgorithm = bbr3\n", NULL), EXIT_USAGE);
	assert_int_equal(read_text("[instance bpf_bbr_ecn]\nalgorithm = bbr3\n", NULL), EXIT_USAGE);
	assert_int_equal(read_text("[instance bpf_bbr3]\n", NULL), EXIT_USAGE);
	assert_int_equal(read_text("[instance bpf_bbr3_ecn]\nalgorithm = bbr\n", NULL), EXIT_USAGE);
	/* The instance's name comes from elsewhere. */
	assert_int_equal(read_text("algorithm = bbr3\n[default]\n", NULL), EXIT_USAGE);
	assert_int_equal(read_text("algorithm = bbr3\n[default]\n", "bpf_bbr"), EXIT_USAGE);
	assert_int_equal(read_text("algorithm = bbr3\n[default]\n", "mine"), EXIT_DONE);
	assert_string_equal(m.instance[0].algorithm->name, "bbr3");
}

static void names_that_are_no_other_algorithms_are_taken(void **state)
{
	static const char *const fine[] = {
		"[instance bpf_bbr]\nalgorithm = bbr\n",
		"[instance bpf_bbr_ecn]\n",
		"[instance bpf_bbr3]\nalgorithm = bbr3\n",
		"[instance bpf_bbr3_ecn]\nalgorithm = bbr3\n",
		"[instance bpf_bbr3_x]\nalgorithm = bbr\n",
		"[instance bpf_bb]\nalgorithm = bbr3\n",
		"[instance Bpf_bbr]\nalgorithm = bbr3\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		if (read_text(fine[i], NULL))
			fail_msg("refused: %s", fine[i]);
}

static void a_folder_is_read_in_order(void **state)
{
	(void)state;
	write_file("10.conf", "[instance one]\n[default]\nbw_win = 11\ncwnd_gain = 3\n[a]\n"
			      "[rules]\nrule = --dport 1 --profile a\n");
	write_file("20.conf", "[instance one]\n[default]\nbw_win = 12\n[rules]\n"
			      "rule = --dport 2 --profile a\n[instance two]\n");
	write_file("30.ini", "[this is no file of it\n");
	assert_int_equal(machine_file_read(folder, NULL, &m), EXIT_DONE);
	assert_int_equal(m.n_instances, 2);
	/* A later file replaces a profile as a whole: what it leaves out is at its default. */
	assert_string_equal(value(0, "default", "bw_win"), "12");
	assert_string_equal(value(0, "default", "cwnd_gain"), "2");
	assert_int_equal(m.instance[0].rules.n, 2);
	assert_int_equal(m.instance[0].profiles.n, 2);
	/* No file in a folder may be for one instance only. */
	machine_free(&m);
	write_file("30.conf", "[default]\n");
	assert_int_equal(machine_file_read(folder, NULL, &m), EXIT_USAGE);
	for (int i = 1; i <= 3; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%d0.conf", folder, i);
		unlink(path);
	}
	unlink(write_file("30.ini", ""));
}

/* Nothing has to be there yet, and what is made later has the same path. */
static void a_cgroup_that_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(read_text("[instance one]\nattach = bbrt/no/such.service\n"
				   "attach = --not-dst 10.0.0.0/8 --dev eth0 --cgroup /bbrt/b c\n",
				   NULL),
			 EXIT_DONE);
	assert_int_equal(m.n_attached, 2);
	assert_string_equal(attachment_below(&m.attached[0]), "bbrt/no/such.service");
	assert_string_equal(attachment_below(&m.attached[1]), "bbrt/b c");
	assert_int_equal(m.attached[1].n, 2);
	assert_false(attachment_equal(&m.attached[0], &m.attached[1]));
}

static void routes_have_prefixes(void **state)
{
	(void)state;
	assert_int_equal(
		read_text("[instance one]\nroute = 203.0.113.7/24 --lock\n"
			  "route = ::/0 --netns /proc/thread-self/ns/net\n"
			  "[instance two]\nroute = 0.0.0.0/0 --netns \"/proc/self/ns/net\"\n",
			  NULL),
		EXIT_DONE);
	assert_int_equal(m.n_routes, 3);
	assert_string_equal(m.route[0].netns, "/proc/thread-self/ns/net");
	assert_true(m.route[0].is.is_locked);
	assert_int_equal(m.route[0].is.to.len, 96 + 24);
	assert_int_equal(ntohl(m.route[0].is.to.addr[3]), 0xcb007100);
	assert_int_equal(m.route[1].is.to.len, 0);
	assert_false(m.route[1].is.is_locked);
	assert_string_equal(m.route[2].name, "two");
	assert_int_equal(m.route[2].is.to.len, 96);
	assert_int_equal(m.route[0].inode, m.route[2].inode);
}

/* A rule is enough for a profile that is built in; a section for it may still follow. */
static void a_built_in_profile_needs_no_section(void **state)
{
	(void)state;
	assert_int_equal(read_text("[instance one]\n[rules]\nrule = --dport 1 --profile tsunami\n"
				   "rule = --dport 2 --profile bbrplus\n[bbrplus]\nbw_win = 11\n",
				   NULL),
			 EXIT_DONE);
	assert_string_equal(value(0, "tsunami", "bw_win"), "15");
	assert_string_equal(value(0, "bbrplus", "bw_win"), "11");
	assert_int_equal(m.instance[0].rules.n, 2);
}

static void what_is_wrong_is_refused(void **state)
{
	static const char *const wrong[] = {
		"[instance]\n",
		"[instance ]\n",
		"[instance a/b]\n",
		"[instance abcdefghijklmnop]\n",
		"[instance one]\n[instance one]\n",
		"[default]\n[instance one]\n",
		"[instance one]\nalgorithm = cubic\n",
		"[instance one]\ncwnd_gain = 2\n",
		"[instance one]\ndefault_in = nobody\n",
		"[instance one]\ndefault_in = /dev/null\n",
		"[instance one]\ndefault_in = /proc/self/ns/net\n"
		"[instance two]\ndefault_in = /proc/self/ns/net\n",
		"[instance one]\nattach = \n",
		"[instance one]\nattach = a/../b\n",
		"[instance one]\nattach = a\nattach = ./a/\n",
		"[instance one]\nattach = a/" A256 "/b\n",
		"[instance one]\nattach = \"a\\nb\"\n",
		"[instance one]\nattach = --not-dst 10.0.0.0/8 --cgroup " A256 "\n",
		"[instance one]\n[rules]\nrule = --profile default --cgroup " A256 "\n",
		"[instance one]\nattach = --not-dst 10.0.0.0/8\n",
		"[instance one]\nroute = 10.0.0.0/33\n",
		"[instance one]\nroute = 10.0.0.0/8 10.0.0.0/9\n",
		"[instance one]\nroute = --lock\n",
		"[instance one]\nroute = 10.0.0.0/8 --netns bbrt_nobody\n",
		"[instance one]\nroute = 10.0.0.0/8\n[instance two]\nroute = 10.0.0.1/8\n",
		"[instance one]\nattach = --profile default --cgroup a\n",
		"[instance one]\nattach = --not-dst ten --cgroup a\n",
		"[instance one]\n[rules]\nrule = --profile brutal-ly\n",
		"[instance one]\n[default]\nno_such_key = 1\n",
		"[instance one]\n[default]\nbw_win = 0\n",
		"[instance one]\n[p]\n[p]\n",
		"[instance one]\n[p]\nfrom = nobody\n",
		"[instance one]\n[p]\nbw_win = 11\nfrom = tsunami\n",
		"[instance one]\n[rules]\nrule = --profile nobody\n",
		"[instance one]\n[rules]\nbw_win = 11\n",
		"[instance one]\n[rules]\nrule = --profile default\nrule = --profile default\n",
		"default_in = /proc/self/ns/net\n",
		"word\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!read_text(wrong[i], NULL))
			fail_msg("taken: %s", wrong[i]);
	assert_int_equal(machine_file_read("/no/such/file", NULL, &m), EXIT_USAGE);
	/* A folder without a file is not an empty file, which would take everything away. */
	assert_int_equal(machine_file_read(folder, NULL, &m), EXIT_USAGE);
}

/* A message about a line of conditions names the key of that line. */
static void a_wrong_line_is_named_by_its_key(void **state)
{
	static const char *const wrong[] = {
		"--pod",   "--dst", "--no-such 1 --cgroup a", "--dst \"", "--pod a/b --cgroup c",
		"--cgroup"
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		for (int is_rule = 0; is_rule < 2; is_rule++) {
			const char *key = is_rule ? "rule" : "attach";
			const char *verb = is_rule ? "options of rule add" : "options of attach";
			const char *said;

			snprintf(text, sizeof(text), "[instance one]\n%s%s = %s\n",
				 is_rule ? "[rules]\n" : "", key, wrong[i]);
			capture_begin();
			read_text(text, NULL);
			capture_end();
			said = captured_messages();
			snprintf(text, sizeof(text), ": %s: --", key);
			if (!strstr(said, text) ||
			    (strstr(said, "options of") && !strstr(said, verb)))
				fail_msg("%s: %s", wrong[i], said);
		}
	capture_free();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_of_a_file),
		TEST(an_empty_file_wants_nothing),
		TEST(a_rule_may_name_the_default_before_it_is_there),
		TEST(known_profiles_are_built_on),
		TEST(only_one_instance),
		TEST(files_of_before_are_of_one_instance),
		TEST(the_usual_name_of_another_algorithm_is_refused),
		TEST(names_that_are_no_other_algorithms_are_taken),
		TEST(a_folder_is_read_in_order),
		TEST(a_cgroup_that_is_not_there),
		TEST(routes_have_prefixes),
		TEST(a_built_in_profile_needs_no_section),
		TEST(what_is_wrong_is_refused),
		TEST(a_wrong_line_is_named_by_its_key),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(folder) || failed;
}
