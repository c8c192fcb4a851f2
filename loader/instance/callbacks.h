/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives callbacks the kernel's names. Kernels with BBR version 3's changes ask for whole bursts
 * (tso_segs), others for the least size of a burst (min_tso_segs). The same program serves both
 * (burst_is_asked() in bpf/kernel.bpf.h). Either kernel would refuse an object that named both.
 */
#ifndef LOADER_CALLBACKS_H
#define LOADER_CALLBACKS_H

struct bpf_object;
struct btf;

/* The kernel's name for the callback that this program implements. */
const char *callback_name(const struct btf *kernel, const char *program);

/*
 * Gives the members of an open object's op table the kernel's names. libbpf looks for those when it
 * loads the object.
 */
void callbacks_rename(struct bpf_object *obj, const struct btf *kernel);

#endif
