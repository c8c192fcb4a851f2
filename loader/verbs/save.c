// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl save: an instance's profiles and rules, as the text that bbrctl restore takes. */
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "cli/json.h"
#include "tuning/instance_tuning.h"
#include "tuning/param.h"
#include "tuning/rule_text.h"
#include "verbs/verbs.h"

/* All keys, so that the file is there to be edited; those at their defaults are comments. */
static void save_profile(const struct profile_map *ps, int index, const char *name)
{
	char value[PARAM_TEXT_LEN];
	struct param_set p;

	profile_read(ps, index, &p);
	printf("\n[%s]\n", name);
	param_for_each (param, ps->algorithm) {
		param_format(param, &p, value, sizeof(value));
		printf("%s%s = %s\n", param_is_default(param, &p) ? "; " : "", param->key, value);
	}
}

static void save_rule(const struct tuning *t, const struct bbr_rule *rule)
{
	char name[BBR_PROFILE_NAME_LEN], text[RULE_TEXT_LEN];
	struct bbr_rule without_cgroup = *rule, cgroup = *rule;

	tuning_rule_profile(t, rule, name);
	without_cgroup.fields &= ~BBR_RULE_CGROUP;
	rule_format(&without_cgroup, text, sizeof(text));
	printf("rule = %s%s--profile %s", text, text[0] ? " " : "", name);
	if (rule->fields & BBR_RULE_CGROUP) {
		cgroup.dst_len = 0;
		cgroup.fields = BBR_RULE_CGROUP;
		rule_format(&cgroup, text, sizeof(text));
		printf(" %s", text);
	}
	putchar('\n');
}

static void save_text(const struct tuning *t)
{
	char name[BBR_PROFILE_NAME_LEN];

	printf("; Profiles and rules of %s, saved by bbrctl %s. To restore them:\n"
	       "; bbrctl restore --name %s FILE\n"
	       "algorithm = %s\n",
	       t->inst.name, BBR_VERSION, t->inst.name, t->inst.algorithm->name);
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(&t->profiles, i, name);
		if (name[0])
			save_profile(&t->profiles, i, name);
	}
	printf("\n; A new connection gets the profile of the first rule that matches.\n[%s]\n",
	       RULES_SECTION);
	for (__u32 i = 0; i < t->rules.n; i++)
		save_rule(t, &t->rules.rule[i]);
}

static void add_profile(struct json *j, const struct tuning *t, int index, const char *name)
{
	struct param_set p;

	profile_read(&t->profiles, index, &p);
	json_open_object(j, NULL);
	json_add_string(j, "profile", name);
	json_open_object(j, "params");
	param_for_each (param, p.algorithm)
		param_add_json(j, param->key, param, &p);
	json_close(j);
	json_close(j);
}

static void save_json(const struct tuning *t)
{
	char name[BBR_PROFILE_NAME_LEN];
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", t->inst.name);
	json_add_string(&j, "version", BBR_VERSION);
	json_add_string(&j, "algorithm", t->inst.algorithm->name);
	json_open_array(&j, "profiles");
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(&t->profiles, i, name);
		if (name[0])
			add_profile(&j, t, i, name);
	}
	json_close(&j);
	json_open_array(&j, "rules");
	for (__u32 i = 0; i < t->rules.n; i++) {
		json_open_object(&j, NULL);
		tuning_rule_profile(t, &t->rules.rule[i], name);
		rule_add_json(&j, &t->rules.rule[i]);
		json_add_string(&j, "profile", name);
		json_close(&j);
	}
	json_close(&j);
	json_end(&j);
}

int verb_save(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct tuning t;
	int ret;

	(void)argc;
	(void)argv;
	if (privileges_take())
		return EXIT_REFUSED;
	ret = tuning_open(opt->name, &t);
	if (ret)
		return ret;
	if (opt->json)
		save_json(&t);
	else
		save_text(&t);
	tuning_close(&t);
	return EXIT_DONE;
}
