// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl experiment start */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "experiment/running/running.h"
#include "self/lock.h"
#include "kernel/clock.h"
#include "kernel/netns.h"
#include "verbs/verbs.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static int read_cookie(const struct netns *ns, void *cookie)
{
	int fd AUTO_CLOSE = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(__u64);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len))
		return err_bpf(errno, ns->name);
	return EXIT_DONE;
}

/* What the own namespace is called in the scope: its name in /run/netns, or as the kernel calls it. */
static int take_own_netns(struct experiment_scope *scope)
{
	char name[NAME_MAX + 1];
	__u32 inode;
	int ret = netns_inode("--netns", NETNS_OWN, &inode);

	if (ret)
		return ret;
	if (netns_name(inode, name) && strlen(name) < sizeof(scope->netns_name))
		strcpy(scope->netns_name, name);
	else
		snprintf(scope->netns_name, sizeof(scope->netns_name), "net:[%u]", inode);
	return netns_visit(NULL, read_cookie, &scope->netns);
}

/* Who names a cgroup, means its connections in any namespace. */
static int take_netns(const struct options *opt, struct experiment_scope *scope)
{
	const char *name = opt->netns;

	if (name && opt->all_netns)
		return err_usage("--netns and --all-netns exclude each other");
	if (!name)
		return opt->all_netns || opt->filter.cgroup ? EXIT_DONE : take_own_netns(scope);
	if (strlen(name) >= sizeof(scope->netns_name))
		return err_usage("--netns %s: longer than %zu characters", name,
				 sizeof(scope->netns_name) - 1);
	strcpy(scope->netns_name, name);
	return netns_visit(name, read_cookie, &scope->netns);
}

/*
 * Finds the cgroup's path below the cgroup2 mount where a walk over all cgroups finds it, even if
 * cgroup2 is mounted elsewhere as well. Without --cgroup, it is the root.
 */
static int find_cgroup(const char *given, char **path)
{
	const char *named = given ? given : "/";
	char below[PATH_MAX], *mount AUTO_FREE = NULL;
	__u64 id;
	int ret = cgroup_find("--cgroup", named, path);

	ret = ret ?: cgroup_id("--cgroup", named, &id);
	if (ret)
		return ret;
	mount = cgroup_mount();
	cgroup_path(id, below, sizeof(below)); /* "" without the privilege to ask for it */
	if (mount && *below) {
		free(*path);
		*path = mem_format("%s%s", mount, strcmp(below, "/") ? below : "");
	}
	return EXIT_DONE;
}

/* Refuses if another experiment has this name or covers some of its connections. */
static int check_others(const struct experiment *e, const char *cgroup)
{
	struct experiment_list list AUTO(experiments_free) = {};

	if (experiments_need(&list))
		return EXIT_REFUSED;
	for (int i = 0; i < list.n; i++) {
		const struct experiment *other = &list.at[i].config;

		if (!strcmp(other->name, e->name))
			return err_nothing(
				"%s: an experiment with this name runs already\n"
				"choose another name, or stop it: bbrctl experiment stop %s",
				e->name, e->name);
		if (scopes_overlap(&e->scope, cgroup, &other->scope, list.at[i].path))
			return err_refused(
				"%s: the scope overlaps that of the experiment %s\n"
				"make the scopes differ in a prefix, port, mark, cgroup or network "
				"namespace",
				e->name, other->name);
	}
	return EXIT_DONE;
}

/* Notes a name that bbrctl attached, once; false: there are too many. */
static bool add_attached(struct experiment *e, const char *name)
{
	for (int i = 0; i < EXPERIMENT_ARMS; i++) {
		if (!e->attached[i][0])
			strcpy(e->attached[i], name);
		if (!strcmp(e->attached[i], name))
			return true;
	}
	return false;
}

/*
 * Notes what is attached to the cgroup or below it. The kernel runs that before the experiment,
 * which must not take it for an application's choice.
 */
static int take_attached(struct experiment *e, const char *cgroup)
{
	struct attachment *list;
	int n = attachments_list(&list), ret = EXIT_DONE;

	if (n < 0)
		return err_bpf(n, "cannot look for what is attached to cgroups");
	for (int i = 0; !ret && i < n; i++) {
		if (!cgroup_is_within(list[i].path, cgroup) || add_attached(e, list[i].name))
			continue;
		err("%s: more than %d congestion controls are attached to cgroups below\n"
		    "choose a cgroup with fewer; bbrctl status lists them",
		    cgroup, EXPERIMENT_ARMS);
		ret = EXIT_REFUSED;
	}
	attachments_free(list, n);
	return ret;
}

