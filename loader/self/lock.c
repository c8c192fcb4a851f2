// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* F_OFD_SETLK */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <sys/file.h>

#include "cli/err.h"
#include "lock.h"

/*
 * flock(2) locks the whole file while instances change. fcntl(2) locks single bytes: one for each
 * watched experiment, one for each held instance. The two kinds of locks do not see each other.
 */
#define LOCK_FILE "/run/bbrctl.lock"

/* Never closed: its locks end with the process, however that ends. */
static int lock_file = -1;

static bool open_lock(void)
{
	if (lock_file < 0)
		lock_file = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return lock_file >= 0;
}

static int refuse(void)
{
	err("cannot lock %s: %s", LOCK_FILE, strerror(errno));
	return EXIT_REFUSED;
}

int lock_instances(void)
{
	return !open_lock() || flock(lock_file, LOCK_EX) ? refuse() : EXIT_DONE;
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
	if (open_lock() && lock_byte(prog_id, F_WRLCK))
		return EXIT_DONE;
	if (lock_file < 0 || (errno != EAGAIN && errno != EACCES))
		return refuse();
	err("%s: another process watches it already", experiment);
	return EXIT_NOTHING;
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
