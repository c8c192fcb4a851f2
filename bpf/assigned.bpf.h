/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which profile does a new connection get? That which an experiment assigns to it (bpf_bbr/experiment.h), else that
 * of the first rule that matches.
 */
#ifndef ASSIGNED_BPF_H
#define ASSIGNED_BPF_H

#include "rules.bpf.h"
#include "bpf_bbr/experiment.h"

struct assigned_places assigned SEC(INSTANCE_MAP_ASSIGNED) = {};

static inline u32 profile_for(struct sock *sk)
{
	volatile struct assigned_profile *a = &assigned.place[assigned_place(ports_of(sk))];

	return unlikely(a->sk == (u64)sk) ? a->profile : choose_profile(sk);
}

#endif
