// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* F_OFD_SETLK, getline() */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cli/err.h"
#include "lock.h"

/*
 * flock(2) locks the whole file while instances change. fcntl(2) locks single bytes: one for each
 * watched experiment, one for each held instance. The two kinds of locks do not see each other.
 */
#define LOCK_FILE "/run/bbrctl.lock"

/* Never closed: its locks end with the process, however that ends. */
static int lock_file = -1;

static int refuse(void)
{
	int error = errno;

	err("cannot lock %s: %s", LOCK_FILE,
	    error == ELOOP ? "it is a symbolic link" : strerror(error));
	if (error == EROFS)
		remedy("mount the machine's file there, as into a container");
	return EXIT_REFUSED;
}

/* Whoever can open the file can hold the lock for as long as they like. */
static int check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return refuse();
	if (!S_ISREG(st.st_mode))
		return err_refused("cannot lock %s: it is not a file", LOCK_FILE);
	if (st.st_uid && st.st_uid != geteuid())
		return err_refused(
			"cannot lock %s: it belongs to user %u, who could keep the lock\n"
			"remove it while no bbrctl runs; the next one makes it again",
			LOCK_FILE, st.st_uid);
	/* Kubernetes and podman make it for everybody. It stays so if the owner is root, but not us. */
	if (st.st_mode & 077)
		fchmod(fd, 0600);
	return EXIT_DONE;
}

static int open_lock(void)
{
	int fd;

	if (lock_file >= 0)
		return EXIT_DONE;
	fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return refuse();
	if (check_owner(fd)) {
		close(fd);
		return EXIT_REFUSED;
	}
	lock_file = fd;
	return EXIT_DONE;
}

/* The process that holds the lock; 0: not known, perhaps in another PID namespace. */
static int find_holder(void)
{
	FILE *f AUTO_FCLOSE = fopen("/proc/locks", "re");
	unsigned int major, minor;
	unsigned long inode;
	int pid, holder = 0;
	char line[256];
	struct stat st;

	while (f && !holder && !fstat(lock_file, &st) && fgets(line, sizeof(line), f))
		/* Those who wait for it have "->" before the kind of the lock. */
		if (sscanf(line, "%*s FLOCK %*s %*s %d %x:%x:%lu", &pid, &major, &minor, &inode) ==
			    4 &&
		    inode == st.st_ino && makedev(major, minor) == st.st_dev)
			holder = pid;
	return holder;
}

/* Reads a process's command line, or its name if that is empty; "" if it has ended. */
static void read_command(int pid, char command[128])
{
	static const char *const files[] = { "cmdline", "comm" };
	char path[32];
	size_t len = 0;

	for (int i = 0; !len && i < 2; i++) {
		FILE *f AUTO_FCLOSE = NULL;

		snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
		f = fopen(path, "re");
		if (f)
			len = fread(command, 1, 127, f);
	}
	while (len && (!command[len - 1] || command[len - 1] == '\n'))
		len--;
	command[len] = 0;
	for (size_t i = 0; i < len; i++)
		if (!command[i])
			command[i] = ' ';
}

static void say_who_holds(void)
{
	int pid = find_holder();
	char command[128];

	if (pid) {
		read_command(pid, command);
		err("waiting for process %d (%s), which holds %s", pid, command, LOCK_FILE);
	} else {
		err("waiting for a process that this /proc does not show and that holds %s",
		    LOCK_FILE);
	}
	remedy("bbrctl changes nothing while it waits; Ctrl-C ends it");
}

#define STEP_MS 20
#define SILENT_MS 2000

/* Tries again and again, because a caller may have blocked the signals that end the wait. */
static int wait_for_lock(void)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	struct sigaction action;
	sigset_t ends, before;
	int ms = 0, got = 0;

	sigemptyset(&ends);
	for (const int *sig = (const int[]){ SIGINT, SIGTERM, 0 }; *sig; sig++)
		if (!sigaction(*sig, NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&ends, *sig);
	sigprocmask(SIG_BLOCK, &ends, &before);
	while (got <= 0 && flock(lock_file, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			got = SIGKILL; /* no signal ended it */
			refuse();
			break;
		}
		if (ms == SILENT_MS)
			say_who_holds();
		ms += STEP_MS;
		got = sigtimedwait(&ends, NULL, &step);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (got == SIGINT || got == SIGTERM)
		err("stopped by a signal while waiting for %s; nothing was changed", LOCK_FILE);
	return got > 0 ? EXIT_REFUSED : EXIT_DONE;
}

int lock_instances(void)
{
	int ret = open_lock();

	if (ret || !flock(lock_file, LOCK_EX | LOCK_NB))
		return ret;
	return wait_for_lock();
}

void unlock_instances(void)
{
	flock(lock_file, LOCK_UN);
}

/* Sets or releases the other kind of lock, on one byte; false with errno if that fails. */
static bool lock_byte(off_t place, short type)
{
	struct flock byte = { .l_type = type, .l_whence = SEEK_SET, .l_start = place, .l_len = 1 };

	return !fcntl(lock_file, F_OFD_SETLK, &byte);
}

int lock_watch(const char *experiment, unsigned int prog_id)
{
	if (open_lock())
		return EXIT_REFUSED;
	if (lock_byte(prog_id, F_WRLCK))
		return EXIT_DONE;
	if (errno != EAGAIN && errno != EACCES)
		return refuse();
	return err_nothing("%s: another process watches it already", experiment);
}

/* The byte's place is a hash of the name (FNV-1a). */
static bool lock_place(const char *name, short type)
{
	unsigned long long hash = 0xcbf29ce484222325ull;

	for (; name && *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	return lock_byte(hash >> 2, type);
}

int holder_begin(const char *name)
{
	return lock_place(name, F_RDLCK) ? EXIT_DONE : refuse();
}

bool holder_end(const char *name)
{
	bool is_last = lock_place(name, F_WRLCK);

	lock_place(name, F_UNLCK);
	return is_last;
}
