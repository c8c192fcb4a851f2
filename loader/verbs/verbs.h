/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bbrctl's verbs. Each gets a struct options and its own arguments (argv[0] is the verb), and
 * returns the exit status.
 */
#ifndef LOADER_VERBS_H
#define LOADER_VERBS_H

#include <stdbool.h>

#include "bpf_bbr/abi.h"
#include "cli/options.h"
#include "experiments/request.h"
#include "tuning/socket_filter.h"

/* The options of all verbs; a table in verbs.c says which verb takes which. */
struct options {
	const char *name; /* --name: the instance; by default that of the first algorithm */
	bool name_given;
	const char *profile; /* --profile */
	bool json; /* -j */
	bool defaults; /* show --defaults */
	const char *object; /* load, upgrade --object */
	const char *algorithm; /* load, show --algorithm */
	struct value_list set; /* load --set */
	struct socket_filter filter; /* --dst, --dport, --sport, --cgroup, --mark */
	const char *before; /* rule add --before */
	bool ecn; /* load --ecn */
	bool make_default; /* load --default */
	const char *netns; /* --netns: a name of /run/netns, or a path */
	bool all_netns; /* --all-netns */
	const char *from, *to; /* migrate */
	const char *migrate; /* unload --migrate */
	bool listeners; /* migrate --listeners */
	bool dry_run; /* migrate --dry-run */
	bool check, diff, hold, prune; /* apply */
	struct experiment_options experiment;
};

struct algorithm;

extern const struct program bbrctl;

/*
 * Finds the algorithm that --algorithm names, by default the first. Returns EXIT_DONE, or
 * EXIT_USAGE after printing that there is none with this name.
 */
int algorithm_option(const struct options *opt, const struct algorithm **algorithm);

int verb_check(void *options, int argc, char **argv);
int verb_load(void *options, int argc, char **argv);
int verb_unload(void *options, int argc, char **argv);
int verb_status(void *options, int argc, char **argv);
int verb_show(void *options, int argc, char **argv);
int verb_set(void *options, int argc, char **argv);
int verb_reset(void *options, int argc, char **argv);
int verb_save(void *options, int argc, char **argv);
int verb_apply(void *options, int argc, char **argv);
int verb_rule_add(void *options, int argc, char **argv);
int verb_rule_delete(void *options, int argc, char **argv);
int verb_rule_list(void *options, int argc, char **argv);
int verb_rule_flush(void *options, int argc, char **argv);
int verb_rule_test(void *options, int argc, char **argv);
int verb_migrate(void *options, int argc, char **argv);
int verb_profile_list(void *options, int argc, char **argv);
int verb_profile_show(void *options, int argc, char **argv);
int verb_profile_add(void *options, int argc, char **argv);
int verb_profile_copy(void *options, int argc, char **argv);
int verb_profile_delete(void *options, int argc, char **argv);
int verb_attach(void *options, int argc, char **argv);
int verb_detach(void *options, int argc, char **argv);
int verb_experiment_start(void *options, int argc, char **argv);
int verb_experiment_list(void *options, int argc, char **argv);
int verb_experiment_status(void *options, int argc, char **argv);
int verb_experiment_pause(void *options, int argc, char **argv);
int verb_experiment_resume(void *options, int argc, char **argv);
int verb_experiment_watch(void *options, int argc, char **argv);
int verb_experiment_stop(void *options, int argc, char **argv);
int verb_upgrade(void *options, int argc, char **argv);

/* After unloading: warns about the cgroups that are still attached to the name. */
void warn_of_attachments(const char *name);

#endif
