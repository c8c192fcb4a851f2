/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine printed as a file: what is in it, and that it is read back as the same machine. Here
 * the algorithms are the real ones, because a file can name no other.
 */
#define _GNU_SOURCE /* struct file_handle */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "machines.h"

#include "cli/json.h"
#include "machine/machine.h"

#include "../capture.h"

/* Instead of the kernel: cgroups that are gone, one that bbrctl may not look for, and the root. */
#define GONE 7
#define GONE_TOO 8
#define HIDDEN 9

int open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
	__u64 id;

	memcpy(&id, handle->f_handle, sizeof(id));
	errno = id == HIDDEN ? EPERM : ESTALE;
	return id == GONE || id == GONE_TOO || id == HIDDEN ? -1 : openat(mount_fd, ".", flags);
}

static struct bbr_term not_in(__u64 cgroup)
{
	return (struct bbr_term){ .kind = BBR_TERM_CGROUP, .is_not = 1, .value = { cgroup } };
}

static struct machine_instance *add_real(const char *name, const char *algorithm)
{
	struct machine_instance *inst = add(&found, name);

	profile_definitions_free(&inst->profiles);
	inst->profiles = (struct profile_definitions){};
	inst->algorithm = inst->profiles.algorithm = algorithm_find(algorithm);
	assert_non_null(inst->algorithm);
	strcpy(inst->version, BBR_VERSION);
	assert_int_equal(profile_definitions_begin(&inst->profiles, "", "default"), EXIT_DONE);
	return inst;
}

static const char *print(const struct machine_instance *inst, const char *prefix, bool all)
{
	capture_begin();
	machine_print(stdout, &found, inst, prefix, all);
	capture_end();
	return captured_output();
}

static const char *json(const struct machine_instance *inst)
{
	struct json j;

	capture_begin();
	json_begin(&j, stdout);
	json_open_array(&j, "all");
	machine_add_json(&j, &found, inst);
	json_close(&j);
	json_end(&j);
	capture_end();
	return captured_output();
}

/* Prints all instances, reads that, and plans the way back. */
static void read_back(bool all)
{
	char path[] = "/tmp/test_machine_text.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < found.n_instances; i++) {
		const char *text = print(&found.instance[i], "", all);

		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	}
	close(fd);
	machine_free(&wanted);
	assert_int_equal(machine_file_read(path, NULL, &wanted), EXIT_DONE);
	unlink(path);
	plan_free(&plan);
	plan_make(&wanted, &found, NULL, false, &plan);
}

static struct machine_instance *add_all(void)
{
	struct machine_instance *inst = add_real("one", "bbr");
	struct bbr_rule rule = { .fields = BBR_RULE_DPORT | BBR_RULE_SPORT | BBR_RULE_MARK,
				 .dport = htons(443),
				 .sport = htons(80),
				 .mark = 7,
				 .profile = 1 };

	add_profile(inst, "default", "cwnd_gain=2.5");
	add_profile(inst, "fast-1.x", "probe_bw_gains=1.5,0.75,1,1,1,1,1,1");
	add_profile(inst, "fast-1.x", "max_pacing_rate=20mbit");
	add_profile(inst, "fast-1.x", "min_rtt_win=20s");
	rule.dst[2] = htonl(0xffff);
	rule.dst[3] = htonl(0x0a000000);
	rule.dst_len = 96 + 8;
	assert_int_equal(rule_list_insert(&inst->rules, 0, &rule), EXIT_DONE);
	add_rule(inst, htons(22), 0);
	return inst;
}

static void only_what_differs_from_the_defaults(void **state)
{
	(void)state;
	assert_string_equal(print(add_real("one", "bbr3"), "", false),
			    "[instance one]\nalgorithm = bbr3\n\n[default]\n");
}

static void each_line_has_the_prefix(void **state)
{
	struct machine_instance *inst = add_all();
	const char *text = print(inst, "+", false);

	(void)state;
	for (; *text; text = strchr(text, '\n') + 1)
		assert_int_equal(text[0], '+');
	assert_non_null(strstr(captured_output(), "+[default]\n+cwnd_gain = 2.5\n"));
	assert_non_null(strstr(captured_output(),
			       "+[rules]\n+rule = --dst 10.0.0.0/8 --dport 443 --sport 80 "
			       "--mark 7 --profile fast-1.x\n"
			       "+rule = --dport 22 --profile default\n"));
}

