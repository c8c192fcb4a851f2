// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kernel/instance.h"
#include "cli/privileges.h"
#include "subscription.h"

#define TABLE_SIZE (GUARDED_MAX * sizeof(struct guarded))

static void release_slots(const struct guarded *g, struct bbr_watch *watch, int rings_fd)
{
	for (int slot = 0; slot < BBR_SUBSCRIBERS; slot++) {
		struct bbr_subscriber *sub = &watch->sub[slot];
		__u64 owner = __atomic_load_n(&sub->owner, __ATOMIC_ACQUIRE);

		if (!owner || (owner != g->owner && owner != g->next_owner))
			continue;
		/* Its lease may have run out: take it, as another monitor would. */
		if (slot_take(sub, owner, slot_new_owner()))
			slot_release(watch, slot, rings_fd);
	}
}

/* Opens the maps by id, only now: if they are gone, there is nothing to give back. */
static void release(const struct guarded *g)
{
	struct instance inst = { .watch_id = g->watch_id };
	struct bbr_watch *watch;
	int rings_fd = instance_map(g->rings_id);

	if (rings_fd < 0)
		return;
	watch = instance_watch_map(&inst);
	if (watch) {
		release_slots(g, watch, rings_fd);
		instance_watch_unmap(watch);
	}
	close(rings_fd);
}

static void guard(const struct guarded *table, int pipe)
{
	char byte;

	/* A signal meant for the monitor, from its terminal or when its job ends, must not end both. */
	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	privileges_narrow(CAP(SYS_ADMIN)); /* to open the maps */
	prctl(PR_SET_NAME, "bbrmon-guard");
	/* Keep no file of the parent open: a reader of its output waits until all are closed. */
	if (pipe != 0)
		dup2(pipe, 0);
	close_range(1, ~0u, 0);

	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < GUARDED_MAX; i++)
		if (table[i].owner || table[i].next_owner)
			release(&table[i]);
}

int guardian_start(struct guardian *g)
{
	int fds[2], error;

	g->table =
		mmap(NULL, TABLE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->table == MAP_FAILED)
		return -errno;
	if (pipe2(fds, O_CLOEXEC)) {
		error = errno;
		munmap(g->table, TABLE_SIZE);
		return -error;
	}
	g->pid = fork();
	if (!g->pid) {
		close(fds[1]);
		guard(g->table, fds[0]);
		_exit(0);
	}
	error = errno;
	close(fds[0]);
	g->pipe = fds[1];
	if (g->pid > 0)
		return 0;
	close(g->pipe);
	munmap(g->table, TABLE_SIZE);
	return -error;
}

void guardian_end(struct guardian *g)
{
	close(g->pipe);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(g->table, TABLE_SIZE);
}
