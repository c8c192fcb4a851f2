// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attachment.h"
#include "descriptor.h"
#include "err.h"
#include "instance.h"
#include "instance/netns_default.h"
#include "tuning/param.h"
#include "tuning/profile_map.h"
#include "units.h"
#include "verbs/json_print.h"
#include "verbs/verbs.h"

/* What `status` says of an instance beyond struct instance. */
struct status {
	int changed; /* parameters of the default profile that differ from their defaults */
	int profiles; /* with the default one */
	int monitors; /* subscribers that are being written to */
	time_t loaded; /* wall-clock time */
};

/* The defaults of all namespaces. */
static struct default_of *defaults;
static int nr_defaults;
/* The cgroups that are attached to any of our names. */
struct attachments {
	struct attachment *list;
	int n;
};

static __s64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* In nanoseconds: whole seconds of two clocks would make the result jump by one. */
static time_t wall_clock(__u64 boottime_ns)
{
	__s64 since_boot = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);

	return (since_boot + (__s64)boottime_ns) / 1000000000;
}

static int read_status(const struct instance *inst, struct status *st)
{
	char name[BBR_PROFILE_NAME_LEN];
	struct profile_map profiles;
	struct bbr_watch *watch;
	struct param_set p;
	int ret = profile_map_open(inst, &profiles);

	if (ret)
		return ret;
	profile_read(&profiles, 0, &p);
	st->changed = param_set_changed(&p);
	st->profiles = 0;
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(&profiles, i, name);
		st->profiles += name[0] != 0;
	}
	profile_map_close(&profiles);
	watch = instance_watch_map(inst);
	st->monitors = watch ? __builtin_popcountll(watch->active) : 0;
	if (watch)
		instance_watch_unmap(watch);
	st->loaded = wall_clock(inst->loaded_ns);
	return 0;
}

/* Returns how wide it is. */
static int print_default_in(const char *name)
{
	int width = 0;

	for (int i = 0; i < nr_defaults; i++)
		if (!strcmp(defaults[i].name, name))
			width += printf("%s%s", width ? "," : "", defaults[i].netns);
	return width ? width : printf("-");
}

static void print_cgroups(const char *name, const struct attachments *at)
{
	for (int i = 0; i < at->n; i++)
		if (!strcmp(at->list[i].name, name))
			printf("  attached to %s\n", at->list[i].path);
}

/* Of a name that is not loaded (any more): indented, so that the table's names stay alone. */
static void print_orphans(const struct instance *list, int n, const struct attachments *at)
{
	for (int i = 0; i < at->n; i++) {
		int k = 0;

		while (k < n && strcmp(list[k].name, at->list[i].name))
			k++;
		if (k == n)
			printf("  %s is not loaded, but attached to %s\n", at->list[i].name,
			       at->list[i].path);
	}
}

static struct json_object *cgroups_json(const char *name, const struct attachments *at)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < at->n; i++)
		if (!strcmp(at->list[i].name, name))
			json_object_array_add(list, json_object_new_string(at->list[i].path));
	return list;
}

static void print_text(const struct instance *inst, const struct status *st)
{
	char loaded[UNITS_LEN];
	int width;

	strftime(loaded, sizeof(loaded), "%F %T", localtime(&st->loaded));
	printf("%-15s %6u %6u %8d %8d %9d  %-20s %-8.20s ", inst->name, inst->map_id, inst->users,
	       st->changed, st->profiles, st->monitors, loaded, inst->abi.version);
	width = print_default_in(inst->name);
	printf("%*s  %s\n", width < 10 ? 10 - width : 0, "", inst->algorithm->name);
}

static void print_unsupported(const struct instance *inst)
{
	printf("%-15s %6u  loaded by another version (", inst->name, inst->map_id);
	if (inst->abi.major == BBR_ABI_MAJOR && !inst->algorithm)
		printf("algorithm %s)\n", inst->abi.algorithm);
	else
		printf("ABI %u)\n", inst->abi.major);
}

