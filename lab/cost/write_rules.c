// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives an instance all rules on stdin, one on each line, at once. bbrctl rule add has the same
 * result, but takes a process for each rule.
 *
 *	write_rules NAME
 *
 * A line has the options of rule add, except that the profile is an index:
 *
 *	--dst 10.0.0.0/8 --dport 80 --profile 1
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "kernel/instance.h"
#include "self/lock.h"
#include "tuning/rule_list.h"
#include "tuning/rule_text.h"
#include "verbs/verbs.h"

static const char **member(struct options *opt, const char *option)
{
	if (!strcmp(option, "--dst"))
		return &opt->filter.dst;
	if (!strcmp(option, "--dport"))
		return &opt->filter.dport;
	if (!strcmp(option, "--sport"))
		return &opt->filter.sport;
	if (!strcmp(option, "--cgroup"))
		return &opt->filter.cgroup;
	if (!strcmp(option, "--mark"))
		return &opt->filter.mark;
	return strcmp(option, "--profile") ? NULL : &opt->profile;
}

static int take_line(char *line, struct rule_list *rules)
{
	struct options opt = {};
	struct bbr_rule rule;
	const char **value;
	char *word;
	int ret;

	line[strcspn(line, "\n")] = 0;
	while ((word = strsep(&line, " "))) {
		value = member(&opt, word);
		if (!value && line) { /* --src, --dev, --not-... */
			option_condition(word, strsep(&line, " "), &opt.filter);
			continue;
		}
		if (!value || !line) {
			err("%s: not an option with a value", word);
			return EXIT_USAGE;
		}
		*value = strsep(&line, " ");
	}
	ret = rule_parse(&opt.filter, &rule);
	if (ret)
		return ret;
	rule.profile = opt.profile ? atoi(opt.profile) : 0;
	return rule_list_insert(rules, rules->n, &rule);
}

static int read_rules(struct rule_list *rules)
{
	char *line = NULL;
	size_t size = 0;
	int ret = EXIT_DONE;

	while (!ret && getline(&line, &size, stdin) > 0)
		ret = take_line(line, rules);
	free(line);
	return ret;
}

int main(int argc, char **argv)
{
	struct rule_list rules = {};
	struct instance inst;
	int ret;

	err_init("write_rules", false);
	if (argc != 2) {
		fputs("usage: write_rules NAME <RULES\n", stderr);
		return EXIT_USAGE;
	}
	ret = read_rules(&rules);
	if (!ret)
		ret = lock_instances();
	if (!ret)
		ret = instance_get(argv[1], &inst);
	if (!ret)
		ret = rule_list_write(&inst, &rules);
	rule_list_free(&rules);
	return ret;
}
