/* SPDX-License-Identifier: GPL-2.0-only */
/* The pods of Kubernetes on this machine, and how a selector chooses some of them. */
#ifndef LIB_PODS_H
#define LIB_PODS_H

#include <stdbool.h>
#include <stddef.h>

#include "cgroup/cgroup.h"

struct pod {
	char name[POD_NAME_LEN]; /* NAMESPACE/NAME */
	char uid[POD_UID_LEN];
	char *path; /* of its cgroup, in the file system */
	bool has_labels; /* they are known */
	char **label; /* KEY=VALUE */
	size_t n_labels;
};

/*
 * Lists the pods that have a cgroup and a folder in `folder`, by their names, without their labels.
 * Returns their number or -errno. Free *list with pods_free().
 */
int pods_list(const char *folder, struct pod **list);
void pods_free(struct pod *list, int n);

/*
 * A selector is NAMESPACE/NAME, each a pattern as a shell has them, and then, with a comma before
 * each, what has to be true of the labels as in kubectl -l: KEY=VALUE, KEY!=VALUE, KEY, !KEY.
 */
#define POD_SELECTOR_LEN 1024 /* at most, with the 0 */

/* Returns false, and has said why, if the text after the option is none. */
bool pod_selector_is_valid(const char *option, const char *selector);
bool pod_selector_has_labels(const char *selector);

/* True if the valid selector chooses the pod. Without known labels, none of them is true. */
bool pod_selected(const char *selector, const struct pod *pod);

#endif
