// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists all network namespaces of the machine and what their defaults point at. User space finds
 * only those that have a process in sight or a mount, and sees only the default's name, which an
 * unloaded instance and its successor share.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf_bbr/netns.h"

#define MAX_OPS 4096
#define PROCESSES_MAX (1 << 22) /* the kernel's PID_MAX_LIMIT */
#define STRUCT_OPS 26 /* BPF_MAP_TYPE_STRUCT_OPS of linux/bpf.h */

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

struct netns_ipv4___all {
	const struct tcp_congestion_ops___all *tcp_congestion_control;
};

struct net___all {
	struct list_head___all list;
	struct ns_common___all ns;
	struct netns_ipv4___all ipv4;
};

struct nsproxy___all {
	struct net___all *net_ns;
};

struct task_struct___all {
	struct nsproxy___all *nsproxy;
	struct task_struct___all *group_leader;
	struct list_head___all tasks;
};

enum bpf_map_type___all {
	BPF_MAP_TYPE_NONE___all,
};

struct bpf_map___all {
	enum bpf_map_type___all map_type;
	u32 id;
};

struct bpf_struct_ops_value___all {
	char data[0];
};

struct bpf_struct_ops_map___all {
	struct bpf_map___all map;
	struct bpf_struct_ops_value___all kvalue;
};

struct bpf_iter__bpf_map___all {
	struct bpf_map___all *map;
};

#pragma clang attribute pop

/* Ids of maps by the address that the tcp_congestion_ops of a struct_ops map has in the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_OPS);
	__type(key, u64);
	__type(value, u32);
} ops SEC(".maps");

/* The namespaces by inode. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, NETNS_MAX);
	__type(key, u32);
	__type(value, struct netns_entry);
} namespaces SEC(".maps");

__u32 n_listed; /* namespaces of which `namespaces` should have an entry */

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
	u32 inode = BPF_CORE_READ(net, ns.inum), *id;
	struct netns_entry entry = { .is_live = has_file(net) };
	u64 address = (u64)cc;

	id = bpf_map_lookup_elem(&ops, &address);
	if (id)
		entry.map_id = *id;
	if (cc)
		bpf_core_read_str(entry.name, sizeof(entry.name), &cc->name);
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
int list_namespaces(struct bpf_iter__bpf_map___all *ctx)
{
	struct bpf_map___all *map = ctx->map;
	struct task_struct___all *task;
	struct net___all *own;
	struct walk w = {};
	u64 address;
	u32 id;

	if (map) {
		if ((u32)map->map_type != STRUCT_OPS)
			return 0;
		id = map->id;
		address = (u64)map +
			  bpf_core_field_offset(struct bpf_struct_ops_map___all, kvalue) -
			  bpf_core_field_offset(struct bpf_struct_ops_map___all, map) +
			  bpf_core_field_offset(struct bpf_struct_ops_value___all, data);
		bpf_map_update_elem(&ops, &address, &id, BPF_ANY);
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
