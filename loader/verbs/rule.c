// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl rule list, add, delete, flush, test. */
#include "address.h"
#include "cgroup/cgroup.h"
#include "verbs/verbs.h"

static void add_rule(struct json *j, const struct tuning *t, const struct bbr_rule *rule,
		     int number)
{
	char profile[BBR_PROFILE_NAME_LEN];

	tuning_rule_profile(t, rule, profile);
	json_add_int(j, "rule", number);
	rule_add_json(j, rule);
	json_add_string(j, "profile", profile);
}

static void print_rule(const struct tuning *t, const struct bbr_rule *rule, int number)
{
	char profile[BBR_PROFILE_NAME_LEN], text[RULE_TEXT_LEN];

	tuning_rule_profile(t, rule, profile);
	rule_format(rule, text, sizeof(text));
	printf("%d: %s%s--profile %s\n", number, text, text[0] ? " " : "", profile);
}

static void print_change(const struct options *opt, const struct tuning *t, const char *what,
			 const struct bbr_rule *rule, int number)
{
	struct json j;

	if (!opt->json) {
		printf("%s: %s rule ", opt->name, what);
		print_rule(t, rule, number);
		return;
	}
	json_begin_pretty(&j, stdout);
	add_rule(&j, t, rule, number);
	json_add_string(&j, "name", opt->name);
	json_add_bool(&j, what, true);
	json_end(&j);
}

/* Parses a rule's number on the command line into its index. */
static int parse_place(const char *option, const char *s, __u32 *place)
{
	double number;

	/* Test in this order: a number above BBR_MAX_RULES may not fit an integer. */
	if (parse_number(s, &number) || number < 1 || number > BBR_MAX_RULES ||
	    number != (__u32)number)
		return err_usage("%s %s: a rule's number is 1 to %d\n"
				 "bbrctl rule list shows them",
				 option, s, BBR_MAX_RULES);
	*place = number - 1;
	return EXIT_DONE;
}

static int check_place(const char *option, __u32 place, __u32 n)
{
	if (place < n)
		return EXIT_DONE;
	return err_nothing("%s %u: no rule has this number\n"
			   "the instance has %u rule%s; bbrctl rule list shows them",
			   option, place + 1, n, plural(n));
}

static int verb_rule_add(struct options *opt, UNUSED int argc, UNUSED char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	int index, there, ret;
	struct bbr_rule rule;
	__u32 place;

	if (!opt->profile)
		return err_usage(
			"rule add: --profile is missing\n"
			"add --profile PROFILE; bbrctl profile list shows the instance's profiles");
	ret = rule_parse(&opt->filter, &rule);
	if (!ret && opt->before)
		ret = parse_place("--before", opt->before, &place);
	if (!ret)
		ret = open_tuning(opt, true, true, &t);
	if (!ret)
		ret = profile_get(&t.profiles, opt->profile, &index);
	if (!ret && opt->before)
		ret = check_place("--before", place, t.rules.n);
	if (ret)
		return ret;
	there = rule_list_find(&t.rules, &rule);
	if (there >= 0)
		return err_nothing("rule %d has the same options\n"
				   "delete it first: bbrctl rule delete %d",
				   there + 1, there + 1);
	if (!opt->before)
		place = t.rules.n;
	rule.profile = index;
	ret = rule_list_insert(&t.rules, place, &rule);
	if (!ret)
		ret = rule_list_write(&t.inst, &t.rules);
	if (!ret)
		print_change(opt, &t, "added", &rule, place + 1);
	return ret;
}

/* Finds a rule by its number, which is in *place already, or by what it asks for. */
static int find_rule(bool is_numbered, const struct bbr_rule *like, const struct rule_list *rules,
		     __u32 *place)
{
	int found;

	if (is_numbered)
		return check_place("rule", *place, rules->n);
	found = rule_list_find(rules, like);
	if (found < 0)
		return err_nothing("no rule has exactly these options\n"
				   "bbrctl rule list shows the rules");
	*place = found;
	return EXIT_DONE;
}

static int verb_rule_delete(struct options *opt, int argc, char **argv)
{
	bool is_described = socket_filter_asks(&opt->filter);
	struct tuning t AUTO(tuning_close) = {};
	struct bbr_rule like, gone;
	__u32 place;
	int ret;

	if ((argc > 1) == is_described)
		return err_usage("rule delete: %s\n"
				 "usage: bbrctl rule delete K, or with the options of rule add",
				 is_described ? "a number or options, not both" :
						"a rule's number or its options are missing");
	ret = is_described ? rule_parse(&opt->filter, &like) : parse_place("rule", argv[1], &place);
	if (!ret)
		ret = open_tuning(opt, true, true, &t);
	if (!ret)
		ret = find_rule(!is_described, &like, &t.rules, &place);
	if (ret)
		return ret;
	gone = t.rules.rule[place];
	rule_list_remove(&t.rules, place);
	ret = rule_list_write(&t.inst, &t.rules);
	if (!ret)
		print_change(opt, &t, "deleted", &gone, place + 1);
	return ret;
}

