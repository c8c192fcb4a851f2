/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a connection's state that do not fit icsk_ca_priv (defaults.bpf.h). init allocates
 * the second part, MAKE_HISTORY(sk) the history. Each is NULL if there was no memory for it, and is
 * freed with the socket, or when that is switched to something else.
 */
#ifndef MORE_BPF_H
#define MORE_BPF_H

#include "defaults.bpf.h"

#ifdef bbr_more
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bbr_more);
} bbr_more SEC(".maps"); /* BBR_MAP_MORE */

static inline struct bbr_more *more_of(struct sock *sk)
{
	return bpf_sk_storage_get(&bbr_more, sk, NULL, 0);
}

static inline void make_more(struct sock *sk)
{
	bpf_sk_storage_get(&bbr_more, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
}

static inline void free_more(struct sock *sk)
{
	bpf_sk_storage_delete(&bbr_more, sk);
}
#else
static inline struct bbr_more *more_of(struct sock *sk)
{
	return NULL;
}

static inline void make_more(struct sock *sk)
{
}

static inline void free_more(struct sock *sk)
{
}
#endif

#ifdef bbr_history
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bbr_history);
} bbr_history SEC(".maps");

static inline struct bbr_history *history_of(struct sock *sk)
{
	return bpf_sk_storage_get(&bbr_history, sk, NULL, 0);
}

static inline struct bbr_history *make_history(struct sock *sk)
{
	return bpf_sk_storage_get(&bbr_history, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
}

static inline void free_history(struct sock *sk)
{
	bpf_sk_storage_delete(&bbr_history, sk);
}
#else
static inline void free_history(struct sock *sk)
{
}
#endif

#endif
