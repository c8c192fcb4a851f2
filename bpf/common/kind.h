/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of an ACK before its first step: sk->kind, which the version's kind.h decides. The
 * algorithm is compiled for each kind, so these are constants. A step that has nothing to do for
 * such an ACK says so at its head. Include this after struct bbr.
 */
#ifndef COMMON_KIND_H
#define COMMON_KIND_H

#define BBR_CALM \
	1 /* a valid sample; not in PROBE_RTT, nor entering it; no pause; the rate is from an RTT */
#define BBR_LOSSLESS \
	2 /* nothing lost, now or lately; version 1: no policer; version 3: nothing marked */
#define BBR_CYCLING 4 /* in PROBE_BW, to stay there: the pipe was full */
#define BBR_STARTING 16 /* version 3: in STARTUP, to stay there: the pipe is not full */
#define BBR_ORDINARY (BBR_CALM | BBR_LOSSLESS | BBR_CYCLING)

/* Values of struct bbr's flags as one word, so that they are compared at once. */
#define BBR_FLAGS(...) (((struct bbr){ __VA_ARGS__ }).flags)

static inline bool bbr_is_calm(const struct bbr_sock *sk)
{
	return sk->kind & BBR_CALM;
}

static inline bool bbr_is_lossless(const struct bbr_sock *sk)
{
	return sk->kind & BBR_LOSSLESS;
}

#endif