/* Deletes the rules, whatever they are, even if no other verb can read them. */
static int verb_rule_flush(struct options *opt, UNUSED int argc, UNUSED char **argv)
{
	static const struct rule_list none;
	struct rule_list rules AUTO(rule_list_free) = {};
	struct instance inst;
	int error, ret;
	struct json j;

	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &inst);
	if (ret)
		return ret;
	error = rule_list_try_read(&inst, &rules);
	if (!error && !rules.n)
		return err_nothing("%s: no rules", opt->name);
	ret = rule_list_write(&inst, &none);
	if (ret)
		return ret;
	if (opt->json) {
		json_begin_pretty(&j, stdout);
		json_add_string(&j, "name", opt->name);
		json_add_int_if(&j, "deleted", !error, rules.n);
		json_end(&j);
	} else if (error) {
		printf("%s: rules deleted\n", opt->name);
	} else {
		printf("%s: %u rule%s deleted\n", opt->name, rules.n, plural(rules.n));
	}
	return EXIT_DONE;
}

static int verb_rule_list(struct options *opt, UNUSED int argc, UNUSED char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	int ret = open_tuning(opt, false, true, &t);
	struct json j;

	if (ret)
		return ret;
	if (opt->json) {
		json_begin_pretty(&j, stdout);
		json_add_string(&j, "name", opt->name);
		json_objects (&j, "rules", rule, t.rules.rule, t.rules.n)
			add_rule(&j, &t, rule, rule - t.rules.rule + 1);
		json_end(&j);
	} else {
		for_each (rule, t.rules.rule, t.rules.n)
			print_rule(&t, rule, rule - t.rules.rule + 1);
		printf("all others: --profile %s\n", BBR_PROFILE_DEFAULT);
	}
	return EXIT_DONE;
}

/* Parses the connection that the command line describes. A value that it does not give is 0. */
static int parse_test(const struct options *opt, const char *addr, struct rule_test *test,
		      __u64 ids[BBR_RULE_CGROUP_LEVELS])
{
	struct socket_filter connection = opt->filter;
	struct bbr_rule as_rule;
	__u32 address[4], mask[4];
	int ret;

	if (!parse_prefix("rule test", addr, address, mask)) {
		remedy("the address alone; its port with --dport: rule test 10.0.0.1 --dport 80");
		return EXIT_USAGE;
	}
	connection.dst = addr;
	connection.cgroup = NULL;
	ret = rule_parse(&connection, &as_rule);
	if (ret)
		return ret;
	if (as_rule.dst_len != 128)
		return err_usage("rule test %s: expected an address, not a prefix", addr);
	*test = (struct rule_test){
		.dport = as_rule.dport,
		.sport = as_rule.sport,
		.mark = as_rule.mark,
		.cgroups = ids,
	};
	memcpy(test->addr, as_rule.dst, sizeof(test->addr));
	for_each (term, as_rule.more, as_rule.n_more) {
		if (term->kind == BBR_TERM_SRC && term->len != 128)
			return err_usage("rule test --src: expected an address, not a prefix");
		memcpy(term->kind == BBR_TERM_SRC ? (void *)test->src : test->dev, term->value,
		       sizeof(term->value));
	}
	return opt->filter.cgroup ? cgroup_ids("--cgroup", opt->filter.cgroup, ids,
					       BBR_RULE_CGROUP_LEVELS, &test->nr_cgroups) :
				    EXIT_DONE;
}

static int verb_rule_test(struct options *opt, UNUSED int argc, char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	__u64 ids[BBR_RULE_CGROUP_LEVELS];
	struct rule_test test;
	int place, ret;
	struct json j;

	ret = parse_test(opt, argv[1], &test, ids);
	if (!ret)
		ret = open_tuning(opt, false, true, &t);
	if (ret)
		return ret;
	place = rule_list_match(&t.rules, &test);
	if (opt->json) {
		json_begin_pretty(&j, stdout);
		if (place >= 0) {
			add_rule(&j, &t, &t.rules.rule[place], place + 1);
		} else {
			json_add_null(&j, "rule");
			json_add_string(&j, "profile", BBR_PROFILE_DEFAULT);
		}
		json_end(&j);
	} else if (place >= 0) {
		print_rule(&t, &t.rules.rule[place], place + 1);
	} else {
		printf("no rule: --profile %s\n", BBR_PROFILE_DEFAULT);
	}
	return EXIT_DONE;
}

BBRCTL_VERB(rule_list, "rule list", NEEDS(LOOK, .may = CAP(DAC_READ_SEARCH)),
	    .brief = "list the rules; the first that matches applies", OPTIONS(OWN(NAME)));

BBRCTL_VERB(rule_add, "rule add", NEEDS(CHANGE, .may = FILES), .args = "--profile PROFILE",
	    .brief = "give matching new connections a profile",
	    OPTIONS(OWN(NAME, PROFILE("PROFILE", "the profile that matching connections get"),
			TEXT("before", "K", before,
			     "insert before the rule with this number; by default at the end")),
		    { option_dst, 0 }, { option_src, 0 }, { option_filter, 0 }, { option_not, 0 }));

BBRCTL_VERB(rule_delete, "rule delete", NEEDS(CHANGE, .may = FILES), .args = "[K]", .max_args = 1,
	    .brief = "delete a rule, by its number or by its options",
	    OPTIONS(OWN(NAME), { option_dst, 0 }, { option_src, 0 }, { option_filter, 0 },
		    { option_not, 0 }));

BBRCTL_VERB(rule_flush, "rule flush", NEEDS(CHANGE, .may = FILES), .brief = "delete all rules",
	    OPTIONS(OWN(NAME)));

BBRCTL_VERB(rule_test, "rule test", NEEDS(LOOK, .may = CAP(DAC_READ_SEARCH)), .args = "ADDR",
	    .min_args = 1, .max_args = 1,
	    .brief = "show which rule and profile a connection would get",
	    OPTIONS(OWN(NAME), { option_src, 0 }, { option_filter, 0 }));
