// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl profile list, show, add, copy, delete. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "err.h"
#include "instance.h"
#include "instance/lock.h"
#include "tuning/instance_tuning.h"
#include "tuning/param.h"
#include "tuning/profile_definitions.h"
#include "tuning/profile_map.h"
#include "verbs/json_print.h"
#include "verbs/verbs.h"

/* An instance whose profiles are to be changed. */
struct target {
	struct instance inst;
	struct profile_map profiles;
};

/* EXIT_DONE: the lock is held, and profiles are to be closed. */
static int open_target(const struct options *opt, struct target *t)
{
	int ret;

	if (!have_caps("cannot change profiles") || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &t->inst);
	return ret ? ret : profile_map_open(&t->inst, &t->profiles);
}

/* What changes to all of the instance's profiles are told of. */
static void print_change(const struct options *opt, const char *profile, const char *what,
			 const struct param_set *p)
{
	struct json_object *o;

	if (!opt->json) {
		printf("%s: profile %s %s", opt->name, profile, what);
		if (p)
			printf(", %d parameters differ from mainline", param_set_changed(p));
		putchar('\n');
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "name", json_object_new_string(opt->name));
	json_object_object_add(o, "profile", json_object_new_string(profile));
	json_object_object_add(o, what, json_object_new_boolean(true));
	if (p)
		json_object_object_add(o, "params_changed",
				       json_object_new_int(param_set_changed(p)));
	json_print(o);
}

static int add(const struct options *opt, const char *name, const struct param_set *p,
	       struct target *t)
{
	int error, ret;

	if (profile_find(&t->profiles, name) >= 0) {
		err("%s: the instance has a profile of this name", name);
		remedy("change it: bbrctl set --profile %s KEY=VALUE...", name);
		return EXIT_NOTHING;
	}
	ret = profile_check_known(&t->profiles, p);
	if (ret)
		return ret;
	error = profile_add(&t->profiles, name, p);
	if (error == -ENOSPC) {
		err("%s: the instance has %d profiles, which is the most that there can be", name,
		    BBR_PROFILES);
		remedy("delete one; its place is free when its last connection has closed");
		return EXIT_REFUSED;
	}
	if (error < 0)
		return err_bpf(error, "cannot write the profile");
	print_change(opt, name, "added", p);
	return EXIT_DONE;
}

/* A profile of a file, one that is known, or if it has values of its own a new one. */
static int read_definition(const struct options *opt, const struct algorithm *algorithm,
			   const char *name, int n, const char *const *assignments,
			   struct param_set *p)
{
	const struct profile_definition *def = NULL;
	struct profile_definitions defs = {};
	int ret;

	ret = opt->profile ? profile_definitions_file(opt->profile, algorithm, &defs) :
			     profile_definitions_known(algorithm, &defs);
	if (!ret)
		def = profile_definitions_find(&defs, name);
	if (!ret && !def && (opt->profile || !n)) {
		err("%s: %s%s", name,
		    opt->profile ? "is not in " : "no profile of this name is known",
		    opt->profile ? opt->profile : "");
		remedy("bbrctl profile list shows those that are; a new one needs KEY=VALUE...");
		ret = EXIT_USAGE;
	}
	if (!ret)
		ret = profile_definition_params(algorithm, def, n, assignments, p);
	profile_definitions_free(&defs);
	return ret;
}

int verb_profile_add(const struct options *opt, int argc, char **argv)
{
	struct param_set p;
	struct target t;
	int ret;

	if (argc < 2) {
		err("profile add: which?");
		remedy("bbrctl profile list shows those that are known");
		return EXIT_USAGE;
	}
	if (!profile_name_is_valid(argv[1]) || param_check_assignments_early(argc - 2, argv + 2))
		return EXIT_USAGE;
	ret = open_target(opt, &t);
	if (ret)
		return ret;
	ret = read_definition(opt, t.inst.algorithm, argv[1], argc - 2,
			      (const char *const *)argv + 2, &p);
	if (!ret)
		ret = add(opt, argv[1], &p, &t);
	profile_map_close(&t.profiles);
	return ret;
}

int verb_profile_copy(const struct options *opt, int argc, char **argv)
{
	struct param_set p;
	struct target t;
	int from, ret;

	if (argc < 3) {
		err("profile copy: what to what?");
		remedy("usage: bbrctl profile copy [--name NAME] PROFILE NEW [KEY=VALUE]...");
		return EXIT_USAGE;
	}
	if (!profile_name_is_valid(argv[2]) || param_check_assignments_early(argc - 3, argv + 3))
		return EXIT_USAGE;
	ret = open_target(opt, &t);
	if (ret)
		return ret;
	ret = profile_get(&t.profiles, argv[1], &from);
	if (!ret)
		profile_read(&t.profiles, from, &p);
	for (int i = 3; !ret && i < argc; i++)
		ret = param_assign(argv[i], &p);
	if (!ret)
		ret = add(opt, argv[2], &p, &t);
	profile_map_close(&t.profiles);
	return ret;
}

static int delete(const struct options *opt, const char *name, struct target *t)
{
	struct rule_list rules;
	int index, ret;
	__u32 n;

	ret = profile_get(&t->profiles, name, &index);
	if (ret)
		return ret;
	if (!index) {
		err("%s: is what connections get that no rule speaks of", name);
		remedy("put it back to mainline: bbrctl reset");
		return EXIT_REFUSED;
	}
	ret = rule_list_read(&t->inst, &rules);
	if (ret)
		return ret;
	n = rule_list_count(&rules, index);
	rule_list_free(&rules);
	if (n) {
		err("%s: %u rules give it to connections", name, n);
		remedy("delete them first; bbrctl rule list shows them");
		return EXIT_REFUSED;
	}
	profile_delete(&t->profiles, index);
	print_change(opt, name, "deleted", NULL);
	return EXIT_DONE;
}

