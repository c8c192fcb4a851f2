/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroups whose connections get one of our congestion controls, found by asking the kernel,
 * cgroup by cgroup (see bpf_bbr/attach.h).
 */
#ifndef LIB_ATTACHMENT_H
#define LIB_ATTACHMENT_H

#include <stdbool.h>

#include "bpf_bbr/attach.h"

struct attachment {
	char *path; /* of the cgroup */
	char name[BBR_NAME_LEN]; /* of the congestion control, loaded or not */
	bool is_applied; /* an apply made it */
};

/*
 * Finds our program in one cgroup. Returns its file descriptor and fills in *attach; -ENOENT if
 * there is none, or another -errno.
 */
int cgroup_program(int cgroup_fd, struct bbr_attach *attach);

/* Will the loaded program be found in a cgroup? Returns 0, -EAGAIN if not, or another -errno. */
int attachment_check(int prog_fd);

/*
 * Lists all attachments below the mount, in tree order. Returns their number or -errno. Free *list
 * with attachments_free().
 */
int attachments_list(struct attachment **list);
void attachments_free(struct attachment *list, int n);

#endif
