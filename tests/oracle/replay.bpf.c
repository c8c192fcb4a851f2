// SPDX-License-Identifier: GPL-2.0-only
/*
 * An algorithm as BPF, on recorded callbacks instead of sockets: compiled, verified and translated
 * by the running kernel like bpf/bbr/bbr.bpf.c. It is compiled once for each algorithm, with its
 * NAME and its REPLAY_H; replay.bpf.o contains all of them.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/*
 * Runs the ACK path of a connection that uses no option: with options it is too much for the
 * verifier.
 */
#define SHELL_SOCKET_IS_A_COPY
#define OPTION_OR(s, key, off) (off)
#include REPLAY_H
#include "recorded.h"

#define JOIN(a, b) a##b
#define OF(what, name) JOIN(what, name)
#define TEXT(what) #what
#define TEXT_OF(what) TEXT(what)
#define batch OF(batch_, NAME)
#define params OF(params_, NAME)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BATCH);
	__type(key, u32);
	__type(value, struct replay);
} batch SEC(".maps");

struct bbr_params params SEC(".data." TEXT_OF(params));

static long replay_one(u32 i, void *ctx)
{
	struct replay *r = bpf_map_lookup_elem(&batch, &i);

	if (!r)
		return 1;
	replay_callback(r, &params);
	return 0;
}

SEC("syscall")
int OF(replay_, NAME)(u32 *count)
{
	return bpf_loop(*count, replay_one, NULL, 0) != *count;
}

char LICENSE[] SEC("license") = "GPL";
