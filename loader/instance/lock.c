// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <sys/file.h>

#include "cli/err.h"
#include "instance/lock.h"

#define LOCK_FILE "/run/bbrctl.lock"

int lock_instances(void)
{
	/* Never closed: the lock ends with the process, however that ends. */
	int fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX)) {
		err("cannot lock %s: %s", LOCK_FILE, strerror(errno));
		return EXIT_REFUSED;
	}
	return EXIT_DONE;
}
