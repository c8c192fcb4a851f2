/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Conditions on a new connection, for rules and for the programs of cgroups (bpf_bbr/rules.h).
 */
#ifndef TERMS_BPF_H
#define TERMS_BPF_H

#include "address.bpf.h"
#include "bpf_bbr/rules.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define DEV_NAME_LEN 16 /* IFNAMSIZ */

/* The values of a connection that terms compare with. */
struct term_socket {
	u32 remote[4], local[4]; /* as in struct bbr_rule_key */
	char dev[DEV_NAME_LEN]; /* "": none */
	struct cgroup *cgroup;
	u32 mark;
	u16 dport, sport; /* network byte order */
};

struct net_device___name {
	char name[DEV_NAME_LEN];
} __attribute__((preserve_access_index));

struct dst_entry___dev {
	struct net_device___name *dev;
} __attribute__((preserve_access_index));

struct sock___route {
	struct dst_entry___dev *sk_dst_cache;
} __attribute__((preserve_access_index));

static inline bool sockets_have_cgroups(void)
{
	return bpf_core_field_exists(((struct sock *)0)->sk_cgrp_data.cgroup);
}

static inline void fill_term_socket(struct term_socket *t, struct sock *sk)
{
	__builtin_memset(t, 0, sizeof(*t));
	remote_address(t->remote, sk);
	t->mark = sk->sk_mark;
	t->dport = sk->__sk_common.skc_dport;
	t->sport = ((struct inet_sock *)sk)->inet_sport;
}

/*
 * Sets the values that only terms need. Call it only once the connection is established: a
 * listener's child gets its route at the end.
 */
static inline void fill_term_socket_up(struct term_socket *t, struct sock *sk)
{
	struct net_device___name *dev = BPF_CORE_READ((struct sock___route *)sk, sk_dst_cache, dev);

	local_address(t->local, sk);
	if (dev)
		bpf_core_read_str(t->dev, sizeof(t->dev), &dev->name);
	if (sockets_have_cgroups())
		t->cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
}

/* A walk from a socket's cgroup upwards. */
struct cgroup_walk {
	struct cgroup *cgroup;
	u64 id; /* of the one that is looked for */
	u32 level; /* levels to it, once it is found */
	bool is_found;
	u32 from; /* first level whose name counts */
	u64 hash;
};

static long find_cgroup(u32 level, struct cgroup_walk *w)
{
	struct cgroup *cgroup = w->cgroup;

	if (!cgroup)
		return true;
	if (BPF_CORE_READ(cgroup, kn, id) == w->id) {
		w->level = level;
		w->is_found = true;
		return true;
	}
	/* A cgroup begins with its own css. */
	w->cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	return false;
}

struct name_walk {
	const char *name;
	u64 hash;
};

static long hash_piece(u32 i, struct name_walk *n)
{
	u64 piece = 0;
	long len = bpf_probe_read_kernel_str(&piece, sizeof(piece),
					     n->name + i * (BBR_PATH_PIECE - 1));

	n->hash = bbr_path_hash(n->hash, piece);
	return len != BBR_PATH_PIECE;
}

static long hash_name(u32 level, struct cgroup_walk *w)
{
	struct name_walk n = { .hash = w->hash };
	struct cgroup *cgroup = w->cgroup;

	if (!cgroup || level >= w->level)
		return true;
	if (level >= w->from) {
		n.name = BPF_CORE_READ(cgroup, kn, name);
		bpf_loop(BBR_NAME_PIECES, hash_piece, &n, 0);
		w->hash = n.hash;
	}
	w->cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	return false;
}

/*
 * True if the cgroup is the one with this id or below it, and, by path, if the names on the way have
 * this hash. Not static: so the verifier explores it once, and not for each call. It then knows no
 * pointer but that to memory which may be written, which a term's is not: so all are numbers.
 */
__attribute__((noinline)) int is_in_cgroup(u64 cgroup_address, u64 id, u32 by_path, u32 names,
					   u64 hash)
{
	struct cgroup *cgroup = (struct cgroup *)cgroup_address;
	struct cgroup_walk w = { .cgroup = cgroup, .id = id };

	bpf_loop(BBR_RULE_CGROUP_LEVELS, find_cgroup, &w, 0);
	if (!by_path || !w.is_found)
		return w.is_found;
	if (w.level < names)
		return false;
	w.from = w.level - names;
	w.cgroup = cgroup;
	bpf_loop(BBR_RULE_CGROUP_LEVELS, hash_name, &w, 0);
	return w.hash == hash;
}

static inline bool term_holds_as_is(const struct bbr_term *t, const struct term_socket *s)
{
	const u32 *dev = (const u32 *)s->dev;

	switch (t->kind) {
	case BBR_TERM_DST:
		return bbr_same_prefix(t->value, s->remote, t->len);
	case BBR_TERM_SRC:
		return bbr_same_prefix(t->value, s->local, t->len);
	case BBR_TERM_DPORT:
		return t->value[0] == s->dport;
	case BBR_TERM_SPORT:
		return t->value[0] == s->sport;
	case BBR_TERM_MARK:
		return t->value[0] == s->mark;
	case BBR_TERM_DEV:
		return bbr_same_prefix(t->value, dev, 128);
	case BBR_TERM_CGROUP:
		return is_in_cgroup((u64)s->cgroup, bbr_term_u64(t, 0), false, 0, 0);
	case BBR_TERM_PATH:
		return is_in_cgroup((u64)s->cgroup, bbr_term_u64(t, 2), true, t->len,
				    bbr_term_u64(t, 0));
	default:
		return false;
	}
}

static inline bool term_holds(const struct bbr_term *t, const struct term_socket *s)
{
	return term_holds_as_is(t, s) != !!t->is_not;
}

#endif
