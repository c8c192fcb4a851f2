// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl profile list, show, add, copy, delete. */
#include <errno.h>
#include <unistd.h>

#include "tuning/profile_definitions.h"
#include "verbs/verbs.h"

/* Reports that a profile was added or deleted. */
static void print_change(const struct options *opt, const char *profile, const char *what,
			 const struct param_set *p)
{
	struct json j;

	if (!opt->json) {
		printf("%s: profile %s %s", opt->name, profile, what);
		if (p)
			printf(", differs from the defaults in %d parameter%s",
			       param_set_changed(p), plural(param_set_changed(p)));
		putchar('\n');
		return;
	}
	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", opt->name);
	json_add_string(&j, "profile", profile);
	json_add_bool(&j, what, true);
	if (p)
		json_add_int(&j, "params_changed", param_set_changed(p));
	json_end(&j);
}

static int add(const struct options *opt, const char *name, const struct param_set *p,
	       struct tuning *t)
{
	int error, ret;

	if (profile_find(&t->profiles, name) >= 0)
		return err_nothing("%s: the instance already has a profile with this name\n"
				   "change it: bbrctl set --profile %s KEY=VALUE...",
				   name, name);
	ret = profile_check_known(&t->profiles, p);
	if (ret)
		return ret;
	error = profile_add(&t->profiles, name, p);
	if (error == -ENOSPC)
		return err_refused(
			"%s: the instance has %d profiles, the maximum\n"
			"delete one; its place becomes free when its last connection closes",
			name, BBR_PROFILES);
	if (error < 0)
		return err_bpf(error, "cannot write the profile");
	print_change(opt, name, "added", p);
	param_warn(opt->name, NULL, p);
	return EXIT_DONE;
}

/*
 * Finds a profile in a file or among the known ones, or makes a new one if it has its own values.
 */
static int read_definition(const struct options *opt, const struct algorithm *algorithm,
			   const char *name, int n, const char *const *assignments,
			   struct param_set *p)
{
	const struct profile_definition *def = NULL;
	struct profile_definitions defs AUTO(profile_definitions_free) = {};
	int ret = opt->profile ? profile_definitions_file(opt->profile, algorithm, &defs) :
				 profile_definitions_known(algorithm, &defs);

	if (ret == EXIT_USAGE && opt->profile && access(opt->profile, F_OK))
		remedy("here --profile takes a file; bbrctl profile copy PROFILE NEW copies one");
	if (ret)
		return ret;
	def = profile_definitions_find(&defs, name);
	if (!def && (opt->profile || !n)) {
		err("%s: %s%s", name, opt->profile ? "is not in " : "unknown profile",
		    opt->profile ? opt->profile : "");
		profile_definitions_suggest(&defs, name);
		remedy("bbrctl profile list shows the known ones; a new one needs KEY=VALUE...");
		return EXIT_USAGE;
	}
	return profile_definition_params(algorithm, def, n, assignments, p);
}

static int verb_profile_add(struct options *opt, int argc, char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	struct param_set p;
	int ret;

	if (!profile_name_is_valid(argv[1]) || param_check_assignments_early(argc - 2, argv + 2))
		return EXIT_USAGE;
	ret = open_tuning(opt, true, false, &t);
	if (!ret)
		ret = read_definition(opt, t.inst.algorithm, argv[1], argc - 2,
				      (const char *const *)argv + 2, &p);
	return ret ? ret : add(opt, argv[1], &p, &t);
}

static int verb_profile_copy(struct options *opt, int argc, char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	struct param_set p;
	int from, ret;

	if (!profile_name_is_valid(argv[2]) || param_check_assignments_early(argc - 3, argv + 3))
		return EXIT_USAGE;
	ret = open_tuning(opt, true, false, &t);
	if (!ret)
		ret = profile_get(&t.profiles, argv[1], &from);
	if (!ret)
		profile_read(&t.profiles, from, &p);
	for (int i = 3; !ret && i < argc; i++)
		ret = param_assign(argv[i], &p);
	return ret ? ret : add(opt, argv[2], &p, &t);
}

static int verb_profile_delete(struct options *opt, UNUSED int argc, char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	int index, ret = open_tuning(opt, true, true, &t);
	const char *name = argv[1];
	__u32 n;

	if (!ret)
		ret = profile_get(&t.profiles, name, &index);
	if (ret)
		return ret;
	if (!index)
		return err_refused("%s: cannot be deleted: connections without a rule use it\n"
				   "set it back to the defaults: bbrctl reset",
				   name);
	ret = arms_refuse_use(opt->name, name);
	if (ret)
		return ret;
	n = rule_list_count(&t.rules, index);
	if (n)
		return err_refused("%s: used by %u rule%s\n"
				   "delete them first; bbrctl rule list shows them",
				   name, n, plural(n));
	profile_delete(&t.profiles, index);
	print_change(opt, name, "deleted", NULL);
	return EXIT_DONE;
}

static int verb_profile_show(struct options *opt, UNUSED int argc, char **argv)
{
	opt->profile = argv[1];
	return VERB_OF(show).run(opt, 1, argv);
}

