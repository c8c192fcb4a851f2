/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which BBR the kernel's own `bbr` is. Mainline has version 1. Some distributions build their
 * kernels with version 3 under the same name, with a different state.
 */
#ifndef LIB_KERNEL_BBR_H
#define LIB_KERNEL_BBR_H

struct algorithm;

/*
 * Finds its algorithm by its types, whether it is built in or a loaded module. Returns 0; -ENOENT
 * if there is none; -EPROTONOSUPPORT if it is none of the algorithms that were compiled in.
 */
int kernel_bbr_find(const struct algorithm **algorithm);

/* Prints that such a bbr cannot be watched. Returns EXIT_REFUSED. */
int kernel_bbr_refuse(void);

#endif
