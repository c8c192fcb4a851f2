// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cgroup/cgroup.h"
#include "descriptor.h"
#include "cli/err.h"
#include "kernel/instance.h"
#include "kernel/netns.h"
#include "instance/netns_default.h"
#include "tuning/param.h"
#include "tuning/profile_map.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/units.h"
#include "verbs/verbs.h"

/* What `status` shows of an instance besides struct instance. */
struct status {
	int changed; /* parameters of the default profile that differ from their defaults */
	int profiles; /* including the default one */
	int monitors; /* active subscribers */
	time_t loaded; /* wall-clock time */
};

/*
 * The defaults of all namespaces, also of those that cannot be found from here: these come last, and
 * their `netns` is NULL.
 */
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

/* Valid until the next call. */
static const char *shown_netns(const struct default_of *d)
{
	static char inode[sizeof("net:[4294967295]")];

	if (d->netns)
		return text_shown(d->netns);
	snprintf(inode, sizeof(inode), "net:[%u]", d->inode);
	return inode;
}

/* Returns how many columns it printed. */
static int print_default_in(const struct instance *inst)
{
	int width = 0;

	for (int i = 0; i < nr_defaults; i++)
		if (default_is(&defaults[i], inst))
			width += printf("%s%s", width ? "," : "", shown_netns(&defaults[i]));
	return width ? width : printf("-");
}

/* Where the default has this name, but is the code of one that was unloaded. */
static bool is_stale(const struct default_of *d, const struct instance *inst)
{
	return !strcmp(d->name, inst->name) && !default_is(d, inst);
}

static void print_stale(const struct instance *inst)
{
	for (int i = 0; i < nr_defaults; i++) {
		const char *netns = shown_netns(&defaults[i]);

		if (!is_stale(&defaults[i], inst))
			continue;
		printf("  unloaded code of this name is the default of %s", netns);
		if (defaults[i].netns)
			printf("; set it again: bbrctl load --name %s --default --netns %s",
			       inst->name, netns);
		printf("\n");
	}
}

static void print_cgroups(const char *name, const struct attachments *at)
{
	for (int i = 0; i < at->n; i++)
		if (!strcmp(at->list[i].name, name))
			printf("  attached to %s\n", text_shown(at->list[i].path));
}

/*
 * Prints attachments whose name is not loaded. They are indented, so that only the table's names
 * begin a line.
 */
static void print_orphans(const struct instance *list, int n, const struct attachments *at)
{
	for (int i = 0; i < at->n; i++) {
		int k = 0;

		while (k < n && strcmp(list[k].name, at->list[i].name))
			k++;
		if (k == n)
			printf("  %s is attached to %s, but not loaded\n", at->list[i].name,
			       text_shown(at->list[i].path));
	}
}

static void add_cgroups(struct json *j, const char *name, const struct attachments *at)
{
	json_open_array(j, "cgroups");
	for (int i = 0; i < at->n; i++)
		if (!strcmp(at->list[i].name, name))
			json_add_string(j, NULL, at->list[i].path);
	json_close(j);
}

