// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "kernel/clock.h"
#include "kernel/netns.h"
#include "instance/netns_default.h"
#include "verbs/verbs.h"

/* What `status` shows of an instance. */
struct status {
	const struct instance *inst;
	/* If these tools know its ABI and algorithm: */
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
static struct attachment *attached;
static int nr_attached;

static int read_status(struct status *st)
{
	struct profile_map profiles AUTO(profile_map_close);
	char name[BBR_PROFILE_NAME_LEN];
	struct bbr_watch *watch;
	struct timespec boot;
	struct param_set p;
	int ret = profile_map_open(st->inst, &profiles);

	if (ret)
		return ret;
	profile_read(&profiles, 0, &p);
	st->changed = param_set_changed(&p);
	st->profiles = 0;
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(&profiles, i, name);
		st->profiles += name[0] != 0;
	}
	watch = instance_watch_map(st->inst);
	st->monitors = watch ? __builtin_popcountll(watch->active) : 0;
	if (watch)
		instance_watch_unmap(watch);
	/* In nanoseconds: whole seconds of two clocks would make the result jump by one. */
	clock_gettime(CLOCK_BOOTTIME, &boot);
	st->loaded = (__s64)(realtime_ns() - (boot.tv_sec * NS_PER_S + boot.tv_nsec) +
			     st->inst->loaded_ns) /
		     (__s64)NS_PER_S;
	return EXIT_DONE;
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

/* Where the default has this name, but is the code of one that was unloaded. */
static bool is_stale(const struct default_of *d, const struct instance *inst)
{
	return !strcmp(d->name, inst->name) && !default_is(d, inst);
}

static void print_stale(const struct instance *inst)
{
	for_each (d, defaults, nr_defaults) {
		if (!is_stale(d, inst))
			continue;
		printf("  unloaded code of this name is the default of %s", shown_netns(d));
		if (d->netns)
			printf("; set it again: bbrctl load --name %s --default --netns %s",
			       inst->name, text_shell_word(d->netns));
		printf("\n");
	}
}

static bool is_today(time_t then)
{
	time_t now = time(NULL);
	const struct tm day = *localtime(&now), *of = localtime(&then);

	return day.tm_year == of->tm_year && day.tm_yday == of->tm_yday;
}

/* One line of at most 80 columns, and what belongs to it. */
static void print_text(const struct status *st)
{
	const struct instance *inst = st->inst;
	char loaded[UNITS_LEN];
	int n = 0;

	if (!inst->supported) {
		printf("%-15s %6u  loaded by another version (", inst->name, inst->map_id);
		if (inst->abi.major == BBR_ABI_MAJOR && !inst->algorithm)
			printf("algorithm %s)\n", inst->abi.algorithm);
		else
			printf("ABI %u)\n", inst->abi.major);
		return;
	}
	/* Today's time of day, or the day: both with the seconds take half of a line. */
	strftime(loaded, sizeof(loaded), is_today(st->loaded) ? "%T" : "%F",
		 localtime(&st->loaded));
	printf("%-15s %6u %6u %7d %8d %8d %-10s %s %.10s\n", inst->name, inst->map_id, inst->users,
	       st->changed, st->profiles, st->monitors, loaded, inst->algorithm->name,
	       inst->abi.version);
	for_each (d, defaults, nr_defaults)
		if (default_is(d, inst))
			printf("%s%s", n++ ? ", " : "  default in ", shown_netns(d));
	if (n)
		putchar('\n');
	print_stale(inst);
}

static void add_defaults(struct json *j, const char *key, const struct instance *inst,
			 bool (*has)(const struct default_of *d, const struct instance *inst))
{
	json_open_array(j, key);
	for_each (d, defaults, nr_defaults) {
		if (!has(d, inst))
			continue;
		json_open_object(j, NULL);
		json_add_string(j, "netns", d->netns); /* null: it cannot be found from here */
		json_add_int(j, "inode", d->inode);
		json_close(j);
	}
	json_close(j);
}

static void add_instance(struct json *j, const struct status *st)
{
	const struct instance *inst = st->inst;

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
		add_defaults(j, "default_in", inst, default_is);
		add_defaults(j, "stale_default_in", inst, is_stale);
	}
	json_open_array(j, "cgroups");
	for_each (at, attached, nr_attached)
		if (!strcmp(at->name, inst->name))
			json_add_string(j, NULL, at->path);
	json_close(j);
	json_close(j);
}

static void print_attached(const struct attachment *at)
{
	char terms[RULE_TEXT_LEN];

	terms_format(at->term, at->n, terms, sizeof(terms));
	printf("  attached to %s%s%s%s\n", text_shown(at->path), at->n ? ":" : "", terms,
	       access(at->path, F_OK) ? " (waits for it)" : "");
}

static void print_table(const struct status *st, int n)
{
	printf("%-15s %6s %6s %7s %8s %8s %-10s %s\n", "NAME", "MAP-ID", "USERS", "CHANGED",
	       "PROFILES", "MONITORS", "LOADED", "ALGORITHM");
	for_each (one, st, n) {
		print_text(one);
		for_each (at, attached, nr_attached)
			if (!strcmp(at->name, one->inst->name))
				print_attached(at);
	}
}

/*
 * Prints attachments whose name is not loaded. They are indented, so that only the table's names
 * begin a line.
 */
static void print_orphans(const struct instance *list, int n)
{
	for_each (at, attached, nr_attached) {
		int k = 0;

		while (k < n && strcmp(list[k].name, at->name))
			k++;
		if (k == n)
			printf("  %s is attached to %s, but not loaded\n", at->name,
			       text_shown(at->path));
	}
}

static int read_and_print(const struct options *opt, const struct instance *list, int n)
{
	struct status *st AUTO_FREE = mem_new(n, sizeof(*st));
	int ret = EXIT_DONE;
	struct json j;

	for_each (one, st, n) {
		one->inst = list + (one - st);
		if (!ret && one->inst->supported)
			ret = read_status(one);
	}
	if (!ret) {
		nr_attached = attachments_list(&attached);
		if (nr_attached < 0)
			ret = err_bpf(nr_attached, "cannot look at the cgroups");
	}
	if (!ret && opt->json) {
		json_begin_pretty_array(&j, stdout);
		for_each (one, st, n)
			add_instance(&j, one);
		json_end(&j);
	} else if (!ret) {
		print_table(st, n);
		if (!opt->name_given)
			print_orphans(list, n);
	}
	attachments_free(attached, nr_attached);
	return ret;
}

static void list_defaults(void)
{
	const struct netns_known *known;
	int n;

	defaults_list(&defaults, &nr_defaults);
	n = netns_list(&known);
	for_each (k, known, n) {
		struct default_of d = { .inode = k->inode, .map_id = k->is.map_id };

		if (!netns_is_unseen(k))
			continue;
		memcpy(d.name, k->is.name, sizeof(d.name));
		MEM_ADD(defaults, nr_defaults) = d;
	}
}

static int verb_status(struct options *opt, int argc, char **argv)
{
	struct instance *list AUTO_FREE = NULL, one;
	int n = 1, ret = EXIT_DONE;

	if (name_argument(opt, argc, argv))
		return EXIT_USAGE;
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
	if (n)
		list_defaults();
	ret = read_and_print(opt, list ? list : &one, n);
	defaults_free(defaults, nr_defaults);
	return ret;
}

BBRCTL_VERB(status, "status", NEEDS(LOOK | CAP(NET_ADMIN), .may = EVERY_NETNS), .args = "[NAME]",
	    .max_args = 1, .brief = "list the loaded instances", OPTIONS(OWN(NAME)));
