// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl save: an instance's profiles and rules, as the text that bbrctl restore takes. */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "err.h"
#include "tuning/instance_tuning.h"
#include "tuning/param.h"
#include "tuning/rule_text.h"
#include "verbs/json_print.h"
#include "verbs/verbs.h"

/* All keys, so that the file is there to be edited; those at their defaults are comments. */
static void save_profile(const struct profile_map *ps, int index, const char *name)
{
	char value[PARAM_TEXT_LEN];
	struct param_set p;

	profile_read(ps, index, &p);
	printf("\n[%s]\n", name);
	param_for_each(param, ps->algorithm)
	{
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

	printf("; Profiles and rules of %s, by bbrctl save of version %s. To put them back:\n"
	       "; bbrctl restore --name %s FILE\n"
	       "algorithm = %s\n",
	       t->inst.name, BBR_VERSION, t->inst.name, t->inst.algorithm->name);
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(&t->profiles, i, name);
		if (name[0])
			save_profile(&t->profiles, i, name);
	}
	printf("\n; The first rule that matches gives a new connection its profile.\n[%s]\n",
	       RULES_SECTION);
	for (__u32 i = 0; i < t->rules.n; i++)
		save_rule(t, &t->rules.rule[i]);
}

static void save_json(const struct tuning *t)
{
	struct json_object *o = json_object_new_object(), *profiles = json_object_new_array(),
			   *list = json_object_new_array();
	char name[BBR_PROFILE_NAME_LEN];

	json_object_object_add(o, "name", json_object_new_string(t->inst.name));
	json_object_object_add(o, "version", json_object_new_string(BBR_VERSION));
	json_object_object_add(o, "algorithm", json_object_new_string(t->inst.algorithm->name));
	json_object_object_add(o, "profiles", profiles);
	json_object_object_add(o, "rules", list);
	for (int i = 0; i < BBR_PROFILES; i++) {
		struct json_object *profile, *values;
		struct param_set p;

		profile_name(&t->profiles, i, name);
		if (!name[0])
			continue;
		profile_read(&t->profiles, i, &p);
		profile = json_object_new_object();
		values = json_object_new_object();
		param_for_each(param, p.algorithm)
			json_object_object_add(values, param->key, param_json(param, &p));
		json_object_object_add(profile, "profile", json_object_new_string(name));
		json_object_object_add(profile, "params", values);
		json_object_array_add(profiles, profile);
	}
	for (__u32 i = 0; i < t->rules.n; i++) {
		struct json_object *rule = json_object_new_object();

		tuning_rule_profile(t, &t->rules.rule[i], name);
		rule_add_json(&t->rules.rule[i], rule);
		json_object_object_add(rule, "profile", json_object_new_string(name));
		json_object_array_add(list, rule);
	}
	json_print(o);
}

int verb_save(const struct options *opt, int argc, char **argv)
{
	struct tuning t;
	int ret;

	(void)argc;
	(void)argv;
	if (!have_caps("cannot look at an instance"))
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
