/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls that libbpf has no function for. Each returns 0 or -errno. */
#ifndef LIB_BPF_CALLS_H
#define LIB_BPF_CALLS_H

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cli/err.h"

/* Reads what the kernel says of a map, a program or a link; what the struct asks for is in it. */
#define object_info(fd, info) \
	(bpf_obj_get_info_by_fd(fd, info, &(__u32){ sizeof(*(info)) }) ? -errno : 0)

static inline int map_info(int fd, struct bpf_map_info *info)
{
	memset(info, 0, sizeof(*info));
	return object_info(fd, info);
}

/*
 * Reads what the program of an iterator's link writes about our network namespace. The buffer has
 * `room` bytes. take() gets what it holds, perhaps nothing new, and returns how many bytes it has
 * used, or -1 to end the reading.
 */
static inline int iterator_read(int link, char *buffer, size_t room,
				ssize_t (*take)(void *ctx, size_t size), void *ctx)
{
	int fd AUTO_CLOSE = bpf_iter_create(link);
	size_t held = 0;
	ssize_t n, used;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buffer + held, room - held))) {
		if (n < 0 && errno != EAGAIN && errno != EINTR) /* EAGAIN: after a million others */
			return -errno;
		held += n < 0 ? 0 : n;
		used = take ? take(ctx, held) : 0;
		if (used < 0)
			break;
		held -= used;
		memmove(buffer, buffer + used, held);
	}
	return 0;
}

/* The same for a program that writes nothing: what it finds, it leaves in maps. */
static inline int iterator_run(int link)
{
	char none;

	return iterator_read(link, &none, sizeof(none), NULL, NULL);
}

#endif
