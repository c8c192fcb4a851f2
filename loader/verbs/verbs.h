/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bbrctl's verbs. Each gets its own arguments (argv[0] is the verb) and returns the exit status.
 */
#ifndef LOADER_VERBS_H
#define LOADER_VERBS_H

#include <stdbool.h>

#include "bpf_bbr/abi.h"
#include "tuning/socket_filter.h"

/* The arguments of an option that was given several times. */
struct option_list {
	const char **arg;
	int n;
};

/* The options of all verbs, which stand before or after the verb; main.c has the table of which takes which. */
struct options {
	const char *name; /* --name: the instance, or that of the first algorithm */
	bool name_given;
	const char *profile; /* --profile */
	bool json; /* -j */
	bool verbose; /* -v */
	bool defaults; /* show --defaults */
	const char *object; /* load, upgrade --object */
	const char *algorithm; /* load, show --algorithm */
	struct option_list set; /* load --set */
	struct socket_filter filter; /* --dst, --dport, --sport, --cgroup, --mark */
	const char *before; /* rule add --before */
	bool make_default; /* load --default */
	const char *netns; /* --netns: a name of /run/netns, or a path */
	const char *from, *to; /* migrate */
	const char *migrate; /* unload --migrate */
	bool listeners; /* migrate --listeners */
	bool dry_run; /* migrate --dry-run */
};

struct algorithm;

/* The one of --algorithm, or the first. EXIT_DONE, or EXIT_USAGE after printing that there is none of this name. */
int algorithm_option(const struct options *opt, const struct algorithm **algorithm);

int verb_check(const struct options *opt, int argc, char **argv);
int verb_load(const struct options *opt, int argc, char **argv);
int verb_unload(const struct options *opt, int argc, char **argv);
int verb_status(const struct options *opt, int argc, char **argv);
int verb_show(const struct options *opt, int argc, char **argv);
int verb_set(const struct options *opt, int argc, char **argv);
int verb_reset(const struct options *opt, int argc, char **argv);
int verb_save(const struct options *opt, int argc, char **argv);
int verb_restore(const struct options *opt, int argc, char **argv);
int verb_rule_add(const struct options *opt, int argc, char **argv);
int verb_rule_delete(const struct options *opt, int argc, char **argv);
int verb_rule_list(const struct options *opt, int argc, char **argv);
int verb_rule_flush(const struct options *opt, int argc, char **argv);
int verb_rule_test(const struct options *opt, int argc, char **argv);
int verb_migrate(const struct options *opt, int argc, char **argv);
int verb_profile_list(const struct options *opt, int argc, char **argv);
int verb_profile_show(const struct options *opt, int argc, char **argv);
int verb_profile_add(const struct options *opt, int argc, char **argv);
int verb_profile_copy(const struct options *opt, int argc, char **argv);
int verb_profile_delete(const struct options *opt, int argc, char **argv);
int verb_attach(const struct options *opt, int argc, char **argv);
int verb_detach(const struct options *opt, int argc, char **argv);
int verb_upgrade(const struct options *opt, int argc, char **argv);

/* After unloading: warns of the cgroups that are still attached to the name. */
void warn_of_attachments(const char *name);

#endif
