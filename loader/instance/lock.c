// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* F_OFD_SETLK */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/file.h>

#include "cli/err.h"
#include "instance/lock.h"

/* The whole of it by flock(2) for instances; a byte for each experiment by fcntl(2), which is another kind of lock. */
#define LOCK_FILE "/run/bbrctl.lock"

/* Never closed: the lock ends with the process, however that ends. */
static int open_lock(void)
{
	return open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static int refuse(void)
{
	err("cannot lock %s: %s", LOCK_FILE, strerror(errno));
	return EXIT_REFUSED;
}

int lock_instances(void)
{
	int fd = open_lock();

	return fd < 0 || flock(fd, LOCK_EX) ? refuse() : EXIT_DONE;
}

int lock_watch(const char *experiment, unsigned int prog_id)
{
	struct flock byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = prog_id, .l_len = 1
	};
	int fd = open_lock();

	if (fd >= 0 && !fcntl(fd, F_OFD_SETLK, &byte))
		return EXIT_DONE;
	if (fd < 0 || (errno != EAGAIN && errno != EACCES))
		return refuse();
	err("%s: another process watches it already", experiment);
	return EXIT_NOTHING;
}
