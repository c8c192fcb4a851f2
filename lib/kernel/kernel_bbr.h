/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which BBR the kernel's own `bbr` is. Mainline has version 1; some distributions build their kernels with version 3 under
 * the same name, whose state is another one.
 */
#ifndef LIB_KERNEL_BBR_H
#define LIB_KERNEL_BBR_H

struct algorithm;

/*
 * Finds its algorithm by its types: it is built in, or a module that is loaded. 0; -ENOENT: there is none;
 * -EPROTONOSUPPORT: it is none of those that were compiled in.
 */
int kernel_bbr_find(const struct algorithm **algorithm);

/* Says that such a one cannot be watched. EXIT_REFUSED */
int kernel_bbr_refuse(void);

#endif
