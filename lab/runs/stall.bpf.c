// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes the CPU away for a part of each period, from the network and from every process, as a hypervisor does: a timer that
 * spins. It runs as a softirq, so until it returns no packet is sent or received, and no other timer of TCP fires.
 *
 * start() is a program for tc only because bpftool can run that once. Its "packet" is a struct stall.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

#define CLOCK_MONOTONIC 1
#define SPINS_MAX (1 << 20) /* some 2 us each */

struct stall {
	__u64 ns, period_ns; /* it spins for ns at the start of each period */
};

struct state {
	struct bpf_timer timer;
	struct stall stall;
	__u64 next_ns; /* CLOCK_MONOTONIC: when the next period starts */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} states SEC(".maps");

/* 2,000 instructions: the emulator translates long runs of them well, and reads the clock slowly. Returns 1 at the end. */
static long spin(__u32 i, __u64 *until_ns)
{
	(void)i;
	asm volatile(".rept 2000\n\tr0 = 0\n\t.endr" ::: "r0");
	return bpf_ktime_get_ns() >= *until_ns;
}

static int on_period(void *map, __u32 *key, struct state *s)
{
	__u64 until_ns = s->next_ns + s->stall.ns, now_ns;

	(void)map, (void)key;
	bpf_loop(SPINS_MAX, spin, &until_ns, 0);
	s->next_ns += s->stall.period_ns;
	now_ns = bpf_ktime_get_ns();
	bpf_timer_start(&s->timer, s->next_ns > now_ns ? s->next_ns - now_ns : 0, 0);
	return 0;
}

SEC("tc")
int start(struct __sk_buff *skb)
{
	__u32 key = 0;
	struct state *s = bpf_map_lookup_elem(&states, &key);

	if (!s || bpf_skb_load_bytes(skb, 0, &s->stall, sizeof(s->stall)) ||
	    bpf_timer_init(&s->timer, &states, CLOCK_MONOTONIC) ||
	    bpf_timer_set_callback(&s->timer, on_period))
		return 1;
	s->next_ns = bpf_ktime_get_ns() + s->stall.period_ns;
	return bpf_timer_start(&s->timer, s->stall.period_ns, 0) != 0;
}

char LICENSE[] SEC("license") = "GPL";