static void print_text(const struct instance *inst, const struct status *st)
{
	char loaded[UNITS_LEN];
	int width;

	strftime(loaded, sizeof(loaded), "%F %T", localtime(&st->loaded));
	printf("%-15s %6u %6u %8d %8d %9d  %-20s %-8.20s ", inst->name, inst->map_id, inst->users,
	       st->changed, st->profiles, st->monitors, loaded, inst->abi.version);
	width = print_default_in(inst);
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

static void add_default(struct json *j, const struct default_of *d)
{
	json_open_object(j, NULL);
	json_add_string(j, "netns", d->netns); /* null: it cannot be found from here */
	json_add_int(j, "inode", d->inode);
	json_close(j);
}

static void add_defaults(struct json *j, const struct instance *inst)
{
	json_open_array(j, "default_in");
	for (int i = 0; i < nr_defaults; i++)
		if (default_is(&defaults[i], inst))
			add_default(j, &defaults[i]);
	json_close(j);
	json_open_array(j, "stale_default_in");
	for (int i = 0; i < nr_defaults; i++)
		if (is_stale(&defaults[i], inst))
			add_default(j, &defaults[i]);
	json_close(j);
}

static void add_instance(struct json *j, const struct instance *inst, const struct status *st,
			 const struct attachments *at)
{
	json_open_object(j, NULL);
	json_add_string(j, "name", inst->name);
	json_add_int(j, "map_id", inst->map_id);
	json_add_int(j, "prog_id", inst->prog_id);
	json_add_int(j, "link_id", inst->link_id);
	json_add_bool(j, "supported", inst->supported);
	json_add_bool(j, "applied", inst->applied_id);
	json_add_int(j, "abi_major", inst->abi.major);
	json_add_int(j, "abi_minor", inst->abi.minor);
	json_add_string(j, "algorithm", inst->abi.algorithm[0] ? inst->abi.algorithm : NULL);
	if (inst->supported) {
		json_add_string(j, "version", inst->abi.version);
		json_add_int(j, "users", inst->users);
		json_add_int(j, "params_changed", st->changed);
		json_add_int(j, "profiles", st->profiles);
		json_add_int(j, "monitors", st->monitors);
		json_add_signed(j, "loaded_s", st->loaded);
		add_defaults(j, inst);
	}
	add_cgroups(j, inst->name, at);
	json_close(j);
}

static void print_json(const struct instance *list, const struct status *st, int n,
		       const struct attachments *at)
{
	struct json j;

	json_begin_pretty_array(&j, stdout);
	for (int i = 0; i < n; i++)
		add_instance(&j, &list[i], &st[i], at);
	json_end(&j);
}

static void print_table(const struct instance *list, const struct status *st, int n,
			const struct attachments *at)
{
	printf("%-15s %6s %6s %8s %8s %9s  %-20s %-8s %s  %s\n", "NAME", "MAP-ID", "USERS",
	       "CHANGED", "PROFILES", "MONITORS", "LOADED", "VERSION", "DEFAULT-IN", "ALGORITHM");
	for (int i = 0; i < n; i++) {
		if (list[i].supported) {
			print_text(&list[i], &st[i]);
			print_stale(&list[i]);
		} else {
			print_unsupported(&list[i]);
		}
		print_cgroups(list[i].name, at);
	}
}

static int print_all(const struct options *opt, const struct instance *list,
		     const struct status *st, int n)
{
	struct attachments at;

	at.n = attachments_list(&at.list);
	if (at.n < 0)
		return err_bpf(at.n, "cannot look at the cgroups");
	if (opt->json)
		print_json(list, st, n, &at);
	else
		print_table(list, st, n, &at);
	if (!opt->json && !opt->name_given)
		print_orphans(list, n, &at);
	attachments_free(at.list, at.n);
	return EXIT_DONE;
}

static int read_and_print(const struct options *opt, const struct instance *list, int n)
{
	struct status *st = calloc(n + 1, sizeof(*st));
	int ret = EXIT_DONE;

	if (!st) {
		err("status: out of memory");
		return EXIT_REFUSED;
	}
	for (int i = 0; !ret && i < n; i++)
		if (list[i].supported)
			ret = read_status(&list[i], &st[i]);
	if (!ret)
		ret = print_all(opt, list, st, n);
	free(st);
	return ret;
}

/* Returns false without memory. */
static bool list_defaults(void)
{
	const struct netns_known *known;
	struct default_of *all;
	int n;

	defaults_list(&defaults, &nr_defaults);
	n = netns_list(&known);
	if (n <= 0)
		return true;
	all = realloc(defaults, (nr_defaults + n) * sizeof(*all));
	if (!all)
		return false;
	defaults = all;
	for (int i = 0; i < n; i++) {
		struct default_of *d = &defaults[nr_defaults];

		if (!netns_is_unseen(&known[i]))
			continue;
		*d = (struct default_of){ .inode = known[i].inode, .map_id = known[i].is.map_id };
		memcpy(d->name, known[i].is.name, sizeof(d->name));
		nr_defaults++;
	}
	return true;
}

static int verb_status(void *options, UNUSED int argc, UNUSED char **argv)
{
	const struct options *opt = options;
	struct instance *list = NULL, one;
	int n = 1, ret = EXIT_DONE;

	if (privileges_take())
		return EXIT_REFUSED;
	if (opt->name_given)
		ret = instance_get(opt->name, &one);
	else
		n = instance_list(&list);
	if (n < 0)
		return err_bpf(n, "cannot list instances");
	if (ret)
		return ret;
	if (!n || list_defaults()) {
		ret = read_and_print(opt, list ? list : &one, n);
	} else {
		err("status: out of memory");
		ret = EXIT_REFUSED;
	}
	defaults_free(defaults, nr_defaults);
	free(list);
	return ret;
}

BBRCTL_VERB(status, "status", NEEDS(LOOK | CAP(NET_ADMIN), .may = EVERY_NETNS),
	    .brief = "list the loaded instances", OPTIONS({ option_instance, 0 }),
	    .run = verb_status);
