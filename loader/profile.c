// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/syscall.h>

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
	/* Wait until no ACK uses the old bank any more, because the next change is written there. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return 0;
}
