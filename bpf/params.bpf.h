/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instance's parameters: global data that bbrctl writes, two banks and a selector (see
 * struct bbr_profile). The defaults are in the object, so that bpftool alone registers a complete BBR.
 */
#ifndef PARAMS_BPF_H
#define PARAMS_BPF_H

#include "kernel.bpf.h"

struct bbr_profile profile SEC(BBR_MAP_PARAMS) = {
	.bank = { BBR_PARAMS_DEFAULT, BBR_PARAMS_DEFAULT },
};

static inline u32 params_gen(void)
{
	return *(volatile u32 *)&profile.gen;
}

/*
 * What the algorithm reads: the two banks, clamped once for each generation, not on each ACK. The map is the
 * program's own; bbrctl freezes it, which keeps user space from writing it, but not the program. Loaded by
 * other means root can write it, so the algorithm must keep a connection going with anything in it.
 */
struct clamped_params {
	struct bbr_params bank[2]; /* of generation gen: bank[(gen + 1) & 1] */
	u64 done; /* 1 + the generation that was clamped last; 0: none yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clamped_params);
} bbr_clamped SEC(".maps"); /* BBR_MAP_CLAMPED */

static __attribute__((noinline)) u64 clamp_params(struct clamped_params *c, u64 want)
{
	u64 gen = want - 1;

	barrier_var(gen);
	bbr_clamp_params(&c->bank[want & 1], &profile.bank[gen & 1]);
	__sync_lock_test_and_set(&c->done, want); /* after all that was written before it */
	return want;
}

/*
 * The parameters of a generation: read gen once a callback, so that the callback sees one bank only.
 * The barrier keeps the compiler from branching on the bit, for then the verifier would go through all
 * that follows once for each bank; and it makes the address depend on `done`, so that no CPU can read the
 * bank as it was before.
 */
static inline const struct bbr_params *params_of(u32 gen)
{
	struct clamped_params *c = bpf_map_lookup_elem(&bbr_clamped, &(u32){ 0 });
	u64 done, want = gen + 1ull;

	if (!c) /* an array has all of its elements */
		return &profile.bank[0];
	done = *(volatile u64 *)&c->done;
	if (__builtin_expect(done != want, 0))
		done = clamp_params(c, want);
	barrier_var(done);
	return &c->bank[done & 1];
}

static inline const struct bbr_params *params(void)
{
	return params_of(params_gen());
}

#endif
