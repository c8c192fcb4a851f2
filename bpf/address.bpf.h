/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A socket's cookie, ports, and addresses in network byte order, IPv4 as ::ffff:a.b.c.d.
 */
#ifndef ADDRESS_BPF_H
#define ADDRESS_BPF_H

#include "base/types.h"
#include <bpf/bpf_endian.h>

struct atomic64___cookie {
	s64 counter;
} __attribute__((preserve_access_index));

struct sock_common___cookie {
	struct atomic64___cookie skc_cookie;
} __attribute__((preserve_access_index));

struct sock_common___ports {
	__u32 skc_portpair; /* skc_dport and skc_num */
} __attribute__((preserve_access_index));

/* Returns 0 if the socket has no cookie yet. */
static inline u64 cookie_of(struct sock *sk)
{
	return ((struct sock_common___cookie *)sk)->skc_cookie.counter;
}

static inline u32 ports_of(struct sock *sk)
{
	return ((struct sock_common___ports *)sk)->skc_portpair;
}

static inline void mapped_address(u32 addr[4], __be32 v4)
{
	addr[0] = addr[1] = 0;
	addr[2] = bpf_htonl(0xffff);
	addr[3] = v4;
}

static inline void remote_address(u32 addr[4], struct sock *sk)
{
	struct sock_common *skc = &sk->__sk_common;

	if (skc->skc_family == AF_INET6)
		for (int i = 0; i < 4; i++)
			addr[i] = skc->skc_v6_daddr.in6_u.u6_addr32[i];
	else
		mapped_address(addr, skc->skc_daddr);
}

static inline void local_address(u32 addr[4], struct sock *sk)
{
	struct sock_common *skc = &sk->__sk_common;

	if (skc->skc_family == AF_INET6)
		for (int i = 0; i < 4; i++)
			addr[i] = skc->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
	else
		mapped_address(addr, skc->skc_rcv_saddr);
}

#endif
