/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A child process that gives back our slots when we cannot: after SIGKILL, or a crash. Without it
 * an instance would keep our ring buffer, megabytes of kernel memory, until the next monitor comes.
 */
#ifndef TOOLS_GUARDIAN_H
#define TOOLS_GUARDIAN_H

#include <sys/types.h>
#include <linux/types.h>

#define GUARDED_MAX 64 /* instances watched at once */

/*
 * A slot of ours, in memory shared with the guardian. Its owner is one of two numbers, because we
 * write a new number here before the slot gets it. All 0: unused.
 */
struct guarded {
	__u32 watch_id, rings_id; /* maps of the instance */
	__u64 owner, next_owner;
};

struct guardian {
	pid_t pid;
	int pipe; /* the kernel closes it when we end, however that happens */
	struct guarded *table; /* GUARDED_MAX */
};

/*
 * Call this before there is anything to guard: the child must not inherit a map or ring of ours,
 * which it would keep alive. Returns 0 or -errno.
 */
int guardian_start(struct guardian *g);

/* Ends and reaps the child. */
void guardian_end(struct guardian *g);

#endif
