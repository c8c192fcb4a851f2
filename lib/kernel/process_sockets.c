// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process_sockets.h"

/* The inode of a link to "socket:[1234]"; false if it is to something else. */
static bool socket_inode(int dir, const char *name, __u64 *inode)
{
	static const char prefix[] = "socket:[";
	char target[64];
	ssize_t len = readlinkat(dir, name, target, sizeof(target) - 1);

	if (len < (ssize_t)sizeof(prefix) || memcmp(target, prefix, sizeof(prefix) - 1))
		return false;
	target[len] = 0;
	*inode = strtoull(target + sizeof(prefix) - 1, NULL, 10);
	return true;
}

int process_sockets(int process, socket_visitor visit, void *data)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	__u64 inode;

	while (!ret && dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]) && socket_inode(fd, e->d_name, &inode))
			ret = visit(inode, strtoul(e->d_name, NULL, 10), data);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return ret;
}
