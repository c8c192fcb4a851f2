/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the kernel has the tcp_congestion_ops of a struct_ops map: sockets and network namespaces
 * point there. For programs that run once for each map of the machine.
 */
#ifndef STRUCT_OPS_BPF_H
#define STRUCT_OPS_BPF_H

#include "types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

enum bpf_map_type___ops {
	BPF_MAP_TYPE_NONE___ops,
};

struct bpf_map {
	enum bpf_map_type___ops map_type;
	u32 id;
};

struct bpf_iter__bpf_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
};

/* BPF registers the value of a map. Here the tcp_congestion_ops are its data. */
struct bpf_struct_ops_value {
	char data[0];
};

struct bpf_struct_ops_map {
	struct bpf_map map;
	struct bpf_struct_ops_value kvalue;
};

#pragma clang attribute pop

/* The address of its tcp_congestion_ops. */
static inline u64 struct_ops_address(const struct bpf_map *map)
{
	return (u64)map + bpf_core_field_offset(struct bpf_struct_ops_map, kvalue) -
	       bpf_core_field_offset(struct bpf_struct_ops_map, map) +
	       bpf_core_field_offset(struct bpf_struct_ops_value, data);
}

#endif
