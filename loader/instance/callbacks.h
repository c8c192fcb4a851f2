/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Callbacks under the names that the kernel has for them. Kernels with BBR version 3's changes ask for whole bursts,
 * tso_segs, where others ask for the least of them, min_tso_segs: the same program serves both
 * (bpf/kernel.bpf.h: burst_is_asked()), and an object that named both would be refused by either.
 */
#ifndef LOADER_CALLBACKS_H
#define LOADER_CALLBACKS_H

struct bpf_object;
struct btf;

/* The kernel's name of the callback that a program of this name is. */
const char *callback_name(const struct btf *kernel, const char *program);

/* Gives the members of an open object's op table the kernel's names: libbpf looks for them when it loads it. */
void callbacks_rename(struct bpf_object *obj, const struct btf *kernel);

#endif
