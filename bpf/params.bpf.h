/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The instance's profiles: global data that bbrctl writes (bpf_bbr/profiles.h says how). The object
 * has the defaults, so that bpftool alone registers a complete instance.
 */
#ifndef PARAMS_BPF_H
#define PARAMS_BPF_H

#include "common/clamp.h"
#include "defaults.bpf.h"
#include "bpf_bbr/profiles.h"

struct shell_profiles {
	struct bbr_profiles_head head;
	struct bbr_params bank[BBR_PROFILES][2];
};

struct shell_clamped {
	struct bbr_clamped_head head;
	struct bbr_params bank[2]; /* of generation gen: bank[(gen + 1) & 1] */
	struct bbr_params last; /* the values clamped last: see last_params() */
};

struct shell_profiles profiles SEC(BBR_MAP_PARAMS) = {
	.head.name[0] = BBR_PROFILE_DEFAULT,
	.bank[0] = { BBR_PARAMS_DEFAULT, BBR_PARAMS_DEFAULT },
};

/*
 * The program's own values. bbrctl freezes the map: then user space cannot write it, but the
 * program can. If the object was loaded by other means, root can write it, so the algorithm must
 * keep a connection going with any values.
 */
struct shell_clamped clamped[BBR_PROFILES] SEC(BBR_MAP_CLAMPED) = {};

/* A bit of the algorithm's mark of the profile: the connection was counted in its profile. */
#define PROFILE_COUNTED 0x80

static inline u32 params_gen(u32 profile)
{
	return *(volatile u32 *)&profiles.head.gen[profile];
}

static inline struct shell_clamped *clamped_of(u32 profile)
{
	return &clamped[profile & (BBR_PROFILES - 1)];
}

static __attribute__((noinline)) u64 clamp_params(u32 profile, u64 want)
{
	struct shell_clamped *c = clamped_of(profile);
	struct bbr_params *bank = &c->bank[want & 1];
	u64 gen = want - 1, before = *(volatile u64 *)&c->head.done, done;

	barrier_var(gen);
	barrier_var(profile);
	bbr_clamp_params(bank, &profiles.bank[profile & (BBR_PROFILES - 1)][gen & 1]);
	c->last = *bank;
	/* Publish only once the bank is complete. */
	__sync_lock_test_and_set(&c->head.plain, bbr_has_options(bank) ? 0 : want);
	done = __sync_lock_test_and_set(&c->head.done, want);
	/*
	 * Another CPU clamped another generation meanwhile, so `last` may have some of both: the
	 * next ACK clamps again.
	 */
	if (done != before && done != want) {
		__sync_lock_test_and_set(&c->head.plain, 0);
		__sync_lock_test_and_set(&c->head.done, 0);
	}
	return want;
}

/*
 * The bank of a generation, as `done` or `plain` has it. The barrier keeps the compiler from
 * branching on the bit: otherwise the verifier would explore all that follows once for each bank.
 * It also makes the address depend on the value that was read, so that no CPU can read the bank as
 * it was before.
 */
static inline const struct bbr_params *bank_of(const struct shell_clamped *c, u64 done)
{
	barrier_var(done);
	return &c->bank[done & 1];
}

/*
 * The parameters of a generation. Read gen once in a callback, so that the callback sees one bank
 * only.
 */
static inline const struct bbr_params *params_of(u32 profile, u32 gen)
{
	struct shell_clamped *c = clamped_of(profile);
	u64 done = *(volatile u64 *)&c->head.done, want = gen + 1ull;

	if (unlikely(done != want))
		done = clamp_params(profile, want);
	return bank_of(c, done);
}

static inline const struct bbr_params *params(const struct bbr *b)
{
	return params_of(profile_of(b), params_gen(profile_of(b)));
}

/* The same if they are clamped already and use none of the options, else NULL. */
static inline const struct bbr_params *plain_params(const struct bbr *b, u32 gen)
{
	struct shell_clamped *c = clamped_of(profile_of(b));
	u64 plain = *(volatile u64 *)&c->head.plain;

	return unlikely(plain != gen + 1ull) ? NULL : bank_of(c, plain);
}

/*
 * The parameters that were clamped last. Until the next ACK of the profile they may be those of the
 * generation before, and a mix of both while an ACK clamps. For callbacks that run more often than
 * ACKs arrive: they need not look up a generation or a bank.
 */
static inline const struct bbr_params *last_params(struct sock *sk)
{
	return &clamped_of(profile_of_socket(sk))->last;
}

/* Counts a connection that takes a profile or gives it back. */
static inline void count_connection(u32 profile, s64 change)
{
	__sync_fetch_and_add(&clamped_of(profile)->head.connections, change);
}

static inline void leave_profile(struct bbr *b)
{
	if (!(b->profile & PROFILE_COUNTED))
		return;
	count_connection(profile_of(b), -1);
	b->profile = 0;
}

/*
 * Gives the connection a profile. If there is none with this index, which a rule written by hand
 * may have, it gets the default.
 */
static inline void enter_profile(struct bbr *b, u32 profile)
{
	if (profile >= BBR_PROFILES || !profiles.head.name[profile & (BBR_PROFILES - 1)][0])
		profile = 0;
	leave_profile(b); /* init can come twice */
	count_connection(profile, 1);
	b->profile = PROFILE_COUNTED | profile;
}

#endif
