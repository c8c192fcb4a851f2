/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_MACHINE_KERNEL_H
#define LOADER_MACHINE_KERNEL_H

struct machine;

/*
 * What the kernel has now. only: profiles and rules of this instance; NULL: of all. EXIT_DONE, or EXIT_REFUSED after printing what it does not tell. To be freed in any case.
 */
int machine_kernel_read(const char *only, struct machine *m);

#endif
