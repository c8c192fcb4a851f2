// SPDX-License-Identifier: GPL-2.0-only
/*
 * The algorithm as BPF, on recorded callbacks instead of sockets: compiled, verified and translated by the
 * running kernel like bpf/bbr/bbr.bpf.c.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* Runs the ACK path of a connection that uses no option; with the options the verifier has too much to do. */
#define BBR_SOCKET_IS_A_COPY
#define OPTION_OR(s, key, off) (off)
#include "replay.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BATCH);
	__type(key, u32);
	__type(value, struct replay);
} batch SEC(".maps");

struct bbr_params params SEC(".data.params");

static long replay_one(u32 i, void *ctx)
{
	struct replay *r = bpf_map_lookup_elem(&batch, &i);

	if (!r)
		return 1;
	replay_callback(r, &params);
	return 0;
}

SEC("syscall")
int replay(u32 *count)
{
	return bpf_loop(*count, replay_one, NULL, 0) != *count;
}

char LICENSE[] SEC("license") = "GPL";
