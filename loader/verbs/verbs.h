/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bbrctl's verbs. The function verb_WORD() gets the options and the verb's own arguments (argv[0] is
 * the verb), and returns the exit status.
 */
#ifndef LOADER_VERBS_H
#define LOADER_VERBS_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf_bbr/abi.h"
#include "cli/completion.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/units.h"
#include "experiment/running/running.h"
#include "kernel/instance.h"
#include "self/lock.h"
#include "tuning/param.h"
#include "tuning/profile_map.h"
#include "tuning/rule_text.h"
#include "tuning/tuning_switch.h"

struct machine;

/* The options of all verbs; each verb's file says which it takes. */
struct options {
	const char *name; /* --name: the instance; by default that of the first algorithm */
	bool name_given;
	const char *profile; /* --profile */
	bool json; /* -j */
	bool defaults; /* show --defaults */
	const char *object; /* load, upgrade --object */
	const char *algorithm; /* load, show --algorithm */
	struct value_list set; /* load --set */
	struct socket_filter
		filter; /* --dst, --dport, --sport, --cgroup, --mark, --src, --dev, --not-* */
	bool stay; /* attach --stay */
	const char *before; /* rule add --before */
	bool ecn; /* load --ecn */
	bool make_default; /* load --default */
	const char *netns; /* --netns: a name of /run/netns, or a path */
	bool all_netns; /* --all-netns */
	const char *from, *to; /* migrate */
	const char *migrate; /* unload --migrate */
	bool listeners; /* migrate --listeners */
	bool dry_run; /* migrate --dry-run */
	bool check, diff, hold, prune, undo, service, follow; /* apply */
	bool all; /* save --all */
	struct experiment_options experiment;
};

extern const struct program bbrctl;

/* Candidates for the values of its command line, for shells. */
extern const struct completer bbrctl_completers[];

/* Finds the algorithm that --algorithm names, by default the first. */
int algorithm_option(const struct options *opt, const struct algorithm **algorithm);

/* Takes the privileges, with to_change also the lock; then as tuning_open() for --name. */
int open_tuning(const struct options *opt, bool to_change, bool with_rules, struct tuning *t);

/* The same without rules, and reads the profile that --profile chooses. */
int choose_profile(const struct options *opt, bool to_change, struct tuning *t, int *index,
		   struct param_set *params);

/*
 * apply --follow: keeps the routes of the file, and its lines for pods, as they should be whenever
 * routes and pods come, change and go. Changes nothing else. Returns an exit status once the file has
 * no such lines.
 */
int follow_file(const struct options *opt, const char *file);

/* The same with what was applied, for apply --hold, until one of these blocked signals comes. */
void follow_machine(const struct options *opt, const char *only, struct machine *applied,
		    const sigset_t *ends);

/* ---- what the verbs' files define their verbs with */

#define MANY 64 /* keys, values */

/* Takes a name that a congestion control can have. */
bool option_name(const char *option, const char *name, void *to);

/* Takes a pod of this machine that the pattern means, and no other; gives its cgroup's path. */
bool option_pod(const char *option, const char *which, void *to);

/* For verbs with the argument [NAME], which is a shorter --name. Returns an exit status. */
int name_argument(struct options *opt, int argc, char **argv);

#define MEMBER(m) offsetof(struct options, m)

#define OPTION(name, arg, parse, member, help) { name, 0, arg, parse, MEMBER(member), help }
#define FLAG(name, member, help) OPTION(name, NULL, option_flag, member, help)
#define TEXT(name, arg, member, help) OPTION(name, arg, option_text, member, help)
#define END { 0 }

#define NAME { "name", 0, "NAME", option_name, 0, "the instance, by default bpf_bbr" }
#define PROFILE(arg, help) TEXT("profile", arg, profile, help)
#define ALGORITHM(help) TEXT("algorithm", "ALGORITHM", algorithm, help)
#define OBJECT(help) TEXT("object", "FILE", object, help)
#define NETNS(help) TEXT("netns", "N", netns, help)
#define ALL_NETNS(help) FLAG("all-netns", all_netns, help)
#define CGROUP(help) OPTION("cgroup", "PATH", option_once, filter.cgroup, help)
#define POD \
	OPTION("pod", "POD", option_pod, filter.cgroup, "of a pod: NAMESPACE/NAME[,LABEL=VALUE]")

#define EXPERIMENT(m) MEMBER(experiment.m)

/* Options that several verbs have. */
extern const struct option_def option_dst[], option_filter[], option_src[], option_not[];

/*
 * CAP_SYS_ADMIN is for bpf(2)'s *_GET_FD_BY_ID and *_GET_NEXT_ID, which find a loaded instance; the
 * others are for loading one. Before Linux 6.10, CAP_NET_ADMIN is also for asking which programs a
 * cgroup has.
 */
#define LOOK CAP(SYS_ADMIN)
#define CHANGE (LOOK | CAP(BPF) | CAP(PERFMON) | CAP(NET_ADMIN))
/*
 * Access to files as root has it. CAP_DAC_READ_SEARCH also finds a cgroup by its id
 * (open_by_handle_at(2)).
 */
#define FILES (CAP(DAC_READ_SEARCH) | CAP(DAC_OVERRIDE))
/* The namespaces of other users' processes, through /proc/PID/ns. */
#define EVERY_NETNS CAP(SYS_PTRACE)

void options_init(void *options);

/* The groups of options of a verb. */
#define OPTIONS(...)                            \
	.groups = (const struct option_group[]) \
	{                                       \
		__VA_ARGS__, END                \
	}

/* A group of options that only this verb has. */
#define OWN(...) { (const struct option_def[]){ __VA_ARGS__, END }, 0 }

/*
 * Defines a verb of bbrctl, whose function is verb_WORD(): its word or words, what it needs, and its
 * other members.
 */
#define BBRCTL_VERB(word, words, needs, ...)                                \
	static int run_##word(void *options, int argc, char **argv)         \
	{                                                                   \
		return verb_##word(options, argc, argv);                    \
	}                                                                   \
	const struct verb VERB_OF(word) = { .privileges = needs,            \
					    .name = words,                  \
					    .size = sizeof(struct options), \
					    .init = options_init,           \
					    .run = run_##word,              \
					    __VA_ARGS__ }

/* All verbs, in the order of --help. */
/* clang-format off */
#define BBRCTL_VERBS(X)                                                                 \
	X(check) X(load) X(unload) X(status) X(show) X(set) X(reset)                    \
	X(profile_list) X(profile_show) X(profile_add) X(profile_copy) X(profile_delete) \
	X(rule_list) X(rule_add) X(rule_delete) X(rule_flush) X(rule_test)              \
	X(apply) X(save) X(migrate) X(upgrade) X(attach) X(detach)                      \
	X(experiment_start) X(experiment_list) X(experiment_status) X(experiment_pause) \
	X(experiment_resume) X(experiment_watch) X(experiment_promote) X(experiment_stop)
/* clang-format on */

#define X(word) extern const struct verb VERB_OF(word);
BBRCTL_VERBS(X)
#undef X

#endif
