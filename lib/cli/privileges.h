/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which capabilities (capabilities(7)) a verb needs, from one table for each program. The program
 * gives up all others, even as root, before it reads anything but the command line.
 */
#ifndef LIB_PRIVILEGES_H
#define LIB_PRIVILEGES_H

#include <linux/types.h>

#define PRIVILEGES_ALL (~0ull)

struct privileges {
	__u64 needs; /* the verb is refused without them */
	__u64 may; /* kept if the process has them */
	__u64 spares; /* not needed with the options that were given */
	__u64 more; /* needed with these options */
};

/* A line for each verb, and for each option that changes what it needs. */
struct privileges_of {
	const char *verb; /* NULL: any */
	const char *option; /* NULL: the verb itself */
	struct privileges is;
};

/*
 * Begins with the privileges of a verb, before its command line is read. A line with neither a verb
 * nor an option ends the table.
 */
void privileges_begin(const struct privileges_of *table, const char *verb);

/* Notes that one of its options was given. */
void privileges_add_option(const char *option);

/*
 * Gives up all others, for good. Returns EXIT_DONE, or EXIT_REFUSED after printing what is missing.
 * A second call has no effect.
 */
int privileges_take(void);

/* Keeps at most these capabilities; for a child process. */
void privileges_narrow(__u64 caps);

/* For --help: what the verb needs, and what one of its options changes. */
void privileges_print(void);
void privileges_print_option(const char *option);

#endif
