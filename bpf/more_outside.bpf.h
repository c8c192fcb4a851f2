/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The second part of a connection's state (more.bpf.h), read from outside. A program of another
 * object cannot look it up, because each instance has a map of its own. So it walks the socket's
 * storages. A socket that uses an instance has only one of this name, because a switch to another
 * instance takes it away. Instances of other releases may have a smaller or a larger one: members
 * are only added, at the end.
 */
#ifndef MORE_OUTSIDE_BPF_H
#define MORE_OUTSIDE_BPF_H

#include "defaults.bpf.h"
#include "outside.bpf.h"

#ifdef bbr_more
#define MAX_STORAGES 64 /* of a socket; each belongs to some program */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct bpf_map___named {
	u32 value_size;
	char name[16];
};

struct bpf_local_storage_map {
	struct bpf_map map;
};

struct bpf_local_storage_data {
	struct bpf_local_storage_map *smap;
	u8 data[0];
};

struct bpf_local_storage_elem {
	struct hlist_node snode;
	struct bpf_local_storage_data sdata;
};

struct bpf_local_storage {
	struct hlist_head list;
};

struct sock___storing {
	struct bpf_local_storage *sk_bpf_storage;
};

#pragma clang attribute pop

static inline struct bpf_map___named *map_of(struct bpf_local_storage_map *smap)
{
	return (void *)__builtin_preserve_access_index(&smap->map);
}

static inline bool is_more(struct bpf_local_storage_map *smap)
{
	struct bpf_map___named *map = map_of(smap);
	char name[] = BBR_MAP_MORE, has[sizeof(name)] = {};

	bpf_core_read(has, sizeof(has), &map->name);
	for (u32 i = 0; i < sizeof(name); i++)
		if (has[i] != name[i])
			return false;
	return true;
}

/* MORE() and HISTORY() in the algorithm's code name these, but nothing here calls that code. */
static inline struct bbr_more *more_of(struct sock *sk)
{
	return NULL;
}

static inline struct bbr_history *history_of(struct sock *sk)
{
	return NULL;
}

static inline struct bbr_history *make_history(struct sock *sk)
{
	return NULL;
}

static inline struct bpf_local_storage_elem *find_more(struct sock *sk)
{
	struct bpf_local_storage *storage =
		BPF_CORE_READ((struct sock___storing *)sk, sk_bpf_storage);
	struct hlist_node *node = storage ? BPF_CORE_READ(storage, list.first) : NULL;

	for (u32 i = 0; i < MAX_STORAGES && node; i++) {
		struct bpf_local_storage_elem *elem =
			(void *)node - bpf_core_field_offset(struct bpf_local_storage_elem, snode);

		if (is_more(BPF_CORE_READ(elem, sdata.smap)))
			return elem;
		node = BPF_CORE_READ(node, next);
	}
	return NULL;
}

/*
 * Copies the second part of a socket's state into `to`, and returns `to`; what the instance does not
 * have is 0. Returns NULL if there is none, or if it cannot be read.
 */
static inline struct bbr_more *copy_more(struct bbr_more *to, struct sock *sk)
{
	struct bpf_local_storage_elem *elem = find_more(sk);
	struct bpf_map___named *map;
	u32 size;

	if (!elem)
		return NULL;
	map = map_of(BPF_CORE_READ(elem, sdata.smap));
	size = BPF_CORE_READ(map, value_size);
	*to = (struct bbr_more){};
	return bpf_core_read(to, min_u32(size, sizeof(*to)), &elem->sdata.data) ? NULL : to;
}
#endif

#endif
