// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* name_to_handle_at() */
#include <ctype.h>
#include <dirent.h>
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
#include "cli/err.h"

char *cgroup_mount(void)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	char *found = NULL, line[8192]; /* getmntent() would allocate one, and end without it */
	struct mntent m;

	mem_check(f || errno != ENOMEM);
	/*
	 * Also finds the unusual place where systemd's hybrid hierarchy, with v1 controllers,
	 * mounts it.
	 */
	while (f && !found && getmntent_r(f, &m, line, sizeof(line)))
		if (!strcmp(m.mnt_type, "cgroup2"))
			found = mem_copy(m.mnt_dir);
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

/* The kernfs file handle of a directory is its id. */
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

/* Its path without links; NULL: it is no cgroup. */
static char *real_path(const char *path)
{
	char *real;

	errno = 0;
	real = is_cgroup(path) ? realpath(path, NULL) : NULL;
	mem_check(real || errno != ENOMEM);
	return real;
}

/* Says why there is no such cgroup. mount: where they are, NULL: nowhere. */
static int refuse(const char *option, const char *path, const char *mount)
{
	if (!mount)
		return err_refused("%s %s: no cgroup2 file system is mounted\n"
				   "mount it: mount -t cgroup2 none /sys/fs/cgroup",
				   option, path);
	return err_usage("%s %s: no such cgroup\n"
			 "a path such as system.slice/x.service, below %s",
			 option, path, mount);
}

int cgroup_find(const char *option, const char *path, char **found)
{
	char *mount AUTO_FREE = cgroup_mount(), *full AUTO_FREE = NULL;

	*found = path[0] == '/' ? real_path(path) : NULL;
	if (!*found && mount && path[0]) {
		full = mem_format("%s/%s", mount, path);
		*found = real_path(full);
	}
	return *found ? EXIT_DONE : refuse(option, path, mount);
}

/*
 * Makes a path without empty parts and "."; NULL: it has a "..", which cannot be resolved, or a name
 * that no cgroup can have.
 */
static char *plain_path(const char *path)
{
	char *plain = mem_copy(path), *from = plain, *to = plain, *name;
	bool is_wrong = false;

	while ((name = strsep(&from, "/"))) {
		is_wrong |= !strcmp(name, "..") || strlen(name) > NAME_MAX || strchr(name, '\n');
		if (!*name || !strcmp(name, "."))
			continue;
		*to++ = '/';
		memmove(to, name, strlen(name) + 1);
		to += strlen(to);
	}
	*to = 0;
	if (!is_wrong)
		return plain;
	free(plain);
	return NULL;
}

/* Without its last names, as many as are not there; at least one, but not those of the mount. */
static char *nearest_above(char *path, size_t mount_len)
{
	char *real = NULL, *slash;

	while (!real && (slash = strrchr(path, '/')) >= path + mount_len && slash > path) {
		*slash = 0;
		real = real_path(path);
	}
	return real;
}

int cgroup_place(const char *option, const char *path, char **place, char **below)
{
	char *mount AUTO_FREE = cgroup_mount(), *joined AUTO_FREE = NULL;
	char *found AUTO_FREE = path[0] == '/' ? real_path(path) : NULL;
	char *full AUTO_FREE = NULL, *cut AUTO_FREE = NULL;
	size_t len;

	if (!mount || !path[0])
		return cgroup_find(option, path, place); /* prints why not */
	len = strlen(mount);
	if (!found) {
		bool is_full = !strncmp(path, mount, len) && (path[len] == '/' || !path[len]);

		joined = mem_format("%s/%s", is_full ? "" : mount, path);
		found = real_path(joined); /* also resolves links */
	}
	full = plain_path(found ? found : joined);
	*place = NULL;
	if (full && !strcmp(full, mount)) {
		*place = mem_copy(full);
		*below = mem_copy("");
	} else if (full && (is_cgroup(full) || access(full, F_OK))) {
		cut = mem_copy(full);
		*place = nearest_above(cut, len);
		if (*place)
			*below = mem_copy(full + strlen(cut) + 1);
	}
	return *place ? EXIT_DONE : refuse(option, path, mount);
}

int cgroup_path_term(const char *place, const char *below, struct bbr_term *term)
{
	const char *end = below + strlen(below);
	__u64 hash = 0, id;

	*term = (struct bbr_term){ .kind = BBR_TERM_PATH };
	if (!handle_of(place, &id))
		return -errno;
	while (end > below) {
		const char *name = end;

		while (name > below && name[-1] != '/')
			name--;
		for (const char *from = name;; from += BBR_PATH_PIECE - 1) {
			size_t left = end - from;
			__u64 piece = 0;

			left = left < BBR_PATH_PIECE ? left : BBR_PATH_PIECE - 1;
			memcpy(&piece, from, left);
			hash = bbr_path_hash(hash, piece);
			if (left < BBR_PATH_PIECE - 1)
				break;
		}
		if (++term->len == BBR_RULE_CGROUP_LEVELS)
			return -ENAMETOOLONG;
		end = name > below ? name - 1 : below;
	}
	memcpy(term->value, &hash, sizeof(hash));
	memcpy(term->value + 2, &id, sizeof(id));
	return 0;
}

