/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an algorithm is. Its folder must have:
 *
 *	params.h	BBR_PARAMS(C, O), the table of parameters, with the shell's BBR_SOCKET_PARAMS(C)
 *			(bpf_bbr/params.h); struct bbr_params, BBR_PARAMS_DEFAULT
 *	event.h		BBR_ALGORITHM, its name; struct bbr_tail, its own part of an event, at most
 *			BBR_EVENT_TAIL_MAX bytes
 *	algorithm.h	struct bbr, the state of a connection, at most 104 bytes (icsk_ca_priv). It is
 *			all zeros before the first bbr_init(). Three members belong to the shell:
 *			`profile` (8 bits), `watched` (1 bit) and `app_limited_until` (32 bits). The
 *			algorithm never changes them, not even in bbr_init(). If `profile` begins a
 *			word of 64 bits, BBR_PROFILE_AT says where, which saves instructions.
 *			bbr_init(), bbr_main(), bbr_fill_event(), and those of the functions below
 *			that it overrides: it defines a macro of the same name
 *
 * A callback is a function of the state and of the socket (socket.h: IN, SET, PARAM, OPTION). Every
 * callback but bbr_init() may find a state that bbr_init() never set: some kernels report the loss
 * of a SYN.
 *
 *	void bbr_init(b, sk)		a connection begins, or is switched to this algorithm; it may
 *					come twice. Sets all of the state but the shell's members,
 *					and all of the second part. Its clock now_ms is right;
 *					tcp_mstamp may be as old as the last packet
 *	void bbr_main(b, sk, rs)	an ACK: sets window and pacing rate. Use
 *					shell_is_app_limited(b, sk, rs), not the member of rs
 *	u16 bbr_fill_event(e, tail, b, more)  sets what the model has: bw, min_rtt_us, rounds,
 *					gains, mode, phase, and all of tail. All of these are 0
 *					before. Returns the flags of the model
 */
#ifndef DEFAULTS_BPF_H
#define DEFAULTS_BPF_H

#include "algorithm.h"
#include "bpf_bbr/profiles.h"
#include "kernel.bpf.h"

_Static_assert(sizeof(struct bbr) <= 104, "struct bbr must fit icsk_ca_priv");
_Static_assert(sizeof(struct bbr_tail) <= BBR_EVENT_TAIL_MAX, "struct bbr_tail must fit an event");

/* The index of the connection's profile. */
static inline u32 profile_of(const struct bbr *b)
{
	return b->profile & (BBR_PROFILES - 1);
}

/* The same in one load; the address of the state would take three instructions. */
static inline u32 profile_of_socket(struct sock *sk)
{
#ifdef BBR_PROFILE_AT
	u64 word = ((struct inet_connection_sock *)sk)->icsk_ca_priv[BBR_PROFILE_AT / 8];

	return word & (BBR_PROFILES - 1);
#else
	return profile_of(state_of(sk));
#endif
}

/* ---- the state */

/* Where the algorithm itself marked packets as app-limited. Version 3 has no 32 bits for it. */
#ifndef bbr_app_limited_until
static inline u32 bbr_app_limited_until(const struct bbr *b)
{
	return b->app_limited_until;
}

static inline void bbr_set_app_limited_until(struct bbr *b, const struct shell_sock *sk,
					     u32 delivered)
{
	b->app_limited_until = delivered;
}
#endif

/*
 * Of a packet that was sent when `delivered` was prior_delivered, at or below the mark: true if the
 * mark was set by then.
 */
#ifndef bbr_was_sent_after_mark
static inline bool bbr_was_sent_after_mark(const struct bbr *b, const struct shell_sock *sk,
					   u32 prior_delivered)
{
	return true;
}
#endif

