/* SPDX-License-Identifier: GPL-2.0-only */
/* What `bbrctl experiment` is made of: requests, scopes, shares, arms, the program. */
#ifndef LOADER_EXPERIMENTS_H
#define LOADER_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/experiment.h"
#include "bpf_bbr/rules.h"
#include "cli/options.h"
#include "kernel/experiment.h"

struct socket_filter;

/*
 * Parses what `bbrctl experiment start` is asked for. This asks the kernel nothing.
 */

/* The options as they were written; NULL: not given. */
struct experiment_options {
	struct value_list arms; /* LABEL=CC[:PROFILE] */
	struct value_list shares; /* LABEL=PERCENT */
	struct value_list guards;
	const char *design, *by, *prefix, *block, *washout, *steps, *step_connections, *step_time,
		*keep, *seed;
	const char *every; /* watch */
};

struct experiment_request {
	/*
	 * All but what the kernel knows: indexes of profiles, the cookie of the network namespace,
	 * `attached`, hz, when it started. Until the index is known, an arm with a profile's name
	 * has index 0.
	 */
	struct experiment config;
	__u32 share[EXPERIMENT_ARMS]; /* at the start; sum EXPERIMENT_SHARES */
};

int experiment_request_parse(const char *name, const struct experiment_options *opt,
			     const struct socket_filter *filter, struct experiment_request *r);

/* Parses a duration, such as "10s", into ns. Returns false after printing what is wrong. */
bool experiment_duration_parse(const char *option, const char *text, __u64 least, __u64 most,
			       __u64 *ns);

/* Which connections an experiment is about. */
#define SCOPE_V4_BITS 96 /* of ::ffff:0:0/96 */

/*
 * True if the first cgroup is the second, or below it. Paths have no slash at the end; the root's
 * may be "/".
 */
bool cgroup_is_within(const char *path, const char *above);

/* True if a connection can match both scopes, of experiments in these cgroups. */
bool scopes_overlap(const struct experiment_scope *a, const char *a_cgroup,
		    const struct experiment_scope *b, const char *b_cgroup);

/* The scope as a rule, without the cgroup and the network namespace. */
struct bbr_rule scope_rule(const struct experiment_scope *scope);

/* The index of the arm with this label, or -1. */
int experiment_arm(const struct experiment *e, const char *label);

/* A share in ten-thousandths (EXPERIMENT_SHARES) as people write it: "50 %", "2.5 %". */
#define SHARE_TEXT_LEN 16
void share_format(__u32 share, char *buf, size_t size);

/*
 * The arms of an experiment and what they use: instances, their profiles, the kernel's congestion
 * controls.
 */
/*
 * Checks that each arm's congestion control and profile exist. Fills in the indexes of profiles,
 * and in `assigned` the file descriptors of the instances' maps in which an experiment writes a
 * connection's profile (-1 for arms without one). EXIT_DONE: call arms_close() later.
 */
int arms_open(struct experiment *e, int assigned[EXPERIMENT_ARMS]);
void arms_close(int assigned[EXPERIMENT_ARMS]);

/* "new=bpf_bbr:gentle" */
#define ARM_TEXT_LEN (EXPERIMENT_NAME_LEN + BBR_NAME_LEN + BBR_PROFILE_NAME_LEN)
void arm_format(const struct experiment_arm *arm, char *buf, size_t size);

/*
 * The first of these experiments with an arm that has this congestion control and, unless it is
 * NULL, this profile; or NULL.
 */
const struct experiment_handle *experiment_with(const struct experiment_handle *list, int n,
						const char *cc, const char *profile);

/* Returns EXIT_REFUSED, after printing which, if a running experiment has such an arm. */
int arms_refuse_use(const char *cc, const char *profile);

/*
 * Moves the experiment's open connections, in all network namespaces, to an arm. Does not touch new
 * ones. *moved: how many.
 */
int experiment_move(const struct experiment_handle *h, int arm, __u64 *moved);

struct plan;

/*
 * Returns EXIT_REFUSED, after printing which, if a step would take away an arm of a running
 * experiment.
 */
int plan_refuse_use(const struct plan *plan);

/* An experiment's program in the kernel (bpf/experiment.bpf.c). */
/*
 * Loads it with the request's values and `first` as the log's first line, then attaches it to the
 * cgroup. That begins the experiment: nothing from before would outlive this process.
 */
int experiment_program_start(struct experiment_request *r, const int assigned[EXPERIMENT_ARMS],
			     const struct experiment_decision *first, int cgroup_fd,
			     const char *cgroup);

/* Detaches it, which ends the experiment. */
int experiment_program_stop(const struct experiment_handle *h);

#endif
