// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl save: an instance's profiles and rules, as the text that bbrctl restore takes. */
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "err.h"
#include "instance.h"
#include "json_print.h"
#include "param.h"
#include "profile.h"
#include "rule_text.h"
#include "rules.h"
#include "verbs.h"

/* All keys, so that the file is there to be edited; those at their defaults are comments. */
static void save_profile(const struct profiles *ps, int index, const char *name)
{
	char value[PARAM_TEXT_LEN];
	struct bbr_params p;

	profile_read(ps, index, &p);
	printf("\n[%s]\n", name);
	for (size_t i = 0; i < nr_params; i++) {
		param_format(&params[i], &p, value, sizeof(value));
		printf("%s%s = %s\n", param_equal(&params[i], &p, &params_default) ? "; " : "",
		       params[i].key, value);
	}
}

static void save_rule(const struct profiles *ps, const struct bbr_rule *rule)
{
	char name[BBR_PROFILE_NAME_LEN] = "", text[RULE_TEXT_LEN];
	struct bbr_rule without_cgroup = *rule, cgroup = *rule;

	if (rule->profile < BBR_PROFILES)
		profile_name(ps, rule->profile, name);
	without_cgroup.fields &= ~BBR_RULE_CGROUP;
	rule_format(&without_cgroup, text, sizeof(text));
	printf("rule = %s%s--profile %s", text, text[0] ? " " : "",
	       name[0] ? name : BBR_PROFILE_DEFAULT);
	if (rule->fields & BBR_RULE_CGROUP) {
		cgroup.dst_len = 0;
		cgroup.fields = BBR_RULE_CGROUP;
		rule_format(&cgroup, text, sizeof(text));
		printf(" %s", text);
	}
	putchar('\n');
}

static void save_text(const struct instance *inst, const struct profiles *ps,
		      const struct rules *rules)
{
	char name[BBR_PROFILE_NAME_LEN];

	printf("; Profiles and rules of %s, by bbrctl save of version %s. To put them back:\n"
	       "; bbrctl restore --name %s FILE\n",
	       inst->name, BBR_VERSION, inst->name);
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(ps, i, name);
		if (name[0])
			save_profile(ps, i, name);
	}
	printf("\n; The first rule that matches gives a new connection its profile.\n[%s]\n",
	       RULES_SECTION);
	for (__u32 i = 0; i < rules->n; i++)
		save_rule(ps, &rules->rule[i]);
}

static void save_json(const struct instance *inst, const struct profiles *ps,
		      const struct rules *rules)
{
	struct json_object *o = json_object_new_object(), *profiles = json_object_new_array(),
			   *list = json_object_new_array();
	char name[BBR_PROFILE_NAME_LEN];

	json_object_object_add(o, "name", json_object_new_string(inst->name));
	json_object_object_add(o, "version", json_object_new_string(BBR_VERSION));
	json_object_object_add(o, "profiles", profiles);
	json_object_object_add(o, "rules", list);
	for (int i = 0; i < BBR_PROFILES; i++) {
		struct json_object *profile, *values;
		struct bbr_params p;

		profile_name(ps, i, name);
		if (!name[0])
			continue;
		profile_read(ps, i, &p);
		profile = json_object_new_object();
		values = json_object_new_object();
		for (size_t k = 0; k < nr_params; k++)
			json_object_object_add(values, params[k].key, param_json(&params[k], &p));
		json_object_object_add(profile, "profile", json_object_new_string(name));
		json_object_object_add(profile, "params", values);
		json_object_array_add(profiles, profile);
	}
	for (__u32 i = 0; i < rules->n; i++) {
		struct json_object *rule = json_object_new_object();

		name[0] = 0;
		if (rules->rule[i].profile < BBR_PROFILES)
			profile_name(ps, rules->rule[i].profile, name);
		rule_add_json(&rules->rule[i], rule);
		json_object_object_add(
			rule, "profile",
			json_object_new_string(name[0] ? name : BBR_PROFILE_DEFAULT));
		json_object_array_add(list, rule);
	}
	json_print(o);
}

int verb_save(const struct options *opt, int argc, char **argv)
{
	struct profiles profiles;
	struct instance inst;
	struct rules rules;
	int ret;

	(void)argc;
	(void)argv;
	if (!have_caps("cannot look at an instance"))
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &inst);
	if (!ret)
		ret = profiles_open(&inst, &profiles);
	if (ret)
		return ret;
	ret = rules_read(&inst, &rules);
	if (!ret && opt->json)
		save_json(&inst, &profiles, &rules);
	else if (!ret)
		save_text(&inst, &profiles, &rules);
	rules_free(&rules);
	profiles_close(&profiles);
	return ret;
}
