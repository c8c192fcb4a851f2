/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A congestion control made of BPF programs: the kernel's struct_ops map, and what registers it.
 * That is either the map's only element, until it is deleted; or, where the kernel can, a link,
 * which lives as long as its pin (link_pin.c) and can switch to another map.
 */
#ifndef LOADER_STRUCT_OPS_H
#define LOADER_STRUCT_OPS_H

#include <stdbool.h>

#include <linux/types.h>

struct bpf_object;
struct btf;
struct instance;

/*
 * Gives the callbacks in an open object's op table the kernel's names. Kernels with BBR version 3's
 * changes ask for whole bursts (tso_segs), others for the least size of a burst (min_tso_segs). The
 * same program serves both (burst_is_asked() in bpf/kernel.bpf.h). Either kernel would refuse an
 * object that named both.
 */
void callbacks_rename(struct bpf_object *obj, const struct btf *kernel);

/* The callback that a program of this name is on this kernel, and its place in the op table or -ENOENT. */
const char *callback_name(const struct btf *kernel, const char *program);
int callback_index(const struct btf *kernel, const char *name);

/* How many arguments a callback has; 0: there is none of this name. */
int callback_args(const struct btf *kernel, const char *name);

/* Flags of struct tcp_congestion_ops. */
#define TCP_CONG_NON_RESTRICTED 1 /* sockets without CAP_NET_ADMIN may use it */
#define TCP_CONG_NEEDS_ECN 2 /* connections negotiate ECN */

/*
 * The flags in an object's op table. object_set_flags() changes them before the object is loaded.
 * It returns 0 or -errno; -ENOENT: the object leaves no choice.
 */
__u32 object_flags(const struct bpf_object *obj);
int object_set_flags(struct bpf_object *obj, __u32 flags);

/* Reads the flags of an instance. Returns 0 or -errno. */
int ops_flags(const struct instance *inst, __u32 *flags);

/* True if the instance has the programs of a loaded object, and the object none that it lacks. */
bool ops_has_code(const struct instance *inst, const struct bpf_object *obj);

struct ops {
	bool by_link;
	int fd; /* of the map */
	int link_fd; /* -1: not registered by a link (yet) */
	__u32 map_id;
	void *value; /* of the element */
};

/*
 * Makes one from the programs of a loaded object; it is not registered yet. Free it with ops_free()
 * in any case. Returns 0 or -errno.
 */
int ops_make(struct ops *ops, struct bpf_object *obj, const char *name, bool by_link);

/* The same from an instance's, to register them again after it is unregistered. btf_fd: any BTF. */
int ops_remake(struct ops *ops, const struct instance *inst, int btf_fd);

/* Returns 0; -EEXIST: the name is taken (at this moment); or another -errno. */
int ops_register(struct ops *ops);
/* Ends a link that has no pin. */
void ops_free(struct ops *ops);

/* Frees the name, however it was registered. Sockets that use the code keep it. */
int unregister(const struct instance *inst);

/*
 * The pins that keep links, and so the congestion controls that they register, after bbrctl has
 * ended: /sys/fs/bpf/bpf_bbr/NAME. To find out what is loaded, tools ask the kernel instead.
 */

/*
 * Checks that the kernel can register by link, and that the pin would last. Mounts a bpffs and
 * makes the directory if need be, and removes a pin with this name whose link has ended. Returns
 * EXIT_DONE, and *why_plain is NULL or says why to register without a link; or EXIT_REFUSED after
 * printing why neither would do.
 */
int pin_prepare(const char *name, const char **why_plain);

/* Says in one sentence why a pin would not last or could not be made; NULL: it would last. */
const char *pin_problem(void);

/* Pins a link. Returns 0 or -errno. */
int pin_link(const char *name, int link_fd);

/* Removes the pin if it is this link's, or if its link has ended. Returns 0 or -errno. */
int pin_remove(const char *name, __u32 link_id);

/* The path where the pin is, or would be. */
const char *pin_path(const char *name);

#endif
