// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "kernel/netns.h"
#include "instance/netns_default.h"
#include "instance/object.h"
#include "instance/struct_ops.h"
#include "tuning/profile_definitions.h"
#include "verbs/verbs.h"

/* Writes the default profile of an object that is not in use yet. */
static int write_params(const struct object *obj, const struct param_set *p)
{
	struct profile_map profiles AUTO(profile_map_close);
	int ret = profile_map_open_maps(obj->algorithm, object_map(obj->bpf, BBR_MAP_PARAMS), -1,
					obj->abi.params_size, &profiles);

	if (!ret)
		ret = profile_check_known(&profiles, p);
	if (!ret)
		profile_init(&profiles, 0, BBR_PROFILE_DEFAULT, p);
	return ret;
}

/* A load is all or nothing: without its default the new instance goes, too. */
static void take_back(const char *name)
{
	struct instance inst;

	if (!instance_find(name, &inst) && !unregister(&inst))
		remedy("all is as it was before: %s is not loaded", name);
	else
		remedy("%s is loaded, but not the default: run the same command again", name);
}

/* map_id 0: it was loaded before. */
static int report(const struct options *opt, unsigned int map_id)
{
	unsigned int again;
	int ret = EXIT_DONE;
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", opt->name);
	if (map_id)
		json_add_int(&j, "map_id", map_id);
	if (map_id && !opt->json)
		printf("%s: loaded (map id %u)\n", opt->name, map_id);
	/*
	 * Defaults of this name may be the code of an instance that was unloaded, also if the load
	 * after that was killed here.
	 */
	defaults_set_again(opt->name, &again); /* prints where it fails */
	if (map_id || again)
		json_add_int(&j, "defaults", again);
	if (again && !opt->json)
		printf("  made the default of %u network namespace%s again\n", again,
		       plural(again));
	if (opt->make_default) {
		ret = default_set(opt->name, opt->netns, opt->json ? &j : NULL);
		if (ret && map_id) {
			take_back(opt->name);
			return ret;
		}
	} else if (!map_id && !again) {
		err("%s: is already loaded\n"
		    "change it with bbrctl set, or load one under another name with --name",
		    opt->name);
		ret = EXIT_NOTHING;
	}
	if (opt->json && (map_id || again || !ret))
		json_end(&j);
	return ret;
}

static const char *unfinished; /* the instance that is loaded, while not all is done */

/* What ends the program then, such as lack of memory, says only why. */
static void say_unfinished(void)
{
	if (unfinished)
		remedy("%s is loaded; run the same command again for the rest", unfinished);
}

static int load(const struct options *opt, const struct object *obj, const struct param_set *p)
{
	unsigned int map_id;
	int ret = object_load(obj);

	/* Before it is registered, so that the first connection finds the parameters in place. */
	if (!ret && obj->algorithm)
		ret = write_params(obj, p);
	if (!ret && bpf_map_freeze(object_map(obj->bpf, BBR_MAP_CLAMPED)))
		ret = err_bpf(errno, "cannot freeze the program's own map");
	if (!ret)
		ret = object_register(obj->bpf, opt->name, &map_id);
	if (!ret && obj->algorithm)
		param_warn(opt->name, NULL, p);
	if (ret)
		return ret;
	atexit(say_unfinished);
	unfinished = opt->name;
	ret = report(opt, map_id);
	unfinished = NULL;
	return ret;
}

/*
 * Refuses an object of another algorithm than --algorithm's, and with --set or --profile one whose
 * algorithm bbrctl does not know.
 */
static int check_algorithm(const struct options *opt, const struct object *obj)
{
	if (opt->algorithm && strcmp(opt->algorithm, obj->abi.algorithm))
		return err_usage("%s: its algorithm is %s, not %s\n"
				 "leave --algorithm out, or --object",
				 obj->file, obj->abi.algorithm, opt->algorithm);
	if (obj->algorithm || (!opt->set.n && !opt->profile))
		return EXIT_DONE;
	return err_usage(
		"%s: bbrctl does not know algorithm %s or its parameters\n"
		"load it without --set and --profile, or with the bbrctl that it was built with",
		obj->file, obj->abi.algorithm);
}

/* True if its default profile has these parameters. */
static bool has_params(const struct instance *inst, const struct param_set *p)
{
	struct profile_map map AUTO(profile_map_close) = {};
	struct param_set now;

	if (!inst->supported || inst->algorithm != p->algorithm || profile_map_open(inst, &map))
		return false;
	profile_read(&map, 0, &now);
	return param_set_equal(&now, p);
}

