/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A congestion control made of BPF programs: the kernel's struct_ops map, and what registers it. That is
 * the map's only element, and then it stays until that is deleted; or, where the kernel can, a link,
 * which lives as long as its pin (pin.h), and by which the map can be replaced.
 */
#ifndef LOADER_STRUCT_OPS_H
#define LOADER_STRUCT_OPS_H

#include <stdbool.h>

#include <linux/types.h>

struct bpf_object;
struct instance;

/* Of struct tcp_congestion_ops. */
#define TCP_CONG_NON_RESTRICTED 1 /* sockets without CAP_NET_ADMIN may use it */
#define TCP_CONG_NEEDS_ECN 2 /* connections negotiate ECN */

/* What the op table of an object has. Before it is loaded they can be set, if there is a choice: -ENOENT, there is none. */
__u32 object_flags(const struct bpf_object *obj);
int object_set_flags(struct bpf_object *obj, __u32 flags);

/* The same of an instance. 0 or -errno. */
int ops_flags(const struct instance *inst, __u32 *flags);

struct ops {
	bool by_link;
	int fd; /* of the map */
	int link_fd; /* -1: not registered by a link (yet) */
	__u32 map_id;
	void *value; /* of the element */
};

/* Each returns 0 or -errno. What was made is not registered yet, and to be given to ops_free(). */

/* Of the programs of a loaded object. */
int ops_make(struct ops *ops, struct bpf_object *obj, const char *name, bool by_link);

/* Of the programs of an instance, to register them again when it no longer is; btf_fd: any BTF. */
int ops_remake(struct ops *ops, const struct instance *inst, int btf_fd);

/* -EEXIST: the name is taken. May be tried again. Without a pin a link ends with ops_free(). */
int ops_register(struct ops *ops);

/* Takes the code's place that a link has registered. At every moment the name is there. */
int ops_replace(const struct ops *ops, int link_fd);

void ops_free(struct ops *ops);

#endif