static struct json_object *default_in_json(const char *name)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < nr_defaults; i++) {
		struct json_object *o;

		if (strcmp(defaults[i].name, name))
			continue;
		o = json_object_new_object();
		json_object_object_add(o, "netns", json_object_new_string(defaults[i].netns));
		json_object_object_add(o, "inode", json_object_new_int64(defaults[i].inode));
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *to_json(const struct instance *inst, const struct status *st)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(inst->name));
	json_object_object_add(o, "map_id", json_object_new_int64(inst->map_id));
	json_object_object_add(o, "prog_id", json_object_new_int64(inst->prog_id));
	json_object_object_add(o, "link_id", json_object_new_int64(inst->link_id));
	json_object_object_add(o, "supported", json_object_new_boolean(inst->supported));
	json_object_object_add(o, "abi_major", json_object_new_int64(inst->abi.major));
	json_object_object_add(o, "abi_minor", json_object_new_int64(inst->abi.minor));
	json_object_object_add(
		o, "algorithm",
		inst->abi.algorithm[0] ? json_object_new_string(inst->abi.algorithm) : NULL);
	if (!inst->supported)
		return o;
	json_object_object_add(o, "version", json_object_new_string(inst->abi.version));
	json_object_object_add(o, "users", json_object_new_int64(inst->users));
	json_object_object_add(o, "params_changed", json_object_new_int64(st->changed));
	json_object_object_add(o, "profiles", json_object_new_int64(st->profiles));
	json_object_object_add(o, "monitors", json_object_new_int64(st->monitors));
	json_object_object_add(o, "loaded_s", json_object_new_int64(st->loaded));
	json_object_object_add(o, "default_in", default_in_json(inst->name));
	return o;
}

static int print_all(const struct options *opt, const struct instance *list, int n,
		     const struct attachments *at)
{
	struct json_object *all = opt->json ? json_object_new_array() : NULL;

	if (!opt->json)
		printf("%-15s %6s %6s %8s %8s %9s  %-20s %-8s %s  %s\n", "NAME", "MAP-ID", "USERS",
		       "CHANGED", "PROFILES", "MONITORS", "LOADED", "VERSION", "DEFAULT-IN",
		       "ALGORITHM");
	for (int i = 0; i < n; i++) {
		struct status st = {};
		int ret = list[i].supported ? read_status(&list[i], &st) : EXIT_DONE;

		if (ret) {
			json_object_put(all);
			return ret;
		}
		if (opt->json) {
			struct json_object *o = to_json(&list[i], &st);

			json_object_object_add(o, "cgroups", cgroups_json(list[i].name, at));
			json_object_array_add(all, o);
			continue;
		}
		if (list[i].supported)
			print_text(&list[i], &st);
		else
			print_unsupported(&list[i]);
		print_cgroups(list[i].name, at);
	}
	if (opt->json)
		json_print(all);
	else if (!opt->name_given)
		print_orphans(list, n, at);
	return EXIT_DONE;
}

static int print_with_attachments(const struct options *opt, const struct instance *list, int n)
{
	struct attachments at;
	int ret;

	at.n = attachments_list(&at.list);
	if (at.n < 0)
		return err_bpf(at.n, "cannot look at the cgroups");
	ret = print_all(opt, list, n, &at);
	attachments_free(at.list, at.n);
	return ret;
}

int verb_status(const struct options *opt, int argc, char **argv)
{
	struct instance *list = NULL, one;
	int n = 1, ret = EXIT_DONE;

	(void)argc;
	(void)argv;
	if (!have_caps("cannot look for instances"))
		return EXIT_REFUSED;
	if (opt->name_given)
		ret = instance_get(opt->name, &one);
	else
		n = instance_list(&list);
	if (n < 0)
		return err_bpf(n, "cannot look for instances");
	if (ret)
		return ret;
	nr_defaults = n ? defaults_list(&defaults) : 0;
	ret = print_with_attachments(opt, list ? list : &one, n);
	defaults_free(defaults, nr_defaults);
	free(list);
	return ret;
}
