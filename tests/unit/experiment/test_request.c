/* SPDX-License-Identifier: GPL-2.0-only */
/* What the command line of `experiment start` asks for. */
#include <arpa/inet.h>

#include "../loader/fixture.h"
#include "experiment/running/running.h"
#include "tuning/rule_text.h"

static const char *two_arms[] = { "old=cubic", "new=bpf_bbr:gentle" };
static const char *four_arms[] = { "a=cubic", "b=reno", "c=bbr", "d=bpf_bbr" };
static const struct socket_filter any;

#define LIST(...)                          \
	{ (const char *[]){ __VA_ARGS__ }, \
	  sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(const char *) }
#define OPTIONS(...) ((struct experiment_options){ .arms = { two_arms, 2 }, __VA_ARGS__ })

static struct experiment_request parsed(struct experiment_options opt)
{
	struct experiment_request r;

	assert_int_equal(experiment_request_parse("exp", &opt, &any, &r), EXIT_DONE);
	return r;
}

static void refused(struct experiment_options opt)
{
	struct experiment_request r;

	assert_int_equal(experiment_request_parse("exp", &opt, &any, &r), EXIT_USAGE);
}

static void defaults(void **state)
{
	struct experiment_request r = parsed(OPTIONS());

	(void)state;
	assert_int_equal(r.config.magic, EXPERIMENT_MAGIC);
	assert_int_equal(r.config.size, sizeof(r.config));
	assert_string_equal(r.config.name, "exp");
	assert_int_equal(r.config.design, EXPERIMENT_AB);
	assert_int_equal(r.config.unit, EXPERIMENT_BY_CONNECTION);
	assert_int_equal(r.config.arms, 2);
	assert_string_equal(r.config.arm[0].label, "old");
	assert_string_equal(r.config.arm[0].cc, "cubic");
	assert_int_equal(r.config.arm[0].profile, EXPERIMENT_NO_PROFILE);
	assert_string_equal(r.config.arm[1].cc, "bpf_bbr");
	assert_string_equal(r.config.arm[1].profile_name, "gentle");
	assert_int_equal(r.config.arm[1].profile, 0);
	assert_int_equal(r.config.prefix4, 96 + 24);
	assert_int_equal(r.config.prefix6, 48);
	assert_int_equal(r.config.outcomes, EXPERIMENT_RING);
	assert_int_equal(r.share[0], 5000);
	assert_int_equal(r.share[1], 5000);
	assert_int_equal(r.config.block, 0);
}

static void arms(void **state)
{
	struct experiment_request r;

	(void)state;
	r = parsed((struct experiment_options){ .arms = { four_arms, 4 } });
	assert_int_equal(r.config.arms, 4);
	assert_int_equal(r.share[3], 2500);
	r = parsed((struct experiment_options){ .arms = LIST("a=cubic", "b=cubic") }); /* A/A */
	assert_string_equal(r.config.arm[1].cc, "cubic");
	refused((struct experiment_options){ .arms = LIST("a=cubic") });
	refused((struct experiment_options){ .arms = LIST("a=1", "b=1", "c=1", "d=1", "e=1") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "a=reno") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "b") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "b=") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "=reno") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "b=bpf_bbr:") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "b=bpf_bbr:a b") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "b=sixteen_letters_") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "sixteen_letters_=reno") });
	refused((struct experiment_options){ .arms = LIST("a=cubic", "b c=reno") });
}

static void shares(void **state)
{
	struct experiment_request r = parsed(OPTIONS(.shares = LIST("new=1%")));
	const struct value_list four = { four_arms, 4 };

	(void)state;
	assert_int_equal(r.share[0], 9900);
	assert_int_equal(r.share[1], 100);
	r = parsed(OPTIONS(.shares = LIST("old=2.5", "new=97.5%")));
	assert_int_equal(r.share[0], 250);
	r = parsed((struct experiment_options){ .arms = four, .shares = LIST("b=10%") });
	assert_int_equal(r.share[0], 3000);
	assert_int_equal(r.share[1], 1000);
	assert_int_equal(r.share[2], 3000);
	r = parsed((struct experiment_options){ .arms = four, .shares = LIST("b=0.01%") });
	assert_int_equal(r.share[0] + r.share[2] + r.share[3], 9999);
	refused(OPTIONS(.shares = LIST("new=0%")));
	refused(OPTIONS(.shares = LIST("new=0.001%")));
	refused(OPTIONS(.shares = LIST("new=101%")));
	refused(OPTIONS(.shares = LIST("new=100%"))); /* nothing is left for old */
	refused(OPTIONS(.shares = LIST("new=5%", "old=5%")));
	refused(OPTIONS(.shares = LIST("new=5%", "new=5%")));
	refused(OPTIONS(.shares = LIST("none=5%")));
	refused(OPTIONS(.shares = LIST("new")));
	refused(OPTIONS(.shares = LIST("new=-5%")));
	refused(OPTIONS(.shares = LIST("new=nan%")));
}

static void switchback(void **state)
{
	struct experiment_request r = parsed(OPTIONS(.design = "switchback"));

	(void)state;
	assert_int_equal(r.config.block, 60000000000);
	assert_int_equal(r.config.washout, 10000000000);
	r = parsed(OPTIONS(.design = "switchback", .block = "30s", .washout = "0s", .seed = "7"));
	assert_int_equal(r.config.block, 30000000000);
	assert_int_equal(r.config.washout, 0);
	assert_int_equal(r.config.seed, 7);
	refused(OPTIONS(.design = "switchback", .block = "30s", .washout = "30s"));
	refused(OPTIONS(.design = "switchback", .block = "1ms"));
	refused(OPTIONS(.design = "switchback", .block = "30"));
	refused(OPTIONS(.design = "switchback", .shares = LIST("new=5%")));
	refused(OPTIONS(.block = "30s"));
	refused(OPTIONS(.washout = "1s"));
}

