/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_MACHINE_KERNEL_H
#define LOADER_MACHINE_KERNEL_H

struct machine;

/*
 * Reads what the kernel has now. only: profiles and rules of this instance; NULL: of all. Returns
 * EXIT_DONE, or EXIT_REFUSED after printing what the kernel did not answer. The caller frees m in
 * any case.
 */
int machine_kernel_read(const char *only, struct machine *m);

#endif
