// SPDX-License-Identifier: GPL-2.0-only
/*
 * An algorithm as BPF, run on ACKs that kinds.c has made up: compiled for the kind of each ACK, and
 * for any ACK. This file is compiled once for each algorithm, with its KINDS_H.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define SHELL_SOCKET_IS_A_COPY
#define OPTION_OR(s, key, off) (off)
#include KINDS_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KINDS_BATCH);
	__type(key, u32);
	__type(value, struct twice);
} batch SEC(".maps");

struct bbr_params params SEC(".data.params");

static long of_kind(u32 i, void *ctx)
{
	struct twice *t = bpf_map_lookup_elem(&batch, &i);

	if (t)
		run_of_kind(&t->of_kind, &params);
	return 0;
}

static long of_any(u32 i, void *ctx)
{
	struct twice *t = bpf_map_lookup_elem(&batch, &i);

	if (t)
		run_of_any(&t->of_any, &params);
	return 0;
}

/* Two programs: a single one would be too much for the verifier. */
SEC("syscall")
int by_kind(u32 *count)
{
	return bpf_loop(*count, of_kind, NULL, 0) != *count;
}

SEC("syscall")
int as_any(u32 *count)
{
	return bpf_loop(*count, of_any, NULL, 0) != *count;
}

char LICENSE[] SEC("license") = "GPL";
