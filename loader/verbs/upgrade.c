// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include <bpf/bpf.h>

#include "instance/netns_default.h"
#include "instance/object.h"
#include "instance/struct_ops.h"
#include "instance/swap.h"
#include "verbs/verbs.h"

/* Does everything that can fail before the name is touched. */
static int prepare(const struct options *opt, const struct instance *old, struct object *obj)
{
	int error, ret = object_open(opt->object, old->algorithm, obj);
	__u32 flags;

	if (ret)
		return ret;
	if (obj->algorithm != old->algorithm)
		return err_usage(
			"%s: its algorithm is %s, but %s has algorithm %s\n"
			"load it under another name: bbrctl load --name NEW%s%s; then move the "
			"connections: bbrctl migrate --from %s --to NEW",
			obj->file, obj->abi.algorithm, old->name, old->algorithm->name,
			opt->object ? " --object " : "", opt->object ? opt->object : "", old->name);
	error = ops_flags(old, &flags);
	if (!error) /* an instance that negotiates ECN keeps doing so */
		error = object_set_flags(obj->bpf, flags);
	ret = err_bpf(error, "cannot pass the flags of the old code to the new");
	if (!ret)
		ret = err_bpf(carry_assigned(old, obj->bpf),
			      "cannot pass the arms of experiments to the new code");
	if (!ret)
		ret = object_load(obj);
	if (!ret)
		ret = carry_settings(old, obj->bpf, &obj->abi);
	if (!ret && bpf_map_freeze(object_map(obj->bpf, BBR_MAP_CLAMPED)))
		ret = err_bpf(errno, "cannot freeze the program's own map");
	return ret;
}

static void print_upgraded(const struct options *opt, const struct instance *old,
			   const struct bbr_abi *abi, const struct swap *swap,
			   unsigned int defaults)
{
	__u32 users = old->users > defaults ? old->users - defaults : 0;
	struct json j;

	if (opt->json) {
		json_begin_pretty(&j, stdout);
		json_add_string(&j, "name", old->name);
		json_add_int(&j, "map_id", swap->map_id);
		json_add_string(&j, "version", abi->version);
		json_add_int(&j, "old_map_id", old->map_id);
		json_add_string(&j, "old_version", old->abi.version);
		json_add_int(&j, "old_users", users);
		json_add_int(&j, "defaults", defaults);
		json_add_bool(&j, "atomic", swap->atomic);
		if (!swap->atomic)
			json_add_int(&j, "gap_us", swap->gap_ns / 1000);
		json_add_bool(&j, "next_is_atomic", !swap->why_plain);
		json_end(&j);
		return;
	}
	printf("%s: upgraded from %.20s to %.20s (map id %u to %u)\n", old->name, old->abi.version,
	       abi->version, old->map_id, swap->map_id);
	if (swap->atomic)
		puts("  atomically: the name was never missing");
	else
		printf("  the name was missing for at most %.1f ms: %s\n", swap->gap_ns / 1e6,
		       swap->why_plain ? swap->why_plain :
					 "it had no link before, and has one now");
	if (defaults)
		printf("  made the default of %u network namespace%s again\n", defaults,
		       plural(defaults));
	if (users)
		printf("  the old code remains for %u open socket%s\n", users, plural(users));
}

static int verb_upgrade(struct options *opt, int argc, char **argv)
{
	struct instance old, now;
	unsigned int defaults;
	struct object obj;
	struct swap swap;
	int ret;

	if (name_argument(opt, argc, argv))
		return EXIT_USAGE;
	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &old);
	if (ret)
		return ret;
	ret = prepare(opt, &old, &obj);
	if (!ret)
		ret = swap_code(&old, obj.bpf, &swap);
	object_close(&obj); /* what follows may need its descriptors */
	if (ret) { /* say that the old code still runs, if the kernel confirms it */
		if (!instance_get(old.name, &now))
			remedy("not upgraded: %s still runs %.20s (map id %u)", old.name,
			       now.abi.version, now.map_id);
		return ret;
	}
	ret = defaults_set_again(opt->name, &defaults);
	print_upgraded(opt, &old, &obj.abi, &swap, defaults);
	return ret;
}

BBRCTL_VERB(upgrade, "upgrade", NEEDS(CHANGE, .may = FILES | EVERY_NETNS), .args = "[NAME]",
	    .max_args = 1,
	    .brief = "replace an instance's code; open connections keep the old code",
	    OPTIONS(OWN(NAME, OBJECT("a BPF object instead of the one in bbrctl"))));
