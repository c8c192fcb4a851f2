// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* getline() */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "bpf_calls.h"
#include "kernel/kernel_types.h"
#include "cli/err.h"
#include "kernel/instance.h"
#include "instance/struct_ops.h"

#define BPFFS "/sys/fs/bpf"
#define PINS BPFFS "/bpf_bbr"

const char *pin_path(const char *name)
{
	static char path[sizeof(PINS "/") + BBR_NAME_LEN];

	snprintf(path, sizeof(path), PINS "/%s", name);
	/* bpffs allows no dots; a name has no hyphens. */
	for (char *c = path + strlen(PINS); *c; c++)
		if (*c == '.')
			*c = '-';
	return path;
}

/*
 * A bpffs ends with its last mount, and its pins with it. One that is mounted only in our own mount
 * namespace may end with us: `ip netns exec` makes a new namespace with a new /sys for each
 * command. One that process 1 has mounted as well stays. (/proc/1/ns/mnt would need the right to
 * trace that process.) Returns 1 if it stays, 0 if not, or -errno.
 */
static int is_lasting(const struct stat *bpffs)
{
	FILE *f AUTO_FCLOSE = fopen("/proc/1/mountinfo", "re");
	unsigned int major, minor;
	char *line AUTO_FREE = NULL;
	size_t size = 0;
	int found = 0;

	if (!f)
		return -errno;
	errno = 0;
	while (!found && getline(&line, &size, f) > 0)
		found = sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 &&
			makedev(major, minor) == bpffs->st_dev;
	return found ? found : -errno;
}

/* The id of a process's first mount, -1 if unknown. No two mount namespaces have the same one. */
static int first_mount(const char *mountinfo)
{
	FILE *f AUTO_FCLOSE = fopen(mountinfo, "re");
	int id;

	return f && fscanf(f, "%d", &id) == 1 ? id : -1;
}

#define INITIAL_PID_NS 0xEFFFFFFCu /* PROC_PID_INIT_INO: the same on every kernel */

static bool is_bpffs(void)
{
	struct statfs fs;

	return !statfs(BPFFS, &fs) && fs.f_type == BPF_FS_MAGIC;
}

static const char in_container[] = "the host's bpffs is not at " BPFFS
				   ", and a bpffs that this container mounted would end with it";
static const char no_memory[] = "out of memory";
static const char read_only[] = "the bpffs at " BPFFS " is mounted read-only";

const char *pin_problem(void)
{
	int first = first_mount("/proc/1/mountinfo");
	struct statvfs fs;
	struct stat st;
	int lasting;

	if (!is_bpffs()) {
		if (first < 0 || first != first_mount("/proc/self/mountinfo"))
			return "this mount namespace has no bpffs, and a new one would end with it";
		/* If process 1 is a container's, its mounts end with it, and tell nothing about the host's. */
		return !stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PID_NS ?
			       in_container :
			       NULL;
	}
	if (!statvfs(BPFFS, &fs) && fs.f_flag & ST_RDONLY)
		return read_only;
	lasting = stat(BPFFS, &st) ? 0 : is_lasting(&st);
	if (lasting == -ENOMEM)
		return no_memory;
	if (lasting != 1)
		return "its bpffs would end with this mount namespace";
	return NULL;
}

/* Returns 1 if it is a pin of this link or of one that has ended, 0 if not, or -errno. */
static int is_pin_of(const char *path, __u32 link_id)
{
	struct bpf_link_info info = {};
	int fd AUTO_CLOSE = bpf_obj_get(path);

	if (fd < 0) /* EACCES: a pin of something else that we may not have */
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	if (object_info(fd, &info))
		return -errno;
	return info.type == BPF_LINK_TYPE_STRUCT_OPS && (info.id == link_id || !link_map_id(&info));
}

int pin_remove(const char *name, __u32 link_id)
{
	const char *path = pin_path(name);
	int ret = is_pin_of(path, link_id);

	if (ret > 0)
		ret = unlink(path) && errno != ENOENT ? -errno : 0;
	rmdir(PINS); /* if it is empty */
	return ret;
}

int pin_prepare(const char *name, const char **why_plain)
{
	*why_plain = "this kernel has no links of congestion controls";
	if (!kernel_has_member("bpf_struct_ops", "update")) /* both came with 6.4 */
		return EXIT_DONE;
	*why_plain = pin_problem();
	/* What would be lost silently or fail half way is refused. */
	if (*why_plain == in_container || *why_plain == read_only || *why_plain == no_memory)
		err("%s: cannot be kept: %s", name, *why_plain);
	else if (*why_plain)
		return EXIT_DONE;
	if (*why_plain == in_container)
		remedy("give the container the host's " BPFFS ": -v " BPFFS ":" BPFFS
		       ", or a hostPath volume");
	if (*why_plain == read_only)
		remedy("mount -o remount,rw " BPFFS
		       "; in a systemd unit, leave out ProtectKernelTunables=");
	if (*why_plain)
		return EXIT_REFUSED;
	/* Mounts a bpffs if need be, and makes room for the pin in it. */
	if (!is_bpffs() && mount("bpf", BPFFS, "bpf", 0, "mode=0700")) {
		*why_plain = strerror(errno);
		return EXIT_DONE;
	}
	pin_remove(name, 0);
	if (mkdir(PINS, 0700) && errno != EEXIST)
		*why_plain = strerror(errno);
	else if (!access(pin_path(name), F_OK) || errno != ENOENT)
		*why_plain = "the path of its pin is in use";
	return EXIT_DONE;
}

int pin_link(const char *name, int link_fd)
{
	return bpf_obj_pin(link_fd, pin_path(name)) ? -errno : 0;
}
