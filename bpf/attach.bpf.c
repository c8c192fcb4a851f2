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

#define IPPROTO_TCP 6
#define TCP_CONGESTION 13

char LICENSE[] SEC("license") = "GPL";

const volatile struct bbr_attach attach SEC(BBR_MAP_ATTACH) = { .magic = BBR_ATTACH_MAGIC };

/*
 * Has somebody chosen for this socket already: the application, for it or for its listener; or the
 * program of a cgroup further down, which the kernel runs first? Then that stays.
 */
static inline bool has_chosen(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct tcp_sock *tp = sk ? bpf_skc_to_tcp_sock(sk) : NULL;

	return !tp || BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_setsockopt);
}

/*
 * Runs when the handshake is done, not when the first SYN is sent: the stack initialises a socket's
 * congestion control only then, and BBR takes its first pacing rate from the handshake's RTT.
 */
SEC("sockops")
int bbr_attach(struct bpf_sock_ops *ops)
{
	if (ops->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    ops->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	if (!has_chosen(ops))
		bpf_setsockopt(ops, IPPROTO_TCP, TCP_CONGESTION, (void *)attach.name,
			       sizeof(attach.name));
	return 1;
}
