/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs BPF iterators that write nothing: what they find, they leave in maps. */
#ifndef LIB_ITERATOR_H
#define LIB_ITERATOR_H

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

/* Runs the program of a link once, over all that it visits. Returns 0 or -errno. */
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

#endif