/* A profile of an instance, as the list shows it. */
struct place {
	char name[BBR_PROFILE_NAME_LEN];
	int index, changed;
	__u32 rules;
	long long connections;
};

/* Fills the places that the list shows. A deleted profile stays while connections have it. */
static int read_places(const struct tuning *t, struct place place[BBR_PROFILES], int *n)
{
	long long connections[BBR_PROFILES];
	int error = profile_connections(&t->profiles, connections);
	struct param_set p;

	if (error)
		return err_bpf(error, "cannot count the profiles' connections");
	for (int i = 0; i < BBR_PROFILES; i++) {
		struct place new = { .index = i, .connections = connections[i] };

		profile_name(&t->profiles, i, new.name);
		if (!new.name[0] && !new.connections)
			continue;
		profile_read(&t->profiles, i, &p);
		new.changed = param_set_changed(&p);
		new.rules = rule_list_count(&t->rules, i);
		place[(*n)++] = new;
	}
	return EXIT_DONE;
}

static void list_json(const struct options *opt, const struct place *place, int n,
		      const struct profile_definitions *defs)
{
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", opt->name);
	json_objects (&j, "profiles", p, place, n) {
		json_add_string(&j, "profile", p->name);
		json_add_int(&j, "index", p->index);
		json_add_int(&j, "params_changed", p->changed);
		json_add_int(&j, "rules", p->rules);
		json_add_signed(&j, "connections", p->connections);
	}
	json_objects (&j, "known", def, defs->def, defs->n) {
		json_add_string(&j, "profile", def->name);
		json_add_string(&j, "origin", def->origin);
		json_add_string(&j, "about", def->about);
		json_add_string(&j, "needs", def->needs);
		json_add_int(&j, "params_changed", param_set_changed(&def->params));
	}
	json_end(&j);
}

static void list_text(const struct place *place, int n, const struct profile_definitions *defs)
{
	if (n)
		printf("%-15s %5s %8s %6s %12s\n", "PROFILE", "INDEX", "CHANGED", "RULES",
		       "CONNECTIONS");
	for_each (p, place, n)
		printf("%-15s %5d %8d %6u %12lld\n", p->name[0] ? p->name : "(deleted)", p->index,
		       p->changed, p->rules, p->connections);
	printf("%-15s %s\n", "KNOWN", "ABOUT");
	for_each (def, defs->def, defs->n)
		printf("%-15s %s%s%s\n", def->name, def->about, def->needs[0] ? "; needs " : "",
		       def->needs);
}

/* Lists what the instance has (t; NULL: none is loaded), then what it could have. */
static int list(const struct options *opt, const struct tuning *t)
{
	struct profile_definitions defs AUTO(profile_definitions_free) = {};
	struct place place[BBR_PROFILES];
	int n = 0, ret = profile_definitions_known(t ? t->inst.algorithm : algorithms[0], &defs);

	if (!ret && t)
		ret = read_places(t, place, &n);
	if (!ret && opt->json)
		list_json(opt, place, n, &defs);
	else if (!ret)
		list_text(place, n, &defs);
	return ret;
}

static int verb_profile_list(struct options *opt, UNUSED int argc, UNUSED char **argv)
{
	struct tuning t AUTO(tuning_close) = {};
	int ret, id;

	if (privileges_take())
		return EXIT_REFUSED;
	id = instance_id(opt->name);
	if (id < 0)
		return err_bpf(id, "cannot list instances");
	/*
	 * If no instance is loaded, the list still has the known profiles. But an instance that
	 * --name asks for must be loaded.
	 */
	if (!id && !opt->name_given)
		return list(opt, NULL);
	ret = tuning_open(opt->name, true, &t);
	return ret ? ret : list(opt, &t);
}

BBRCTL_VERB(profile_list, "profile list", NEEDS(LOOK),
	    .brief = "list the profiles of an instance, and the known ones", OPTIONS(OWN(NAME)));

BBRCTL_VERB(profile_show, "profile show", NEEDS(LOOK), .args = "PROFILE", .min_args = 1,
	    .max_args = 1, .brief = "show the parameters of a profile", OPTIONS(OWN(NAME)));

BBRCTL_VERB(profile_add, "profile add", NEEDS(CHANGE, .may = FILES),
	    .args = "PROFILE [KEY=VALUE]...", .min_args = 1, .max_args = MANY,
	    .brief = "add a known profile, one from a file, or your own",
	    OPTIONS(OWN(NAME, PROFILE("FILE", "take the profile of this name from a file"))));

BBRCTL_VERB(profile_copy, "profile copy", NEEDS(CHANGE, .may = FILES),
	    .args = "PROFILE NEW [KEY=VALUE]...", .min_args = 2, .max_args = MANY,
	    .brief = "copy a profile, with changes", OPTIONS(OWN(NAME)));

BBRCTL_VERB(profile_delete, "profile delete", NEEDS(CHANGE, .may = FILES), .args = "PROFILE",
	    .min_args = 1, .max_args = 1,
	    .brief = "delete a profile; its connections keep it until they close",
	    OPTIONS(OWN(NAME)));
