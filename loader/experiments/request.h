/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses what `bbrctl experiment start` is asked for. Nothing here asks the kernel.
 */
#ifndef LOADER_EXPERIMENTS_REQUEST_H
#define LOADER_EXPERIMENTS_REQUEST_H

#include "bpf_bbr/experiment.h"
#include "cli/options.h"

struct socket_filter;

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

/* Returns EXIT_DONE, or another status after printing what is wrong. */
int experiment_request_parse(const char *name, const struct experiment_options *opt,
			     const struct socket_filter *filter, struct experiment_request *r);

/* Parses a duration, such as "10s", into ns. Returns false after printing what is wrong. */
bool experiment_duration_parse(const char *option, const char *text, __u64 least, __u64 most,
			       __u64 *ns);

#endif
