// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "param.h"
#include "profile.h"

static const __u32 key;

int profile_read(int params_fd, struct bbr_params *p)
{
	struct bbr_profile profile;

	if (bpf_map_lookup_elem(params_fd, &key, &profile))
		return -errno;
	*p = profile.bank[profile.gen & 1];
	params_clamp(p);
	return 0;
}

/*
 * Waits until every BPF program that runs now has ended. The kernel does that after each change of
 * a map of maps (maybe_wait_bpf_programs() in kernel/bpf/syscall.c), so change one. membarrier(2)
 * would not do: with a single CPU it returns at once, though a program may have been preempted there.
 */
static int wait_for_programs(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	int inner, outer, error = 0;

	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bbrctl_inner", 4, 4, 1, NULL);
	if (inner < 0)
		return -errno;
	opts.inner_map_fd = inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "bbrctl_grace", 4, 4, 1, &opts);
	if (outer < 0 || bpf_map_update_elem(outer, &key, &inner, BPF_ANY))
		error = -errno;
	if (outer >= 0)
		close(outer);
	close(inner);
	return error;
}

/*
 * First the bank that nobody reads, then the selector. Each update writes the whole entry, but what
 * it does not change it overwrites with the same bytes. The caller holds the lock.
 */
int profile_write(int params_fd, const struct bbr_params *p)
{
	struct bbr_profile profile;

	if (bpf_map_lookup_elem(params_fd, &key, &profile))
		return -errno;
	profile.bank[(profile.gen + 1) & 1] = *p;
	if (bpf_map_update_elem(params_fd, &key, &profile, BPF_EXIST))
		return -errno;
	profile.gen++;
	if (bpf_map_update_elem(params_fd, &key, &profile, BPF_EXIST))
		return -errno;
	/* Until no ACK uses the old bank any more: the next change is written there. */
	return wait_for_programs();
}
