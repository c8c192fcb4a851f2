/* SPDX-License-Identifier: GPL-2.0-only */
/* What people, programs and scripts are told about a migration, whatever happened to the sockets. */
#include <errno.h>
#include <stdlib.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "fixture.h"

#include "cli/json.h"
#include "migration/migration.h"

#include "../capture.h"

#define MOST 16
#define KERNEL_ENOTSUPP 524

static struct migrate_record records[MOST];
static struct migration m;

static int begin(void **state)
{
	(void)state;
	err_init("bbrctl", false);
	m = (struct migration){ .config = { .from = "cubic", .to = "bpf_bbr" },
				.records = records,
				.namespaces = 2 };
	return 0;
}

static struct migrate_record *add(int what, int state, int error)
{
	assert_true(m.n < MOST);
	records[m.n] = (struct migrate_record){
		.cookie = m.n + 1,
		.netns = 4026531840u,
		.error = error,
		.laddr = { 0, 0, htonl(0xffff), htonl(0x0a000001) },
		.lport = htons(443),
		.rport = htons(50000),
		.family = AF_INET6,
		.state = state,
		.what = what,
	};
	inet_pton(AF_INET6, "2001:db8::7", records[m.n].raddr);
	return &records[m.n++];
}

static const char *printed(void)
{
	capture_begin();
	migration_print(&m);
	capture_end();
	assert_string_equal(captured_messages(), "");
	return captured_output();
}

static const char *json(void)
{
	struct json j;

	capture_begin();
	json_begin(&j, stdout);
	migration_add_json(&j, &m);
	json_end(&j);
	capture_end();
	return captured_output();
}

static void expect_judgement(int ret, const char *messages)
{
	int found;

	capture_begin();
	found = migration_judge(&m);
	capture_end();
	assert_string_equal(captured_messages(), messages);
	assert_int_equal(found, ret);
	assert_string_equal(captured_output(), "");
}

static void no_socket_matches(void **state)
{
	(void)state;
	assert_string_equal(printed(), "");
	expect_judgement(EXIT_NOTHING, "bbrctl: no matching connection uses cubic\n");
	assert_string_equal(json(),
			    "{\"from\":\"cubic\",\"to\":\"bpf_bbr\",\"dry_run\":false,"
			    "\"namespaces\":2,\"namespaces_unseen\":null,"
			    "\"left_in_other_namespaces\":null,\"moved\":0,\"listeners_moved\":0,"
			    "\"listeners_left\":0,\"failed\":0,\"errors\":[],"
			    "\"unfinished\":false,\"subflows_moved\":0}\n");
}

static void connections_and_listeners(void **state)
{
	(void)state;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	assert_string_equal(
		printed(), "moved 1 connection from cubic to bpf_bbr, in this network namespace\n");
	add(MIGRATE_MOVED, TCP_CLOSE_WAIT, 0);
	add(MIGRATE_MOVED, TCP_LISTEN, 0);
	assert_string_equal(printed(), "moved 2 connections and 1 listener from cubic to bpf_bbr, "
				       "in this network namespace\n");
	expect_judgement(EXIT_DONE, "");
	assert_non_null(strstr(json(), "\"moved\":2,\"listeners_moved\":1,\"listeners_left\":0,"
				       "\"failed\":0,\"errors\":[]"));
	m.config.dry_run = true;
	assert_string_equal(printed(), "would move 2 connections and 1 listener from cubic to "
				       "bpf_bbr, in this network namespace\n");
	assert_non_null(strstr(json(), "\"dry_run\":true"));
}

/* A listener that stays hands the old congestion control on, so it is told. */
static void listeners_that_stay(void **state)
{
	(void)state;
	add(MIGRATE_LEFT, TCP_LISTEN, 0);
	assert_string_equal(printed(),
			    "moved 0 connections from cubic to bpf_bbr, in this network namespace\n"
			    "1 listener left with cubic, as are the connections that they will "
			    "accept; --listeners moves them, too\n");
	expect_judgement(EXIT_NOTHING, "bbrctl: no matching connection uses cubic\n");
	add(MIGRATE_LEFT, TCP_LISTEN, 0);
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	assert_non_null(strstr(printed(), "\n2 listeners left with cubic"));
	expect_judgement(EXIT_DONE, "");
	assert_non_null(strstr(json(), "\"moved\":1,\"listeners_moved\":0,\"listeners_left\":2"));
}

static void subflows_of_mptcp(void **state)
{
	struct migrate_record *r;

	(void)state;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	add(MIGRATE_MOVED, TCP_LISTEN, 0)->is_subflow = true;
	add(MIGRATE_FAILED, TCP_ESTABLISHED, -EPERM)->is_subflow = true;
	assert_null(strstr(printed(), "MPTCP"));
	r = add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	r->is_subflow = true;
	r->mptcp_token = 0xa1b2c3d4;
	assert_non_null(strstr(printed(), "\n1 of them is a subflow of MPTCP; later subflows get "
					  "the congestion control of their MPTCP socket\n"));
	assert_non_null(strstr(json(), "\"subflows_moved\":1"));
	assert_null(strstr(printed(), "a1b2c3d4"));
	err_init("bbrctl", true);
	assert_non_null(strstr(printed(), " netns 4026531840 mptcp a1b2c3d4\n"));
	assert_non_null(strstr(json(), "\"mptcp_token\":2712847316}"));
	assert_non_null(strstr(json(), "\"mptcp_token\":null}"));
}

