/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls that libbpf has no function for. Each returns 0 or -errno. */
#ifndef LIB_BPF_CALLS_H
#define LIB_BPF_CALLS_H

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

static inline int map_info(int fd, struct bpf_map_info *info)
{
	__u32 len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(fd, info, &len) ? -errno : 0;
}

/*
 * Runs the program of an iterator's link once, over all that it visits. The program writes nothing:
 * what it finds, it leaves in maps.
 */
static inline int iterator_run(int link)
{
	int fd = bpf_iter_create(link), error = 0;
	ssize_t n;
	char none;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, &none, sizeof(none));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			error = -errno;
	} while (n && !error);
	close(fd);
	return error;
}

/*
 * Reads what the program of an iterator's link writes about our network namespace. The buffer has
 * `room` bytes. take() gets what it holds and returns how many bytes it has used, or -1 to end the
 * reading.
 */
static inline int iterator_read(int link, char *buffer, size_t room,
				ssize_t (*take)(void *ctx, size_t size), void *ctx)
{
	int fd = bpf_iter_create(link), error = 0;
	size_t held = 0;
	ssize_t n, used;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buffer + held, room - held))) {
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) /* after a million others */
			continue;
		if (n < 0) {
			error = -errno;
			break;
		}
		held += n;
		used = take(ctx, held);
		if (used < 0)
			break;
		held -= used;
		memmove(buffer, buffer + used, held);
	}
	close(fd);
	return error;
}

#endif