/* What the command line asks of the instance, and the loaded one does not have; NULL: nothing. */
static const char *find_missing(const struct options *opt, const struct object *obj,
				const struct param_set *p, const struct instance *inst)
{
	__u32 flags;

	if (opt->algorithm && strcmp(opt->algorithm, inst->abi.algorithm))
		return "with another algorithm";
	if (opt->ecn && (ops_flags(inst, &flags) || !(flags & TCP_CONG_NEEDS_ECN)))
		return "without ECN";
	if (opt->object && (object_load(obj) || !ops_has_code(inst, obj->bpf)))
		return "with other code";
	return (opt->set.n || opt->profile) && !has_params(inst, p) ? "with other parameters" :
								      NULL;
}

/*
 * Loads the instance unless it is loaded already. Then only --default is left to do: the same
 * command again finishes a load that was killed.
 */
static int load_once(const struct options *opt, const struct object *obj, const struct param_set *p)
{
	const char *missing = NULL;
	struct instance inst;
	int loaded, ret;

	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	if (opt->netns && (ret = netns_visit(opt->netns, NULL, NULL)))
		return ret;
	loaded = instance_id(opt->name);
	if (loaded < 0)
		return err_bpf(loaded, "cannot list instances");
	if (!loaded)
		return load(opt, obj, p);
	ret = instance_find(opt->name, &inst);
	if (!ret)
		missing = find_missing(opt, obj, p, &inst);
	if (ret || !missing)
		return ret ? ret : report(opt, 0);
	return err_nothing(
		"%s: is already loaded, %s (map id %u)\n"
		"change it with bbrctl set or upgrade, or load one under another name with --name",
		opt->name, missing, loaded);
}

static int check_name(const struct options *opt, const struct object *obj)
{
	const struct algorithm *owner = instance_name_owner(opt->name);

	if (!opt->name_given && !obj->algorithm)
		return err_usage("%s: bbrctl does not know algorithm %s, so its instance has no "
				 "default name\n"
				 "give it a name: --name NAME",
				 obj->file, obj->abi.algorithm);
	if (!owner || owner == obj->algorithm)
		return EXIT_DONE;
	return err_usage("%s: its algorithm is %s, but only instances of %s may have the name %s\n"
			 "give it another name: --name NAME",
			 obj->file, obj->abi.algorithm, owner->name, opt->name);
}

static int load_object(struct options *opt, const struct object *obj)
{
	static char name[BBR_NAME_LEN];
	struct param_set p;
	int ret = check_algorithm(opt, obj);

	if (!ret && obj->algorithm)
		ret = profile_params(obj->algorithm, opt->profile, opt->set.n, opt->set.arg, &p);
	if (ret)
		return ret;
	if (opt->ecn && object_set_flags(obj->bpf, TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN))
		return err_usage("%s: algorithm %s does not support ECN\n"
				 "leave --ecn out, or choose another --algorithm",
				 obj->file, obj->abi.algorithm);
	if (!opt->name_given && obj->algorithm) {
		snprintf(name, sizeof(name), "%s%s", obj->algorithm->instance,
			 object_flags(obj->bpf) & TCP_CONG_NEEDS_ECN ? INSTANCE_ECN_SUFFIX : "");
		opt->name = name;
	}
	ret = check_name(opt, obj);
	return ret ? ret : load_once(opt, obj, &p);
}

static int verb_load(struct options *opt, UNUSED int argc, UNUSED char **argv)
{
	const struct algorithm *algorithm = NULL;
	struct object obj AUTO(object_close) = {};
	int ret = EXIT_DONE;

	if (opt->netns && !opt->make_default)
		return err_usage(
			"load: --netns needs --default: it names the namespace where the instance "
			"becomes the default\n"
			"the instance itself is available in all network namespaces");
	if (!opt->object)
		ret = algorithm_option(opt, &algorithm);
	if (!ret)
		ret = object_open(opt->object, algorithm, &obj);
	return ret ? ret : load_object(opt, &obj);
}

BBRCTL_VERB(
	load, "load", NEEDS(CHANGE, .may = FILES | EVERY_NETNS),
	.brief = "load an instance; --default makes it a network namespace's default",
	OPTIONS(OWN(
		NAME, ALGORITHM("the instance's algorithm, by default bbr"),
		PROFILE("PROFILE|FILE",
			"start with the values of a profile, or of a file's only profile"),
		{ "set", 0, "KEY=VALUE", option_append, MEMBER(set),
		  "a parameter (may be given more than once)" },
		OBJECT("a BPF object instead of the one in bbrctl"),
		FLAG("ecn", ecn,
		     "negotiate ECN and respond to marks, for networks that mark at a short queue"),
		FLAG("default", make_default,
		     "make it the default of a network namespace: of bbrctl's own without --netns"),
		NETNS("with --default: of this namespace, a name of /run/netns or a path"))));
