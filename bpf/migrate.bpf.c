// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives live TCP sockets another congestion control. The kernel runs this once for each socket of a
 * network namespace, with the socket locked as in its owner's setsockopt(TCP_CONGESTION).
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "address.bpf.h"
#include "bpf_bbr/migrate.h"

#define MAX_CGROUP_DEPTH 64

char LICENSE[] SEC("license") = "GPL";
NEED_BTF;

/* Filled in by bbrctl before it loads this. */
const volatile struct migrate_config config SEC(MIGRATE_MAP_CONFIG) = {};

struct inet_connection_sock___migrate {
	const void *icsk_ca_ops;
} __attribute__((preserve_access_index));

static inline bool uses_from(struct tcp_sock *tp)
{
	char name[BBR_NAME_LEN] = {};

	if (bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
		return false;
	for (int i = 0; i < BBR_NAME_LEN; i++) {
		if (name[i] != config.from[i])
			return false;
		if (!name[i])
			break;
	}
	return true;
}

static inline bool is_in_cgroup(struct sock *sk)
{
	struct cgroup *cgroup = sk->sk_cgrp_data.cgroup;

	for (int i = 0; cgroup && i < MAX_CGROUP_DEPTH; i++) {
		struct cgroup_subsys_state *parent = cgroup->self.parent;

		if (cgroup->kn->id == config.cgroup)
			return true;
		if (!parent)
			break;
		cgroup = parent->cgroup;
	}
	return false;
}

static inline void fill_endpoints(struct migrate_record *r, struct sock *sk)
{
	struct sock_common *skc = &sk->__sk_common;

	r->netns = skc->skc_net.net->ns.inum;
	r->family = skc->skc_family;
	r->state = skc->skc_state;
	r->lport = ((struct inet_sock *)sk)->inet_sport;
	r->rport = skc->skc_dport;
	local_address(r->laddr, sk);
	remote_address(r->raddr, sk);
}

static inline void fill_subflow(struct migrate_record *r, struct sock *sk)
{
	struct subflow subflow = subflow_of(sk);

	r->is_subflow = subflow.is_one;
	r->mptcp_token = subflow.token;
}

static inline bool matches(const struct migrate_record *r, struct sock *sk)
{
	bool is_listener = r->state == TCP_LISTEN;

	if ((config.lport && config.lport != r->lport) ||
	    (config.rport && config.rport != r->rport) ||
	    (config.has_mark && config.mark != sk->sk_mark))
		return false;
	for (int i = 0; i < 4; i++)
		if ((r->raddr[i] & config.rmask[i]) != config.raddr[i] ||
		    (is_listener && config.rmask[i])) /* it has no remote address */
			return false;
	return !config.cgroup || is_in_cgroup(sk);
}

/* Returns false if the socket has that code already, as it can if both names are the same. */
static inline bool move(struct migrate_record *r, struct tcp_sock *tp)
{
	struct inet_connection_sock___migrate *icsk = (void *)tp;
	const void *before = icsk->icsk_ca_ops;
	char name[BBR_NAME_LEN];

	if (r->state == TCP_LISTEN && !config.listeners) {
		r->what = MIGRATE_LEFT;
		return true;
	}
	if (config.dry_run)
		return true;
	for (int i = 0; i < BBR_NAME_LEN; i++)
		name[i] = config.to[i];
	r->error = bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	r->what = r->error ? MIGRATE_FAILED : MIGRATE_MOVED;
	return r->error || icsk->icsk_ca_ops != before;
}

SEC("iter/tcp")
int migrate(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct seq_file *seq = ctx->meta->seq;
	struct migrate_record r = {};
	struct tcp_sock *tp;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp || !uses_from(tp)) /* requests and TIME_WAIT have no congestion control */
		return 0;
	fill_endpoints(&r, (struct sock *)tp);
	if (!matches(&r, (struct sock *)tp))
		return 0;
	fill_subflow(&r, (struct sock *)tp);
	r.cookie = bpf_get_socket_cookie(tp);
	/*
	 * A record that does not fit into the rest of the reader's buffer is dropped, and the kernel
	 * shows the same socket again at the next read(). So it must not have been moved by then.
	 */
	if (seq->count + sizeof(r) < seq->size && !move(&r, tp))
		return 0;
	bpf_seq_write(seq, &r, sizeof(r));
	return 0;
}
