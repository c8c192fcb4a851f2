// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/netns.h"
#include "instance/struct_ops.h"
#include "machine/machine.h"
#include "migration/migration.h"
#include "verbs/verbs.h"

/*
 * Moves the sockets that use it now to the other congestion control. Returns EXIT_REFUSED after
 * printing why if some stay.
 */
static int move_away(struct migration *m)
{
	int ret = migration_run(m);

	if (ret || migration_count(m).failed) {
		migration_judge(m);
		return EXIT_REFUSED;
	}
	return EXIT_DONE;
}

static void print_result(const struct options *opt, const struct instance *inst,
			 const struct migration *m, bool is_unloaded)
{
	if (opt->migrate)
		migration_print(m);
	if (!is_unloaded)
		err("%s: not unloaded", inst->name);
	else if (inst->users)
		printf("%s: unloaded; it stays in the kernel for %u user%s (sockets and "
		       "namespaces' defaults) until the last has ended\n",
		       inst->name, inst->users, plural(inst->users));
	else
		printf("%s: unloaded\n", inst->name);
}

/*
 * Connections first: if some cannot be moved, nothing else has been done. Then the defaults, before
 * the name is gone, so that a new socket always gets one that exists.
 */
static int unload(const struct options *opt, struct instance *inst, struct migration *m,
		  struct json *j, unsigned int *unseen)
{
	int ret = opt->migrate ? move_away(m) : EXIT_DONE;

	if (!ret)
		ret = defaults_restore(inst, j, unseen);
	if (!ret)
		ret = machine_routes_back(inst, j);
	if (!ret)
		ret = instance_find(opt->name, inst); /* for the number of its users now */
	return ret ? ret : unregister(inst);
}

/*
 * Attachments stay, for a user who loads the name again. Only detach says that nobody wants them.
 */
static void warn_of_attachments(const char *name, const struct attachment *list, int n)
{
	if (n < 0)
		err_bpf(n, "cannot look for cgroups that it is still attached to");
	for_each (at, list, n)
		if (!strcmp(at->name, name))
			err("%s: still attached to %s, where new connections now get their "
			    "default\n"
			    "it applies again when the name is loaded; to prevent that: bbrctl "
			    "detach --cgroup %s --name %s",
			    name, at->path, at->path, name);
}

static int verb_unload(struct options *opt, int argc, char **argv)
{
	struct migration m = { .config = { .listeners = true }, .all_netns = true };
	unsigned int unseen = 0; /* namespaces */
	struct instance inst;
	struct json j;
	struct attachment *attached;
	bool is_unloaded, left;
	int ret, n_attached;

	if (name_argument(opt, argc, argv))
		return EXIT_USAGE;
	if (opt->migrate && !strcmp(opt->migrate, opt->name))
		return err_usage("--migrate %s: this is the instance to be unloaded", opt->migrate);
	if (opt->migrate) {
		strcpy(m.config.from, opt->name);
		snprintf(m.config.to, sizeof(m.config.to), "%s", opt->migrate);
		ret = migration_check_to("--migrate", opt->migrate);
		if (ret)
			return ret;
	}
	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = instance_find(opt->name, &inst);
	if (ret == EXIT_NOTHING)
		pin_remove(opt->name, 0); /* of a link that somebody detached */
	if (!ret)
		ret = arms_refuse_use(opt->name, NULL);
	if (ret)
		return ret;
	n_attached =
		attachments_list(&attached); /* now: without memory nothing has been done yet */
	if (opt->json) {
		json_begin_pretty(&j, stdout);
		json_add_string(&j, "name", inst.name);
		json_add_int(&j, "map_id", inst.map_id);
	}
	ret = unload(opt, &inst, &m, opt->json ? &j : NULL, &unseen);
	is_unloaded = !ret;
	if (is_unloaded && opt->migrate)
		ret = move_away(&m); /* what came in the meantime */
	if (opt->json) {
		json_add_bool(&j, "unloaded", is_unloaded);
		json_add_int(&j, "users", inst.users);
		if (opt->migrate) {
			json_open_object(&j, "migrated");
			migration_add_json(&j, &m);
			json_close(&j);
		}
		json_end(&j);
	} else {
		print_result(opt, &inst, &m, is_unloaded);
	}
	migration_free(&m);
	if (is_unloaded)
		warn_of_attachments(opt->name, attached, n_attached);
	attachments_free(attached, n_attached);
	if (is_unloaded && unseen)
		netns_say_unseen(unseen, "not all defaults are restored");
	left = is_unloaded && m.unseen > 0 && inst.users;
	if (left)
		netns_say_unseen(m.unseen, "not all connections are moved");
	return !ret && (unseen || left) ? EXIT_REFUSED : ret;
}

BBRCTL_VERB(unload, "unload", NEEDS(CHANGE, .may = FILES | EVERY_NETNS), .args = "[NAME]",
	    .max_args = 1,
	    .brief = "unload an instance; open connections keep its code until they close",
	    OPTIONS(OWN(NAME, TEXT("migrate", "CC", migrate,
				   "first move its connections to this congestion control"))));
