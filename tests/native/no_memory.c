// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into bbrctl and bbrmon: their allocations fail. With NO_MEMORY_AT=N the N-th one does, with
 * NO_MEMORY_FROM=N that one and all after it. With NO_MEMORY_LOG=FILE all succeed, and at the end the file gets a line for each:
 * a number that stands for the functions that asked for it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEPTH 40
#define MAX_LOGGED 200000

/* glibc's own, which it exports under these names, too. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static unsigned long at, from, count; /* 0: none */
static const char *log_path;
static uint32_t callers[MAX_LOGGED];
static __thread int is_within; /* backtrace() allocates, too */

static unsigned long number(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void)
{
	void *unused[1];

	log_path = getenv("NO_MEMORY_LOG");
	is_within = 1;
	if (log_path)
		backtrace(unused, 1); /* loads a library */
	is_within = 0;
	at = number("NO_MEMORY_AT");
	from = number("NO_MEMORY_FROM");
	count = 0;
}

__attribute__((destructor)) static void end(void)
{
	FILE *f;

	is_within = 1;
	f = log_path ? fopen(log_path, "we") : NULL;
	for (unsigned long i = 0; f && i < count && i < MAX_LOGGED; i++)
		fprintf(f, "%u\n", callers[i]);
	if (f)
		fclose(f);
}

static void note_callers(unsigned long i)
{
	void *frames[DEPTH];
	uint32_t hash = 2166136261u;
	int n;

	is_within = 1;
	n = backtrace(frames, DEPTH);
	is_within = 0;
	for (int k = 0; k < n; k++)
		hash = (hash ^ (uint32_t)((uintptr_t)frames[k] >> 2)) * 16777619u;
	callers[i] = hash;
}

static int fails(void)
{
	unsigned long i;

	if (is_within || !(at || from || log_path))
		return 0;
	i = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (log_path && i <= MAX_LOGGED)
		note_callers(i - 1);
	if (i != at && !(from && i >= from))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
	*p = fails() ? NULL : __libc_memalign(alignment, size);
	return *p ? 0 : ENOMEM;
}
