// SPDX-License-Identifier: GPL-2.0-only
/*
 * For a cgroup: gives each new connection the congestion control whose name bbrctl wrote here. It
 * needs nothing of the instance but its name: while no congestion control has this name,
 * connections keep theirs.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf_bbr/attach.h"
#include "terms.bpf.h"

#define IPPROTO_TCP 6
#define TCP_CONGESTION 13

char LICENSE[] SEC("license") = "GPL";
NEED_BTF;

const volatile struct bbr_attach attach SEC(BBR_MAP_ATTACH) = { .magic = BBR_ATTACH_MAGIC };

const volatile struct bbr_attach_for is_for SEC(BBR_MAP_ATTACH_FOR) = {};

/* The map is a constant once the program is loaded: without conditions this is no code. */
static inline bool is_wanted(struct sock *sk)
{
	struct term_socket socket;

	if (!is_for.n)
		return true;
	fill_term_socket(&socket, sk);
	fill_term_socket_up(&socket, sk);
	for (u32 i = 0; i < BBR_ATTACH_TERMS && i < is_for.n; i++) {
		const struct bbr_term *term = (const struct bbr_term *)&is_for.term[i];

		barrier_var(term); /* otherwise clang takes it for the zeros of the initializer */
		if (!term_holds(term, &socket))
			return false;
	}
	return true;
}

/*
 * True if the congestion control of this socket was chosen already: by the application, for it or
 * for its listener; or by the program of a cgroup further down, which the kernel runs first.
 */
static inline bool has_chosen(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_setsockopt);
}

/*
 * Runs when the handshake is done, not when the first SYN is sent: the stack initialises a socket's
 * congestion control only then, and BBR takes its first pacing rate from the handshake's RTT.
 */
SEC("sockops")
int bbr_attach(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk;
	struct tcp_sock *tp;

	if (ops->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    ops->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	sk = ops->sk;
	tp = sk ? bpf_skc_to_tcp_sock(sk) : NULL;
	if (tp && !has_chosen(tp) && is_wanted((struct sock *)tp))
		bpf_setsockopt(ops, IPPROTO_TCP, TCP_CONGESTION, (void *)attach.name,
			       sizeof(attach.name));
	return 1;
}