static void what_is_printed_is_read_back(void **state)
{
	(void)state;
	add_all();
	add_real("two", "bbr3");
	for (int all = 0; all <= 1; all++) {
		read_back(all);
		assert_int_equal(wanted.n_instances, 2);
		assert_int_equal(wanted.instance[0].profiles.n, 2);
		assert_int_equal(wanted.instance[0].rules.n, 2);
		assert_int_equal(plan.n, 0);
	}
	/* Checks the check. */
	add_profile(&found.instance[1], "default", "probe_max_rounds=10");
	read_back(false);
	assert_int_equal(plan.n, 0);
	add_rule(&found.instance[1], htons(1), 0);
	plan_free(&plan);
	plan_make(&wanted, &found, NULL, false, &plan);
	assert_int_equal(plan.n, 1);
}

static void add_rule_not_in(struct machine_instance *inst, __u16 dport, __u64 a, __u64 b)
{
	struct bbr_rule rule = { .fields = BBR_RULE_DPORT, .dport = htons(dport) };

	rule.more[rule.n_more++] = not_in(a);
	if (b)
		rule.more[rule.n_more++] = not_in(b);
	assert_int_equal(rule_list_insert(&inst->rules, inst->rules.n, &rule), EXIT_DONE);
}

/* No connection is in a cgroup that is gone: the condition --not-cgroup always holds, --cgroup never. */
static void conditions_on_cgroups_that_are_gone(void **state)
{
#define LOST "; that cgroup is gone, so this always holds and is left out: --not-cgroup id:"
#define TWIN "; a rule above has the same options: "
	struct machine_instance *inst = add_real("one", "bbr");
	struct bbr_rule rule = { .fields = BBR_RULE_CGROUP, .cgroup = GONE };
	struct attachment *at;

	(void)state;
	at = machine_add_attachment(&found, "/keep", "one");
	at->term[at->n++] = not_in(GONE);
	at = machine_add_attachment(&found, "/more", "one");
	at->term[at->n++] = not_in(GONE);
	at->term[at->n++] = (struct bbr_term){ .kind = BBR_TERM_MARK, .value = { 1 } };
	assert_int_equal(rule_list_insert(&inst->rules, 0, &rule), EXIT_DONE);
	add_rule_not_in(inst, 1, GONE, GONE_TOO);
	add_rule_not_in(inst, 1, GONE, 0);
	add_rule(inst, htons(1), 0);
	add_rule(inst, htons(2), 0);
	add_rule_not_in(inst, 2, 1, GONE);
	add_rule_not_in(inst, 2, GONE, 0);
	assert_string_equal(
		strstr(print(inst, "", false), "attach"),
		"attach = /keep\n" LOST "7\nattach = --mark 1 --cgroup /more\n\n[default]\n"
		"[rules]\n; its cgroup is gone: rule = --profile default --cgroup id:7\n" LOST
		"7 --not-cgroup id:8\nrule = --dport 1 --profile default\n" LOST "7\n" TWIN
		"rule = --dport 1 --profile default\n" TWIN "rule = --dport 1 --profile default\n"
		"rule = --dport 2 --profile default\n" LOST
		"7\nrule = --dport 2 --not-cgroup / --profile default\n" LOST "7\n" TWIN
		"rule = --dport 2 --profile default\n");
	assert_non_null(strstr(captured_output(), LOST "7\nattach = /keep\n"));
	read_back(false);
	assert_int_equal(wanted.instance[0].rules.n, 3);
	assert_int_equal(wanted.n_attached, 2);
}

/* It may be there: so the condition is not left out. */
static void conditions_on_cgroups_that_cannot_be_found(void **state)
{
	struct machine_instance *inst = add_real("one", "bbr");

	(void)state;
	add_rule_not_in(inst, 1, HIDDEN, 0);
	assert_non_null(strstr(print(inst, "", false),
			       "\n; its cgroup cannot be found: rule = --dport 1 --not-cgroup id:9 "
			       "--profile default\n"));
}