int cgroup_ids(const char *option, const char *path, __u64 *ids, int most, int *n)
{
	char *real;
	int ret = cgroup_find(option, path, &real);

	*n = 0;
	if (ret)
		return ret;
	do {
		if (!handle_of(real, &ids[(*n)++]))
			ret = err_refused("%s %s: cannot get its id: %s", option, path,
					  strerror(errno));
		*strrchr(real, '/') = 0;
	} while (!ret && *n < most && real[0] && is_cgroup(real));
	free(real);
	return ret;
}

int cgroup_id(const char *option, const char *path, __u64 *id)
{
	int n;

	return cgroup_ids(option, path, id, 1, &n);
}

/*
 * Reads the full path of a cgroup, and how much of it is the mount's; false, with errno, if no
 * cgroup has this id any more.
 */
static bool path_of(__u64 id, char path[PATH_MAX], size_t *mount_len)
{
	char *mount AUTO_FREE = cgroup_mount();
	struct {
		struct file_handle handle;
		__u64 id;
	} h = { { .handle_bytes = sizeof(id), .handle_type = KERNFS_HANDLE }, id };
	int mount_fd AUTO_CLOSE = mount ? open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int fd AUTO_CLOSE = -1;
	ssize_t len = -1;
	char link[64];

	if (mount_fd >= 0)
		fd = open_by_handle_at(mount_fd, &h.handle, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		len = readlink(link, path, PATH_MAX - 1);
	}
	path[len < 0 ? 0 : len] = 0;
	*mount_len = mount ? strlen(mount) : 0;
	return len >= (ssize_t)*mount_len;
}

bool cgroup_is_within(const char *path, const char *above)
{
	size_t len = strlen(above);

	if (len && above[len - 1] == '/')
		len--;
	return !strncmp(path, above, len) && (!path[len] || path[len] == '/');
}

static int is_below(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

/*
 * Any user may have cgroups, as deep as they like: so none stays open while those below it are
 * visited, and one whose path is too long for the kernel is left out.
 */
int cgroup_walk(const char *top, cgroup_visitor visit, void *data)
{
	int ret = visit(top, data), n = 0;
	struct dirent **entries AUTO_FREE = NULL;

	if (!ret) {
		n = scandir(top, &entries, is_below, NULL);
		ret = n < 0 ? -errno : 0;
	}
	for (int i = 0; i < n; i++) {
		char *below AUTO_FREE = mem_format("%s/%s", top, entries[i]->d_name);

		if (!ret)
			ret = cgroup_walk(below, visit, data);
		free(entries[i]);
	}
	return ret == -ENOENT || ret == -ENODEV || ret == -ENAMETOOLONG ? 0 : ret;
}

__u64 cgroup_id_now(const char *path)
{
	char *mount AUTO_FREE = cgroup_mount();
	char *full AUTO_FREE = mount ? mem_format("%s%s", mount, path) : NULL;
	__u64 id;

	return full && is_cgroup(full) && handle_of(full, &id) ? id : 0;
}

int cgroup_ids_above(__u64 id, __u64 ids[BBR_RULE_CGROUP_LEVELS])
{
	char path[PATH_MAX];
	size_t mount_len;
	int n = 0;

	if (!path_of(id, path, &mount_len))
		return 0;
	while (n < BBR_RULE_CGROUP_LEVELS && strlen(path) >= mount_len &&
	       handle_of(path, &ids[n])) {
		n++;
		*strrchr(path, '/') = 0;
	}
	return n;
}

void cgroup_path(__u64 id, char *path, size_t size)
{
	char full[PATH_MAX];
	size_t mount_len;

	*path = 0;
	if (path_of(id, full, &mount_len))
		snprintf(path, size, "%s", full[mount_len] ? full + mount_len : "/");
}

bool cgroup_is_gone(__u64 id)
{
	char path[PATH_MAX];
	size_t mount_len;

	errno = 0;
	return !path_of(id, path, &mount_len) && errno == ESTALE;
}

/* ---- the sockets of processes */

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
	DIR *dir AUTO_CLOSEDIR = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	__u64 inode;

	while (!ret && dir && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]) && socket_inode(fd, e->d_name, &inode))
			ret = visit(inode, strtoul(e->d_name, NULL, 10), data);
	if (!dir && fd >= 0)
		close(fd);
	return ret;
}
