/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kind of an ACK: what is known of it before its first step (sk->kind). The version's kind.h
 * decides it, and lists what each kind skips. The shell compiles the algorithm once for each kind,
 * so a kind is a constant wherever a step looks at it. A step may skip only what would change
 * nothing for any ACK of the kind: the result is the same, bit for bit, whichever kind the ACK is
 * compiled for.
 */
#ifndef COMMON_KIND_H
#define COMMON_KIND_H

#include "bbr.h"

/* Values of struct bbr's flags as one word, so that they are compared at once. */
#define BBR_FLAGS(...) (((struct bbr){ __VA_ARGS__ }).flags)

/* True if nothing is known: the ACK may be of any kind, and no step may be skipped. */
static inline bool bbr_is_general(const struct shell_sock *sk)
{
	return sk->kind == SHELL_GENERAL;
}

/* True if a fast path is taken: nothing was lost since the last callback. */
static inline bool bbr_is_fast(const struct shell_sock *sk)
{
	return sk->kind == SHELL_FAST_1 || sk->kind == SHELL_FAST_2;
}

#endif