/* Lines for pods are printed as lines, whatever pods there are. */
static void lines_for_pods(void **state)
{
	static const char text[] =
		"[instance one]\nalgorithm = bbr\nattach = --not-dst 10.0.0.0/8 --pod web/*-[01]\n"
		"\n[default]\n\n[p]\ncwnd_gain = 1.5\n[rules]\n"
		"rule = --profile p --pod web/*\n"
		"rule = --dport 1 --profile p\n"
		"rule = --dport 2 --profile p --pod db/a\n"
		"rule = --dport 2 --not-dst 10.0.0.0/8 --profile default --pod */*\n"
		"rule = --dport 3 --profile p\n";

	(void)state;
	machine_free(&wanted);
	assert_int_equal(machine_text_read(text, "text", NULL, &wanted), EXIT_DONE);
	assert_int_equal(wanted.n_pods, 4);
	assert_int_equal(wanted.instance[0].rules.n, 2);
	assert_int_equal(machine_pods_place(&wanted, wanted.pods + 1), 0);
	assert_int_equal(machine_pods_place(&wanted, wanted.pods + 2), 1);
	assert_int_equal(machine_pods_place(&wanted, wanted.pods + 3), 1);
	capture_begin();
	machine_print(stdout, &wanted, &wanted.instance[0], "", false);
	capture_end();
	assert_string_equal(captured_output(), text);
	machine_narrow(&wanted, "two");
	assert_int_equal(wanted.n_pods, 0);
}

/* As comments, so that a reader sees what could be set. */
static void all_parameters_on_request(void **state)
{
	struct machine_instance *inst = add_real("one", "bbr");
	const char *text = print(inst, "", true);

	(void)state;
	param_for_each (param, inst->algorithm) {
		char line[64];

		snprintf(line, sizeof(line), "\n; %s = ", param->key);
		assert_non_null(strstr(text, line));
	}
	assert_non_null(strstr(text, "\n[rules]\n"));
}

/* The kernel has defaults that bbrctl did not set. A file has only those that it asks for. */
static void only_defaults_that_bbrctl_set(void **state)
{
	struct machine_instance *inst = add_real("one", "bbr");

	(void)state;
	machine_add_default(&found, "ours", 7, "one");
	machine_add_default(&found, "theirs", 8, "one");
	machine_add_default(&found, "reno's", 9, "reno");
	add_note("one", 7, "cubic");
	machine_add_attachment(&found, "/cg", "one");
	machine_add_attachment(&found, "/other", "two");
	assert_string_equal(print(inst, "", false),
			    "[instance one]\nalgorithm = bbr\ndefault_in = ours\nattach = /cg\n"
			    "\n[default]\n");
	assert_non_null(strstr(json(inst), "\"default_in\":[\"ours\"],\"attach\":[\"/cg\"]"));
	found.is_found = false; /* as if a file had said so */
	assert_non_null(strstr(print(inst, "", false),
			       "default_in = ours\ndefault_in = theirs\nattach = /cg\n"));
}

static void json_has_all_parameters_and_rules(void **state)
{
	struct machine_instance *inst = add_all();
	const char *text = json(inst);

	(void)state;
	assert_non_null(strstr(text, "{\"all\":[{\"name\":\"one\",\"version\":\"" BBR_VERSION
				     "\",\"algorithm\":\"bbr\",\"default_in\":[],\"attach\":[],"
				     "\"attachments\":[],\"routes\":[],"
				     "\"profiles\":[{\"profile\":\"default\",\"params\":{"));
	assert_non_null(strstr(text, "\"cwnd_gain\":2.5"));
	assert_non_null(strstr(text, "\"min_rtt_win\":20000"));
	assert_non_null(strstr(text, "\"probe_bw_gains\":[1.5,0.75,1,1,1,1,1,1]"));
	assert_non_null(strstr(text,
			       "\"rules\":[{\"dst\":\"10.0.0.0/8\",\"dport\":443,\"sport\":80,"
			       "\"mark\":7,\"profile\":\"fast-1.x\"},"
			       "{\"dport\":22,\"profile\":\"default\"}]}]}\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_what_differs_from_the_defaults),
		TEST(each_line_has_the_prefix),
		TEST(what_is_printed_is_read_back),
		TEST(all_parameters_on_request),
		TEST(only_defaults_that_bbrctl_set),
		TEST(json_has_all_parameters_and_rules),
		TEST(lines_for_pods),
		TEST(conditions_on_cgroups_that_are_gone),
		TEST(conditions_on_cgroups_that_cannot_be_found),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return failed;
}