int verb_profile_delete(const struct options *opt, int argc, char **argv)
{
	struct target t;
	int ret;

	if (argc < 2) {
		err("profile delete: which?");
		remedy("bbrctl profile list shows those that the instance has");
		return EXIT_USAGE;
	}
	ret = open_target(opt, &t);
	if (ret)
		return ret;
	ret = delete (opt, argv[1], &t);
	profile_map_close(&t.profiles);
	return ret;
}

int verb_profile_show(const struct options *opt, int argc, char **argv)
{
	struct options show = *opt;
	char *verb[] = { argv[0], NULL };

	if (argc < 2) {
		err("profile show: which?");
		remedy("bbrctl profile list shows those that the instance has");
		return EXIT_USAGE;
	}
	show.profile = argv[1];
	return verb_show(&show, 1, verb);
}

/* The list: what an instance has, then what it could have. */
static struct json_object *loaded_json(const struct profile_map *ps, const struct rule_list *rules,
				       int i, const char *name)
{
	struct json_object *o = json_object_new_object();
	struct param_set p;

	profile_read(ps, i, &p);
	json_object_object_add(o, "profile", json_object_new_string(name));
	json_object_object_add(o, "index", json_object_new_int(i));
	json_object_object_add(o, "params_changed", json_object_new_int(param_set_changed(&p)));
	json_object_object_add(o, "rules", json_object_new_int64(rule_list_count(rules, i)));
	json_object_object_add(o, "connections", json_object_new_int64(profile_connections(ps, i)));
	return o;
}

static void list_loaded(const struct profile_map *ps, const struct rule_list *rules,
			struct json_object *list)
{
	char name[BBR_PROFILE_NAME_LEN];
	struct param_set p;

	if (!list)
		printf("%-15s %5s %8s %6s %12s\n", "PROFILE", "INDEX", "CHANGED", "RULES",
		       "CONNECTIONS");
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(ps, i, name);
		if (!name[0] && profile_connections(ps, i) <= 0)
			continue;
		if (list) {
			json_object_array_add(list, loaded_json(ps, rules, i, name));
			continue;
		}
		profile_read(ps, i, &p);
		printf("%-15s %5d %8d %6u %12lld\n", name[0] ? name : "(deleted)", i,
		       param_set_changed(&p), rule_list_count(rules, i),
		       profile_connections(ps, i));
	}
}

static struct json_object *known_json(const struct profile_definition *def)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "profile", json_object_new_string(def->name));
	json_object_object_add(o, "origin", json_object_new_string(def->origin));
	json_object_object_add(o, "about", json_object_new_string(def->about));
	json_object_object_add(o, "needs", json_object_new_string(def->needs));
	json_object_object_add(o, "params_changed",
			       json_object_new_int(param_set_changed(&def->params)));
	return o;
}

static void list_known(const struct profile_definitions *defs, struct json_object *list)
{
	if (!list)
		printf("%-15s %s\n", "KNOWN", "ABOUT");
	for (size_t i = 0; i < defs->n; i++) {
		const struct profile_definition *def = &defs->def[i];

		if (list)
			json_object_array_add(list, known_json(def));
		else
			printf("%-15s %s%s%s\n", def->name, def->about,
			       def->needs[0] ? "; needs " : "", def->needs);
	}
}

static int list_instance(const struct options *opt, const struct algorithm **algorithm,
			 struct json_object *list)
{
	struct tuning t;
	int ret = tuning_open(opt->name, &t);

	if (ret)
		return ret;
	*algorithm = t.inst.algorithm;
	list_loaded(&t.profiles, &t.rules, list);
	tuning_close(&t);
	return EXIT_DONE;
}

/* With no instance loaded there is still what is known; unless one was asked for. */
static bool is_loaded(const struct options *opt)
{
	struct instance *list;
	bool found = opt->name_given;
	int n = instance_list(&list);

	for (int i = 0; i < n; i++)
		found |= !strcmp(list[i].name, opt->name);
	if (n >= 0)
		free(list);
	return found;
}

int verb_profile_list(const struct options *opt, int argc, char **argv)
{
	struct json_object *o = json_object_new_object(), *loaded = NULL, *known = NULL;
	const struct algorithm *algorithm = algorithms[0];
	struct profile_definitions defs = {};
	int ret = EXIT_DONE;

	(void)argc;
	(void)argv;
	if (opt->json) {
		loaded = json_object_new_array();
		known = json_object_new_array();
		json_object_object_add(o, "name", json_object_new_string(opt->name));
		json_object_object_add(o, "profiles", loaded);
		json_object_object_add(o, "known", known);
	}
	if (!have_caps("cannot look at an instance"))
		ret = EXIT_REFUSED;
	else if (is_loaded(opt))
		ret = list_instance(opt, &algorithm, loaded);
	if (!ret)
		ret = profile_definitions_known(algorithm, &defs);
	if (!ret)
		list_known(&defs, known);
	profile_definitions_free(&defs);
	if (!ret && opt->json)
		json_print(o);
	else
		json_object_put(o);
	return ret;
}