static void where_it_was_and_what_was_left_elsewhere(void **state)
{
	(void)state;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	m.netns = "a\x1b";
	assert_string_equal(
		printed(),
		"moved 1 connection from cubic to bpf_bbr, in network namespace \"a\\x1b\"\n");
	m.netns = NULL;
	m.all_netns = true;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	add(MIGRATE_LEFT, TCP_LISTEN, 0)->netns = 7;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0)->netns = 8;
	assert_non_null(strstr(
		printed(), "moved 3 connections from cubic to bpf_bbr, in 2 network namespaces\n"));
	m.all_netns = false;
	m.others_known = true;
	assert_null(strstr(printed(), "left alone"));
	assert_non_null(strstr(json(), "\"left_in_other_namespaces\":0"));
	m.others = 3;
	m.others_namespaces = 2;
	assert_non_null(
		strstr(printed(),
		       "left alone: 3 connections in 2 other network namespaces (--all-netns)\n"));
	m.others = m.others_namespaces = 1;
	m.others_partly = true;
	m.n = 0;
	assert_string_equal(
		printed(),
		"left alone: at least 1 connection in 1 other network namespace (--all-netns)\n");
	assert_non_null(strstr(json(), "\"left_in_other_namespaces\":null"));
}

static void sockets_that_could_not_be_moved(void **state)
{
	(void)state;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	add(MIGRATE_FAILED, TCP_ESTABLISHED, -KERNEL_ENOTSUPP);
	add(MIGRATE_FAILED, TCP_LISTEN, -EPERM);
	add(MIGRATE_FAILED, TCP_ESTABLISHED, -EPERM);
	add(MIGRATE_FAILED, TCP_ESTABLISHED, -ENOENT);
	add(MIGRATE_FAILED, TCP_ESTABLISHED, -EINVAL);
	expect_judgement(EXIT_REFUSED,
			 "bbrctl: 2 could not be moved: the new congestion control is restricted\n"
			 "bbrctl: 1 could not be moved: the kernel no longer has the new "
			 "congestion control\n"
			 "bbrctl: 1 could not be moved: Invalid argument\n"
			 "bbrctl: 1 could not be moved: BPF may not move a socket to it\n");
	assert_non_null(strstr(
		json(), "\"failed\":5,\"errors\":[{\"errno\":1,\"error\":\"the new congestion "
			"control is restricted\",\"count\":2},{\"errno\":2,"));
}

static void sockets_that_keep_coming(void **state)
{
	(void)state;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	m.unfinished = true;
	expect_judgement(EXIT_REFUSED,
			 "bbrctl: not finished: new sockets with cubic keep coming\n"
			 "  stop new sockets from getting it (the default; listeners: "
			 "--listeners), and run it again\n");
	assert_non_null(strstr(json(), "\"unfinished\":true,"));
	m.stopped = true; /* the signal was told when it came */
	expect_judgement(EXIT_REFUSED, "");
}

static void each_socket_on_request(void **state)
{
	(void)state;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	add(MIGRATE_FAILED, TCP_FIN_WAIT1, -EBUSY);
	add(MIGRATE_LEFT, TCP_LISTEN, 0);
	add(MIGRATE_MOVED, 99, 0);
	assert_null(strstr(json(), "sockets"));
	err_init("bbrctl", true);
	assert_string_equal(
		printed(),
		"moved  ESTABLISHED 10.0.0.1:443 [2001:db8::7]:50000 netns 4026531840\n"
		"failed FIN_WAIT1   10.0.0.1:443 [2001:db8::7]:50000 netns 4026531840\n"
		"left   LISTEN      10.0.0.1:443 [2001:db8::7]:50000 netns 4026531840\n"
		"moved  ?           10.0.0.1:443 [2001:db8::7]:50000 netns 4026531840\n"
		"moved 2 connections from cubic to bpf_bbr, in this network namespace\n"
		"1 listener left with cubic, as are the connections that they will accept; "
		"--listeners moves them, too\n");
	assert_non_null(strstr(json(), "\"sockets\":[{\"netns\":4026531840,\"local\":\"10.0.0.1\","
				       "\"local_port\":443,\"remote\":\"2001:db8::7\","
				       "\"remote_port\":50000,\"state\":\"ESTABLISHED\","
				       "\"result\":\"moved\",\"errno\":0,\"mptcp_token\":null},{"));
	assert_non_null(strstr(captured_output(),
			       "\"state\":\"FIN_WAIT1\",\"result\":\"failed\",\"errno\":16,"));
}

/* It moved what it found; a kernel that does not list namespaces is no failure. */
static void namespaces_that_cannot_be_found(void **state)
{
	(void)state;
	add(MIGRATE_MOVED, TCP_ESTABLISHED, 0);
	m.all_netns = true;
	m.unseen = 1;
	expect_judgement(EXIT_REFUSED,
			 "bbrctl: migrate: 1 network namespace cannot be "
			 "found from here\n"
			 "  run it where /proc shows the processes of the whole machine, as with "
			 "docker's --pid=host\n");
	assert_non_null(strstr(json(), "\"namespaces_unseen\":1,"));
	m.unseen = -EPERM;
	expect_judgement(EXIT_DONE, "bbrctl: migrate: cannot tell whether all network "
				    "namespaces were found: Operation not permitted\n");
	assert_non_null(strstr(json(), "\"namespaces_unseen\":null,"));
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_socket_matches),	TEST(connections_and_listeners),
		TEST(listeners_that_stay),	TEST(sockets_that_could_not_be_moved),
		TEST(subflows_of_mptcp),	TEST(where_it_was_and_what_was_left_elsewhere),
		TEST(sockets_that_keep_coming), TEST(namespaces_that_cannot_be_found),
		TEST(each_socket_on_request),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return failed;
}
