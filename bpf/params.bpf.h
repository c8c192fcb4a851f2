/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instance's profiles: global data that bbrctl writes (bpf_bbr/profiles.h says how). The defaults are in the
 * object, so that bpftool alone registers a complete instance.
 */
#ifndef PARAMS_BPF_H
#define PARAMS_BPF_H

#include "clamp.h"
#include "kernel.bpf.h"
#include "bpf_bbr/profiles.h"

struct bbr_profiles {
	struct bbr_profiles_head head;
	struct bbr_params bank[BBR_PROFILES][2];
};

struct bbr_clamped_bank {
	struct bbr_params params;
	u32 options; /* is any option in use? */
};

struct bbr_clamped {
	struct bbr_clamped_head head;
	struct bbr_clamped_bank bank[2]; /* of generation gen: bank[(gen + 1) & 1] */
};

struct bbr_profiles profiles SEC(BBR_MAP_PARAMS) = {
	.head.name[0] = BBR_PROFILE_DEFAULT,
	.bank[0] = { BBR_PARAMS_DEFAULT, BBR_PARAMS_DEFAULT },
};

/*
 * The map is the program's own; bbrctl freezes it, which keeps user space from writing it, but not the
 * program. Loaded by other means root can write it, so the algorithm must keep a connection going with
 * anything in it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BBR_PROFILES);
	__type(key, u32);
	__type(value, struct bbr_clamped);
} bbr_clamped SEC(".maps"); /* BBR_MAP_CLAMPED */

/* In an algorithm's mark of the profile: also whether the connection was counted in its profile. */
#define PROFILE_COUNTED 0x80

static inline u32 params_gen(u32 profile)
{
	return *(volatile u32 *)&profiles.head.gen[profile];
}

static __attribute__((noinline)) u64 clamp_params(struct bbr_clamped *c, u32 profile, u64 want)
{
	u64 gen = want - 1;

	barrier_var(gen);
	barrier_var(profile);
	bbr_clamp_params(&c->bank[want & 1].params,
			 &profiles.bank[profile & (BBR_PROFILES - 1)][gen & 1]);
	c->bank[want & 1].options = bbr_has_options(&c->bank[want & 1].params);
	__sync_lock_test_and_set(&c->head.done, want); /* after all that was written before it */
	return want;
}

/*
 * The parameters of a generation: read gen once a callback, so that the callback sees one bank only.
 * The barrier keeps the compiler from branching on the bit, for then the verifier would go through all
 * that follows once for each bank; and it makes the address depend on `done`, so that no CPU can read the
 * bank as it was before.
 */
static inline const struct bbr_params *params_of(u32 profile, u32 gen)
{
	struct bbr_clamped *c = bpf_map_lookup_elem(&bbr_clamped, &profile);
	u64 done, want = gen + 1ull;

	if (!c) /* an array has all of its elements */
		return &profiles.bank[0][0];
	done = *(volatile u64 *)&c->head.done;
	if (__builtin_expect(done != want, 0))
		done = clamp_params(c, profile, want);
	barrier_var(done);
	return &c->bank[done & 1].params;
}

/* The same if they are clamped already and none of the options is in use, else NULL: then params_of() tells. */
static inline const struct bbr_params *plain_params_of(u32 profile, u32 gen)
{
	struct bbr_clamped *c = bpf_map_lookup_elem(&bbr_clamped, &profile);
	u64 done, want = gen + 1ull;

	if (!c)
		return NULL;
	done = *(volatile u64 *)&c->head.done;
	if (unlikely(done != want) || unlikely(c->bank[want & 1].options))
		return NULL;
	barrier_var(done);
	return &c->bank[done & 1].params;
}

/* Of parameters that params_of() returned. */
static inline bool has_options(const struct bbr_params *param)
{
	return ((const struct bbr_clamped_bank *)param)->options;
}

static inline const struct bbr_params *params(const struct bbr *b)
{
	return params_of(profile_of(b), params_gen(profile_of(b)));
}

/* A connection takes a profile, or gives it back. */
static inline void count_connection(u32 profile, s64 change)
{
	struct bbr_clamped *c = bpf_map_lookup_elem(&bbr_clamped, &profile);

	if (c)
		__sync_fetch_and_add(&c->head.connections, change);
}

static inline void leave_profile(struct bbr *b)
{
	if (!(bbr_profile(b) & PROFILE_COUNTED))
		return;
	count_connection(profile_of(b), -1);
	bbr_set_profile(b, 0);
}

/* The profile that no rule names, and that a rule names which was written by hand: the default. */
static inline void enter_profile(struct bbr *b, u32 profile)
{
	if (profile >= BBR_PROFILES || !profiles.head.name[profile & (BBR_PROFILES - 1)][0])
		profile = 0;
	leave_profile(b); /* init can come twice */
	count_connection(profile, 1);
	bbr_set_profile(b, PROFILE_COUNTED | profile);
}

#endif