#define CANARY .design = "canary", .guards = LIST("retransmitted < 1.2x")

static void canary(void **state)
{
	struct experiment_request r = parsed(OPTIONS(CANARY));
	static const __u32 steps[] = { 100, 500, 2500, 5000, 10000, 0, 0, 0 };

	(void)state;
	assert_memory_equal(r.config.step, steps, sizeof(steps));
	assert_int_equal(r.share[1], 100);
	assert_int_equal(r.share[0], 9900);
	assert_int_equal(r.config.step_connections, 100);
	assert_int_equal(r.config.step_seconds, 60);
	assert_string_equal(r.config.guard[0], "retransmitted < 1.2x");
	r = parsed(OPTIONS(CANARY, .steps = "0.5%,100%", .step_connections = "7",
			   .step_time = "1500ms"));
	assert_int_equal(r.config.step[0], 50);
	assert_int_equal(r.config.step[2], 0);
	assert_int_equal(r.config.step_connections, 7);
	assert_int_equal(r.config.step_seconds, 2);
	refused(OPTIONS(.design = "canary"));
	refused(OPTIONS(.design = "canary", .guards = LIST("no_such_metric < 1.2x")));
	refused(OPTIONS(CANARY, .steps = "1,50"));
	refused(OPTIONS(CANARY, .steps = "5,1,100"));
	refused(OPTIONS(CANARY, .steps = "5,5,100"));
	refused(OPTIONS(CANARY, .steps = "5,,100"));
	refused(OPTIONS(CANARY, .steps = ""));
	refused(OPTIONS(CANARY, .steps = "1,2,3,4,5,6,7,8,100"));
	refused(OPTIONS(CANARY, .step_time = "1"));
	refused(OPTIONS(CANARY, .step_connections = "0"));
	refused(OPTIONS(CANARY, .step_connections = "500")); /* 1 % of what is kept is 655 */
	parsed(OPTIONS(CANARY, .step_connections = "500", .keep = "100000"));
	refused(OPTIONS(CANARY, .shares = LIST("new=5%")));
	refused(OPTIONS(.steps = "1,100"));
	refused(OPTIONS(.guards = LIST("retransmitted < 1.2x")));
	refused((struct experiment_options){ .arms = { four_arms, 3 }, CANARY });
}

static void the_rest(void **state)
{
	struct experiment_request r;

	(void)state;
	assert_int_equal(parsed(OPTIONS(.by = "prefix")).config.unit, EXPERIMENT_BY_PREFIX);
	r = parsed(OPTIONS(.by = "prefix", .prefix = "32,64"));
	assert_int_equal(r.config.prefix4, 128);
	assert_int_equal(r.config.prefix6, 64);
	assert_int_equal(parsed(OPTIONS(.keep = "1")).config.outcomes, 1024);
	assert_int_equal(parsed(OPTIONS(.keep = "65537")).config.outcomes, 131072);
	refused(OPTIONS(.by = "client"));
	refused(OPTIONS(.prefix = "24,48"));
	refused(OPTIONS(.by = "connection", .prefix = "24,48"));
	refused(OPTIONS(.by = "prefix", .prefix = "24"));
	refused(OPTIONS(.by = "prefix", .prefix = "0,48"));
	refused(OPTIONS(.by = "prefix", .prefix = "33,48"));
	refused(OPTIONS(.by = "prefix", .prefix = "24,129"));
	refused(OPTIONS(.by = "prefix", .prefix = "24,48,"));
	refused(OPTIONS(.keep = "0"));
	refused(OPTIONS(.keep = "2000000"));
	refused(OPTIONS(.keep = "-1"));
	refused(OPTIONS(.seed = "x"));
	refused(OPTIONS(.seed = "4294967296"));
	refused(OPTIONS(.design = "other"));
}

static void names_and_scope(void **state)
{
	const struct socket_filter filter = {
		.dst = "10.1.2.3/8", .dport = "443", .sport = "80", .mark = "0", .cgroup = "/none"
	};
	const struct experiment_options opt = OPTIONS();
	struct experiment_request r;

	(void)state;
	assert_int_equal(experiment_request_parse("", &opt, &any, &r), EXIT_USAGE);
	assert_int_equal(experiment_request_parse("a b", &opt, &any, &r), EXIT_USAGE);
	assert_int_equal(experiment_request_parse("sixteen_letters_", &opt, &any, &r), EXIT_USAGE);
	assert_int_equal(experiment_request_parse("fifteen_letters", &opt, &filter, &r), EXIT_DONE);
	assert_int_equal(r.config.scope.dst_len, 96 + 8);
	assert_int_equal(r.config.scope.dst[3], htonl(0x0a000000));
	assert_int_equal(r.config.scope.dport, htons(443));
	assert_int_equal(r.config.scope.sport, htons(80));
	assert_int_equal(r.config.scope.has_mark, 1);
}

static void shares_in_percent(void **state)
{
	(void)state;
	assert_true(experiment_percent(10000) == 100 && experiment_percent(1) == 0.01);
	assert_true(experiment_percent(250) == 2.5 && experiment_percent(0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),	   cmocka_unit_test(arms),
		cmocka_unit_test(shares),	   cmocka_unit_test(switchback),
		cmocka_unit_test(canary),	   cmocka_unit_test(the_rest),
		cmocka_unit_test(names_and_scope), cmocka_unit_test(shares_in_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