/* Makes the first line of its log. */
static struct experiment_decision describe(const struct experiment_request *r)
{
	char all[128] = "";
	size_t len = 0;

	for (__u32 i = 0; i < r->config.arms && len < sizeof(all); i++) {
		len += snprintf(all + len, sizeof(all) - len, "%s %s", i ? "," : "",
				arm_text(&r->config.arm[i]));
		if (r->config.design == EXPERIMENT_AB && len < sizeof(all))
			len += snprintf(all + len, sizeof(all) - len, " %g %%",
					experiment_percent(r->share[i]));
	}
	return decision_make("started: %s of%s%s", experiment_designs[r->config.design], all,
			     r->config.design == EXPERIMENT_CANARY ? "; waits for a watcher" : "");
}

static int verb_experiment_start(struct options *opt, UNUSED int argc, char **argv)
{
	int ret;
	struct experiment_decision first;
	struct experiment_request r;
	char *cgroup AUTO_FREE = NULL;

	ret = experiment_request_parse(argv[1], &opt->experiment, &opt->filter, &r);
	if (ret)
		return ret;
	if (!clock_init() || privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = take_netns(opt, &r.config.scope);
	ret = ret ?: find_cgroup(opt->filter.cgroup, &cgroup);
	ret = ret ?: check_others(&r.config, cgroup);
	ret = ret ?: take_attached(&r.config, cgroup);
	first = describe(&r);
	ret = ret ?: experiment_program_start(&r, &first, cgroup);
	if (ret)
		return ret;
	decision_print(r.config.name, first, opt->json);
	if (r.config.design == EXPERIMENT_CANARY)
		note("next: bbrctl experiment watch %s", r.config.name);
	return EXIT_DONE;
}

static const struct option_def experiment_start_options[] = {
	{ "arm", 0, "LABEL=CC[:PROFILE]", option_append, EXPERIMENT(arms),
	  "a congestion control, or a profile of an instance; two to four of these. bbrmon\n"
	  "compares the others with the first" },
	{ "design", 0, "DESIGN", option_text, EXPERIMENT(design),
	  "ab (random for each connection), switchback (all have one arm at a time) or canary\n"
	  "(the share of the second arm grows while guards hold); by default ab" },
	{ "share", 0, "LABEL=PERCENT", option_append, EXPERIMENT(shares),
	  "ab: the arm's share of new connections, such as 5%; the others share the rest equally" },
	{ "by", 0, "UNIT", option_text, EXPERIMENT(by),
	  "connection (a random arm for each; the default) or prefix (the same arm for all\n"
	  "connections with one remote prefix)" },
	{ "prefix", 0, "N,N", option_text, EXPERIMENT(prefix),
	  "with --by prefix: prefix lengths of IPv4 and IPv6; by default 24,48" },
	NETNS("connections of this network namespace; without --cgroup, by default bbrctl's own"),
	ALL_NETNS("connections of all network namespaces"),
	{ "block", 0, "DURATION", option_text, EXPERIMENT(block),
	  "switchback: how long all connections have one arm; by default 60s" },
	{ "washout", 0, "DURATION", option_text, EXPERIMENT(washout),
	  "switchback: time at the start of a block that does not count; by default a sixth of "
	  "it" },
	{ "guard", 0, "GUARD", option_append, EXPERIMENT(guards),
	  "canary: a condition for the next step, such as 'retransmitted < 1.2x'; you can repeat "
	  "it" },
	{ "steps", 0, "PERCENT,...", option_text, EXPERIMENT(steps),
	  "canary: shares of the second arm, one after the other; by default 1,5,25,50,100" },
	{ "step-connections", 0, "N", option_text, EXPERIMENT(step_connections),
	  "canary: connections that must end in the second arm before the next step; by default "
	  "100" },
	{ "step-time", 0, "DURATION", option_text, EXPERIMENT(step_time),
	  "canary: minimum duration of a step; by default 60s" },
	{ "keep", 0, "N", option_text, EXPERIMENT(keep),
	  "outcomes that the kernel keeps until they are read; by default 65536" },
	{ "seed", 0, "N", option_text, EXPERIMENT(seed),
	  "seed of the assignment by prefix and of the order of blocks; by default random" },
	END,
};

BBRCTL_VERB(experiment_start, "experiment start", NEEDS(CHANGE, .may = FILES | EVERY_NETNS),
	    .args = "EXPERIMENT --arm LABEL=CC[:PROFILE]...", .min_args = 1, .max_args = 1,
	    .brief = "give new connections one of several arms each, to compare the arms",
	    OPTIONS({ experiment_start_options, 0 }, { option_dst, 0 }, { option_filter, 0 }));
