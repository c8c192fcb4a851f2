// SPDX-License-Identifier: GPL-2.0-only
/*
 * The algorithm as BPF on ACKs that kinds.c has made up: for the kind that each is of, and for any.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define BBR_SOCKET_IS_A_COPY
#define OPTION_OR(s, key, off) (off)
#include "kinds.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KINDS_BATCH);
	__type(key, u32);
	__type(value, struct twice);
} batch SEC(".maps");

struct bbr_params params SEC(".data.params");

static __attribute__((noinline)) int of_kind(u32 i)
{
	struct twice *t = bpf_map_lookup_elem(&batch, &i);

	if (t)
		replay_callback(&t->of_kind, &params);
	return 0;
}

static __attribute__((noinline)) int of_any(u32 i)
{
	struct twice *t = bpf_map_lookup_elem(&batch, &i);

	if (t)
		run_of_any(&t->of_any, &params);
	return 0;
}

static long both(u32 i, void *ctx)
{
	of_kind(i);
	of_any(i);
	return 0;
}

SEC("syscall")
int run(u32 *count)
{
	return bpf_loop(*count, both, NULL, 0) != *count;
}

char LICENSE[] SEC("license") = "GPL";
