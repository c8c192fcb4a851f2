/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which profile does a new connection get? That which an experiment assigns to it (bpf_bbr/experiment.h), else that
 * of the first rule that matches.
 */
#ifndef ASSIGNED_BPF_H
#define ASSIGNED_BPF_H

#include "rules.bpf.h"
#include "bpf_bbr/experiment.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct assigned_profile);
} bbr_assigned SEC(".maps"); /* INSTANCE_MAP_ASSIGNED */

static inline u32 profile_for(struct sock *sk)
{
	struct assigned_profile *assigned = bpf_map_lookup_elem(&bbr_assigned, &(u32){ 0 });

	if (assigned && assigned->sk == (u64)sk)
		return assigned->profile;
	return choose_profile(sk);
}

#endif
