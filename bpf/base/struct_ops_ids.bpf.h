/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef STRUCT_OPS_IDS_BPF_H
#define STRUCT_OPS_IDS_BPF_H

#include "struct_ops.bpf.h"

#define STRUCT_OPS 26 /* BPF_MAP_TYPE_STRUCT_OPS of linux/bpf.h */
#define STRUCT_OPS_MAX 4096

/* The ids of all struct_ops maps, by struct_ops_address(). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, STRUCT_OPS_MAX);
	__type(key, u64);
	__type(value, u32);
} struct_ops_ids SEC(".maps");

static inline void note_struct_ops(const struct bpf_map *map)
{
	u64 address = struct_ops_address(map);
	u32 id = map->id;

	if (map->map_type == STRUCT_OPS)
		bpf_map_update_elem(&struct_ops_ids, &address, &id, BPF_ANY);
}

/* The id of the map that has these tcp_congestion_ops; 0: none. */
static inline u32 struct_ops_id(u64 address)
{
	u32 *id = bpf_map_lookup_elem(&struct_ops_ids, &address);

	return id ? *id : 0;
}

#endif
