// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists all network namespaces of the machine, what their defaults point at, and which congestion
 * controls their TCP sockets use. User space finds only those that have a process in sight or a
 * mount, and sees only the default's name, which an unloaded instance and its successor share.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "base/struct_ops_ids.bpf.h"
#include "bpf_bbr/netns.h"

#define PROCESSES_MAX (1 << 22) /* the kernel's PID_MAX_LIMIT */

char LICENSE[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head___all {
	struct list_head___all *next;
};

struct ns_common___all {
	const void *ops;
	unsigned int inum;
};

/* From 6.9 on, and before. */
struct ns_common___dentry {
	void *stashed;
};

struct atomic_long {
	s64 counter;
};

struct ns_common___long {
	struct atomic_long stashed;
};

struct tcp_congestion_ops___all {
	char name[BBR_NAME_LEN];
};

struct hlist_nulls_node___all {
	struct hlist_nulls_node___all *next;
};

struct hlist_nulls_head___all {
	struct hlist_nulls_node___all *first;
};

struct inet_ehash_bucket___all {
	struct hlist_nulls_head___all chain;
};

struct inet_listen_hashbucket___all {
	struct hlist_nulls_head___all nulls_head;
};

/* The kernel's table of TCP sockets. A namespace has the machine's, or one of its own. */
struct inet_hashinfo___all {
	struct inet_ehash_bucket___all *ehash;
	unsigned int ehash_mask;
	unsigned int lhash2_mask;
	struct inet_listen_hashbucket___all *lhash2;
};

struct inet_timewait_death_row___all {
	struct inet_hashinfo___all *hashinfo;
};

struct netns_ipv4___all {
	const struct tcp_congestion_ops___all *tcp_congestion_control;
	struct inet_timewait_death_row___all tcp_death_row;
};

struct net___all {
	struct list_head___all list;
	struct ns_common___all ns;
	struct netns_ipv4___all ipv4;
};

typedef struct {
	struct net___all *net;
} possible_net_t___all;

struct sock_common___all {
	unsigned char skc_state;
	possible_net_t___all skc_net;
	struct hlist_nulls_node___all skc_nulls_node;
};

struct inet_connection_sock___all {
	const struct tcp_congestion_ops___all *icsk_ca_ops;
};

struct nsproxy___all {
	struct net___all *net_ns;
};

struct task_struct___all {
	struct nsproxy___all *nsproxy;
	struct task_struct___all *group_leader;
	struct list_head___all tasks;
};

#pragma clang attribute pop

/* The namespaces by inode. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, NETNS_MAX);
	__type(key, u32);
	__type(value, struct netns_entry);
} namespaces SEC(".maps");

/* The addresses of a socket's namespace and congestion control in the kernel. */
struct use {
	u64 net, ops;
};

/* Each congestion control that a socket of a namespace uses, once. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, NETNS_USES_MAX);
	__type(key, struct use);
	__type(value, struct netns_use);
} uses SEC(".maps");

__u32 n_listed; /* namespaces that `namespaces` should have */

/* After a run of find_uses. */
__u32 next_list; /* where the next run has to begin; 0: that was the last one */
__u32 uses_are_known; /* false: unknown table layout, or an unreadable list */

/* Along the kernel's list of namespaces, which is a ring with a head that is none. */
struct walk {
	u64 first, at; /* addresses of list members */
	const void *ops; /* which every network namespace has, and the head has not */
};

/* True if it has a file in nsfs: open somewhere, or mounted, as in /run/netns. */
static bool has_file(struct net___all *net)
{
	u64 file = 1;

	if (bpf_core_field_exists(((struct ns_common___dentry *)0)->stashed))
		file = (u64)BPF_CORE_READ((struct ns_common___dentry *)&net->ns, stashed);
	else if (bpf_core_field_exists(((struct ns_common___long *)0)->stashed))
		file = BPF_CORE_READ((struct ns_common___long *)&net->ns, stashed.counter);
	return file;
}

static void note(struct net___all *net)
{
	const struct tcp_congestion_ops___all *cc = BPF_CORE_READ(net, ipv4.tcp_congestion_control);
	u32 inode = BPF_CORE_READ(net, ns.inum);
	struct netns_entry entry = { .is_live = has_file(net) };

	entry.map_id = struct_ops_id((u64)cc);
	if (cc)
		bpf_core_read_str(entry.name, sizeof(entry.name), &cc->name);
	if (bpf_core_field_exists(net->ipv4.tcp_death_row.hashinfo))
		entry.table = (u64)BPF_CORE_READ(net, ipv4.tcp_death_row.hashinfo);
	bpf_map_update_elem(&namespaces, &inode, &entry, BPF_ANY);
	n_listed++;
}

static long visit(u32 i, void *data)
{
	struct walk *w = data;
	struct net___all *net = (void *)(w->at - bpf_core_field_offset(struct net___all, list));
	struct list_head___all *list = (void *)w->at;

	(void)i;
	if (BPF_CORE_READ(net, ns.ops) == w->ops)
		note(net);
	w->at = (u64)BPF_CORE_READ(list, next);
	return !w->at || w->at == w->first;
}

/* Along the ring of all processes, also those of other PID namespaces. */
static long visit_process(u32 i, void *data)
{
	struct walk *w = data;
	struct list_head___all *list = (void *)w->at;
	struct task_struct___all *task =
		(void *)(w->at - bpf_core_field_offset(struct task_struct___all, tasks));
	u32 inode = BPF_CORE_READ(task, nsproxy, net_ns, ns.inum);
	struct netns_entry *entry = bpf_map_lookup_elem(&namespaces, &inode);

	(void)i;
	if (entry)
		entry->is_live = 1;
	w->at = (u64)BPF_CORE_READ(list, next);
	return !w->at || w->at == w->first;
}

/* Runs once for each map of the machine, and then once without one. */
SEC("iter/bpf_map")
int list_namespaces(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;
	struct task_struct___all *task;
	struct net___all *own;
	struct walk w = {};

	if (map) {
		note_struct_ops(map);
		return 0;
	}
	n_listed = 0;
	task = (void *)bpf_get_current_task();
	own = BPF_CORE_READ(task, nsproxy, net_ns);
	w.ops = BPF_CORE_READ(own, ns.ops);
	w.first = (u64)own + bpf_core_field_offset(struct net___all, list);
	w.at = w.first;
	if (own && w.ops)
		bpf_loop(NETNS_MAX, visit, &w, 0);
	w.first = (u64)BPF_CORE_READ(task, group_leader) +
		  bpf_core_field_offset(struct task_struct___all, tasks);
	w.at = w.first;
	bpf_loop(PROCESSES_MAX, visit_process, &w, 0);
	return 0;
}

#define STEPS_MAX 32768 /* of a run of find_uses, which cannot be preempted */
#define TRIES 4
#define LISTENERS_FROM (1 << 29) /* the kernel's number of the first list of listeners */

/* Along all lists of a table: those of established sockets first, then those of listeners. */
struct lists {
	u64 ehash, lhash2;
	u32 established, n; /* lists */
	u32 list; /* that we are in, */
	u32 tries; /* the number of this visit */
	u64 at; /* address of a list member, or the end of a list: twice its number, plus one */
	struct use last;
};

static void note_use(const struct use *use)
{
	struct net___all *net = (void *)use->net;
	struct tcp_congestion_ops___all *cc = (void *)use->ops;
	struct netns_use is = {};

	if (bpf_map_lookup_elem(&uses, use))
		return;
	is.map_id = struct_ops_id(use->ops);
	is.netns = BPF_CORE_READ(net, ns.inum);
	bpf_core_read_str(is.name, sizeof(is.name), &cc->name);
	if (bpf_map_update_elem(&uses, use, &is, BPF_ANY))
		uses_are_known = 0;
}

static void visit_socket(struct lists *l)
{
	struct sock_common___all *sk =
		(void *)(l->at - bpf_core_field_offset(struct sock_common___all, skc_nulls_node));
	u32 state = BPF_CORE_READ(sk, skc_state);
	struct use use = {};

	l->at = (u64)BPF_CORE_READ(sk, skc_nulls_node.next);
	if (state == BPF_TCP_TIME_WAIT || state == BPF_TCP_NEW_SYN_RECV) /* not whole sockets */
		return;
	use.net = (u64)BPF_CORE_READ(sk, skc_net.net);
	use.ops = (u64)BPF_CORE_READ((struct inet_connection_sock___all *)sk, icsk_ca_ops);
	if (!use.ops || (use.net == l->last.net && use.ops == l->last.ops))
		return;
	note_use(&use);
	l->last = use;
}

static void enter_list(struct lists *l)
{
	struct inet_listen_hashbucket___all *of_listeners;
	struct inet_ehash_bucket___all *bucket;
	u64 i = l->list;

	if (i < l->established) {
		bucket = (void *)(l->ehash + i * bpf_core_type_size(*bucket));
		l->at = (u64)BPF_CORE_READ(bucket, chain.first);
	} else {
		i -= l->established;
		of_listeners = (void *)(l->lhash2 + i * bpf_core_type_size(*of_listeners));
		l->at = (u64)BPF_CORE_READ(of_listeners, nulls_head.first);
	}
}

/*
 * Looks at a socket, or goes from the end of a list to the next list. A socket that moves to another
 * list while we look at it leads us there; the number at the end shows it. Then we try again.
 */
static long step(u32 i, void *data)
{
	struct lists *l = data;
	u64 number = l->list;

	(void)i;
	if (l->at && !(l->at & 1)) {
		visit_socket(l);
		return 0;
	}
	if (l->list >= l->established)
		number += LISTENERS_FROM - l->established;
	if (l->at >> 1 == number) {
		l->list++;
		l->tries = 0;
	} else if (l->tries++ == TRIES) {
		uses_are_known = 0;
		return 1;
	}
	if (l->list == l->n)
		return 1;
	enter_list(l);
	return 0;
}

/*
 * Notes what the sockets of a table use (struct netns_entry), from a list on. It locks nothing: a
 * socket that is there all the time is found, one that comes or goes may be.
 */
SEC("raw_tp/find_uses")
int find_uses(struct bpf_raw_tracepoint_args *ctx)
{
	struct inet_hashinfo___all *table = (void *)ctx->args[0];
	struct inet_listen_hashbucket___all *of_listeners = NULL;
	struct lists l = { .list = ctx->args[1] };

	uses_are_known = bpf_core_field_exists(table->lhash2) &&
			 bpf_core_field_exists(of_listeners->nulls_head);
	if (!uses_are_known)
		return 0;
	l.ehash = (u64)BPF_CORE_READ(table, ehash);
	l.lhash2 = (u64)BPF_CORE_READ(table, lhash2);
	l.established = BPF_CORE_READ(table, ehash_mask) + 1;
	l.n = l.established + BPF_CORE_READ(table, lhash2_mask) + 1;
	if (l.list >= l.n)
		return 0;
	enter_list(&l);
	bpf_loop(STEPS_MAX, step, &l, 0);
	if (l.list == (u32)ctx->args[1]) /* no end to this list */
		uses_are_known = 0;
	next_list = l.list < l.n ? l.list : 0;
	return 0;
}
