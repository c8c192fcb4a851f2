/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which BBR the kernel's own `bbr` is. Mainline has version 1; some distributions build their kernels with version 3 under
 * the same name, whose state is another one.
 */
#ifndef LIB_KERNEL_BBR_H
#define LIB_KERNEL_BBR_H

#include <stdbool.h>

/* Is there one, built in or as a module that is loaded, and is it not version 1? By its types. */
bool kernel_bbr_is_other(void);

/* Says that such a one cannot be watched. EXIT_REFUSED */
int kernel_bbr_refuse(void);

#endif
