/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIB_PROCESS_SOCKETS_H
#define LIB_PROCESS_SOCKETS_H

#include <linux/types.h>

/* fd: the process's descriptor. A return value other than 0 ends the walk, which returns it. */
typedef int (*socket_visitor)(__u64 inode, __u32 fd, void *data);

/*
 * Visits the sockets that a process has open, by its directory in /proc. A process that cannot be
 * looked at or has ended has none.
 */
int process_sockets(int process, socket_visitor visit, void *data);

#endif