/*
 * A second part of the state, if it does not fit struct bbr: `struct bbr_more` and a macro
 * bbr_more. A connection has it in sk->more (more.bpf.h). It is NULL if there was no memory for it,
 * and if bbr_init() was never called: the algorithm must work without it. What few connections need
 * is a third part, `struct bbr_history` and a macro bbr_history: HISTORY(sk) looks it up, and
 * MAKE_HISTORY(sk) also makes it, all zeros. Either may be NULL.
 */

/* ---- callbacks */

/*
 * The kind of an ACK. The shell compiles bbr_main() once for each enum shell_kind, which is then a
 * constant in sk->kind. For any kind but SHELL_GENERAL each OPTION() is 0, sk->more is NULL, and
 * MORE(sk) finds the second part of the state, at the cost of a call of the kernel. By default
 * bbr_main() is compiled twice: with the options, and without.
 */
#ifndef bbr_kind
static inline u8 bbr_kind(struct bbr *b, const struct shell_sock *sk, const struct shell_rs *rs)
{
	return SHELL_FAST_1;
}
#endif

/*
 * A packet is about to be sent, with nothing in flight (CA_EVENT_TX_START). From 7.1 on it may be
 * called several times before the packet is sent.
 */
#ifndef bbr_tx_start
static inline void bbr_tx_start(struct bbr *b, struct shell_sock *sk)
{
}
#endif

/* Every other enum tcp_ca_event, as the stack passes it. */
#ifndef bbr_cwnd_event
static inline void bbr_cwnd_event(struct bbr *b, struct shell_sock *sk, u8 event)
{
}
#endif

/* enum tcp_ca_state changes to ca_state; IN(sk, ca_state) is still the old one. */
#ifndef bbr_set_state
static inline void bbr_set_state(struct bbr *b, struct shell_sock *sk, u8 ca_state)
{
}
#endif

/* Losses: recovery begins. Returns ssthresh. */
#ifndef bbr_ssthresh
static inline u32 bbr_ssthresh(struct bbr *b, const struct shell_sock *sk)
{
	return IN(sk, ssthresh);
}
#endif

/* Recovery was a mistake. Returns the window. */
#ifndef bbr_undo_cwnd
static inline u32 bbr_undo_cwnd(struct bbr *b, const struct shell_sock *sk)
{
	return IN(sk, cwnd);
}
#endif

/* Least segments of a burst. */
#ifndef bbr_min_tso_segs
static inline u32 bbr_min_tso_segs(const struct bbr *b, struct shell_sock *sk)
{
	return IN(sk, min_tso_segs);
}
#endif

/*
 * True if bbr_min_tso_segs() may need more than a few registers now. The shell then calls it in a
 * function of its own, so that the others save no register.
 */
#ifndef bbr_is_burst_rare
static inline bool bbr_is_burst_rare(const struct bbr *b, const struct shell_sock *sk)
{
	return false;
}
#endif

/* Send buffer in multiples of the window. The default is the stack's. */
#ifndef bbr_sndbuf_expand
static inline u32 bbr_sndbuf_expand(const struct bbr *b, const struct shell_sock *sk)
{
	return 2;
}
#endif

/* ---- for monitors; modes and reasons are the algorithm's, from 0 */

#ifndef bbr_mode
static inline u8 bbr_mode(const struct bbr *b)
{
	return 0;
}
#endif

/* True if the last ACK started a round. */
#ifndef bbr_round_start
static inline bool bbr_round_start(const struct bbr *b)
{
	return false;
}
#endif

/*
 * Transitions of the last callback, at most BBR_STEPS, in the order of i. bbr_step() returns true
 * if it made transition i, bbr_has_steps() if it made any. bbr_main(), bbr_tx_start(),
 * bbr_set_state() and bbr_cwnd_event() first clear those of the callback before.
 */
#ifndef bbr_step
#define BBR_STEPS 0

static inline bool bbr_has_steps(const struct bbr *b)
{
	return false;
}

static inline bool bbr_step(const struct bbr *b, u32 i, u8 *to, u8 *reason)
{
	return false;
}
#endif

#endif
