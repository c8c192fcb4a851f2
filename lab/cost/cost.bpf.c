// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures one span of the execution of the kernel or of a BPF program; cost.c sets its two ends.
 * In the lab's virtual time the clock counts instructions, so each count has a place in `calls`.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "cost.h"

struct cost_span span SEC(".data.span");

static void span_begin(void)
{
	span.begin = bpf_ktime_get_ns();
}

static void span_end(void)
{
	__u64 cost;

	if (!span.begin)
		return;
	cost = bpf_ktime_get_ns() - span.begin;
	span.begin = 0;
	if (cost >= COST_PLACES) {
		span.interrupted++;
		return;
	}
	/* Or the verifier would not see the limit in the copy that is the index. */
	barrier_var(cost);
	span.calls[cost & (COST_PLACES - 1)]++;
}

SEC("fentry")
int entry(void *ctx)
{
	span_begin();
	return 0;
}

SEC("fexit")
int after(void *ctx)
{
	span_begin();
	return 0;
}

SEC("fexit")
int end(void *ctx)
{
	span_end();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
