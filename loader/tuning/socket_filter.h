/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_SOCKET_FILTER_H
#define LOADER_SOCKET_FILTER_H

#include "bpf_bbr/migrate.h"

/* Which sockets; NULL: any. */
struct socket_filter {
	const char *dst, *dport, *sport, *cgroup, *mark;
};

/*
 * Takes --dst, --dport, --sport, --cgroup and --mark. Returns EXIT_DONE, or another status after
 * printing what is wrong.
 */
int socket_filter_parse(const struct socket_filter *filter, struct migrate_config *config);

#endif
