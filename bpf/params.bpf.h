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
 * The bank of a generation: read gen once a callback, so that the callback sees one bank only. The
 * barrier keeps the compiler from branching on the bit, for then the verifier would go through all
 * that follows once for each bank.
 */
static inline const struct bbr_params *params_of(u32 gen)
{
	barrier_var(gen);
	return &profile.bank[gen & 1];
}

static inline const struct bbr_params *params(void)
{
	return params_of(params_gen());
}

#endif
