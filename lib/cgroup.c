// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* name_to_handle_at() */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "cgroup.h"
#include "err.h"

/* Where cgroup2 is mounted; systemd's hybrid hierarchy has it at an unusual place. */
static bool find_mount(char *path, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;
	bool found = false;

	while (f && !found && (m = getmntent(f))) {
		found = !strcmp(m->mnt_type, "cgroup2");
		if (found)
			snprintf(path, size, "%s", m->mnt_dir);
	}
	if (f)
		endmntent(f);
	return found;
}

static bool is_cgroup(const char *path)
{
	struct statfs fs;
	struct stat st;

	return !statfs(path, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC && !stat(path, &st) &&
	       S_ISDIR(st.st_mode);
}

#define KERNFS_HANDLE 0xfe /* FILEID_KERNFS */

/* In kernfs the handle of a directory is its id. */
static bool handle_of(const char *path, __u64 *id)
{
	struct {
		struct file_handle handle;
		__u64 id;
	} h = { .handle.handle_bytes = sizeof(h.id) };
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, path, &h.handle, &mount_id, 0) ||
	    h.handle.handle_bytes != sizeof(h.id))
		return false;
	memcpy(id, h.handle.f_handle, sizeof(*id));
	return true;
}

/* The path of a cgroup that the user named, in `full` of 2 * PATH_MAX. */
static int find_cgroup(const char *option, const char *path, char *full)
{
	char mount[PATH_MAX];

	if (path[0] == '/' && is_cgroup(path)) {
		snprintf(full, 2 * PATH_MAX, "%s", path);
		return EXIT_DONE;
	}
	if (!find_mount(mount, sizeof(mount))) {
		err("%s %s: no cgroup2 file system is mounted", option, path);
		remedy("mount it: mount -t cgroup2 none /sys/fs/cgroup");
		return EXIT_REFUSED;
	}
	snprintf(full, 2 * PATH_MAX, "%s/%.*s", mount, PATH_MAX - 1, path);
	if (path[0] && is_cgroup(full))
		return EXIT_DONE;
	err("%s %s: no such cgroup", option, path);
	remedy("a path such as system.slice/x.service, below %s", mount);
	return EXIT_USAGE;
}

static int refuse_handle(const char *option, const char *path)
{
	err("%s %s: cannot get its id: %s", option, path, strerror(errno));
	return EXIT_REFUSED;
}

int cgroup_id(const char *option, const char *path, __u64 *id)
{
	char full[2 * PATH_MAX];
	int ret = find_cgroup(option, path, full);

	if (!ret && !handle_of(full, id))
		ret = refuse_handle(option, path);
	return ret;
}

int cgroup_ids(const char *option, const char *path, __u64 ids[BBR_RULE_CGROUP_LEVELS], int *n)
{
	char full[2 * PATH_MAX], real[PATH_MAX];
	int ret = find_cgroup(option, path, full);

	*n = 0;
	if (!ret && !realpath(full, real))
		ret = refuse_handle(option, path);
	while (!ret && *n < BBR_RULE_CGROUP_LEVELS && is_cgroup(real)) {
		if (!handle_of(real, &ids[(*n)++]))
			return refuse_handle(option, path);
		*strrchr(real, '/') = 0;
		if (!real[0])
			break;
	}
	return ret;
}

void cgroup_path(__u64 id, char *path, size_t size)
{
	struct {
		struct file_handle handle;
		__u64 id;
	} h = { { .handle_bytes = sizeof(id), .handle_type = KERNFS_HANDLE }, id };
	char mount[PATH_MAX], link[64], full[PATH_MAX];
	int fd = -1, mount_fd;
	ssize_t len = -1;

	*path = 0;
	if (!find_mount(mount, sizeof(mount)))
		return;
	mount_fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount_fd >= 0)
		fd = open_by_handle_at(mount_fd, &h.handle, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, full, sizeof(full) - 1);
		close(fd);
	}
	if (mount_fd >= 0)
		close(mount_fd);
	if (len < (ssize_t)strlen(mount))
		return;
	full[len] = 0;
	snprintf(path, size, "%s", full[strlen(mount)] ? full + strlen(mount) : "/");
}
