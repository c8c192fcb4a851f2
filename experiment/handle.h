/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running experiments, found by asking the kernel, cgroup by cgroup (see experiment.h).
 */
#ifndef EXPERIMENT_HANDLE_H
#define EXPERIMENT_HANDLE_H

#include <stdbool.h>

#include "experiment/experiment.h"

struct experiment_handle {
	char *path; /* of its cgroup */
	__u32 prog_id;
	/* As it was started: texts are printable and end in 0, numbers are within their arrays. */
	struct experiment config;
	/* Shared memory. What changes may be anything. Of the tools, only bbrctl writes here. */
	struct experiment_control *control;
	const struct experiment_outcome *outcomes; /* config.outcomes places */
	/* EXPERIMENT_LOG places, line n in place n % EXPERIMENT_LOG. */
	struct experiment_decision *log;
};

struct experiment_list {
	struct experiment_handle *at;
	int n;
};

/*
 * Lists all of them, in the order of the cgroup tree. Returns 0, or -errno with an empty list: -EPERM
 * if it is not allowed to ask. The caller frees the list.
 */
int experiments_list(struct experiment_list *list);
void experiments_free(struct experiment_list *list);

/* The same, but prints why it could not. Returns an exit status. */
int experiments_need(struct experiment_list *list);

/*
 * Finds the one with this name, for experiment_close(). Returns EXIT_DONE; or prints why not and
 * returns EXIT_NOTHING if there is none (and prints which there are), EXIT_REFUSED if the kernel
 * does not answer.
 */
int experiment_find(const char *name, struct experiment_handle *h);
void experiment_close(struct experiment_handle *h);

/* True if it is still attached. It may have ended since we found it, or its cgroup may be gone. */
bool experiment_is_running(const struct experiment_handle *h);

/* Returns 0 if tools will find the loaded program in a cgroup, -EAGAIN if not, or another -errno. */
int experiment_check(int prog_fd);

/* True for a name of an experiment or an arm: 1 to 15 characters of A-Z a-z 0-9 _ . */
bool experiment_name_is_valid(const char *name);

/* The arms' shares as the program uses them: arm 0 gets the rest of EXPERIMENT_SHARES. */
void experiment_shares(const struct experiment_handle *h, __u32 share[EXPERIMENT_ARMS]);

/* Why connections did not get an arm, from experiment_control.refused_error. */
const char *experiment_refusal_text(__u32 error);

static inline double experiment_percent(__u32 share)
{
	return share * 100.0 / EXPERIMENT_SHARES;
}

struct json;

/*
 * Adds an array of the arms. Each of the last three may be NULL: their shares, which a switchback
 * does not have, what the program counted, and how many of their connections have ended.
 */
void experiment_add_arms(struct json *j, const struct experiment *e, const __u32 *share,
			 const struct experiment_control *counted, const __u64 *ended);

/* "ab", "switchback", "canary" */
extern const char *const experiment_designs[EXPERIMENT_DESIGNS];

struct completion;

/* Completes the name of a running experiment (cli/completion.h). */
void complete_experiments(const struct completion *c);

#endif
