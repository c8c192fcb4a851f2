/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which capabilities (capabilities(7)) a verb needs, from one table for each program. All others, root's too, are
 * given up before anything but the command line was read.
 */
#ifndef LIB_PRIVILEGES_H
#define LIB_PRIVILEGES_H

#include <linux/types.h>

#define PRIVILEGES_ALL (~0ull)

struct privileges {
	__u64 needs; /* refused without them */
	__u64 may; /* kept where they are there */
	__u64 spares; /* not needed with the options that were given */
	__u64 more; /* needed by these options */
};

/* A line for each verb, and for each option that changes what it needs. */
struct privileges_of {
	const char *verb; /* NULL: any */
	const char *option; /* NULL: the verb itself */
	struct privileges is;
};

/* Those of a verb whose command line is to be read; the table ends with a line of neither verb nor option. */
void privileges_begin(const struct privileges_of *table, const char *verb);

/* One of its options was given. */
void privileges_add_option(const char *option);

/*
 * Gives up all but these, for good. EXIT_DONE, or EXIT_REFUSED after printing what is missing. Once it was done it
 * has no effect.
 */
int privileges_take(void);

/* Keeps no more than these of them: for a child. */
void privileges_narrow(__u64 caps);

/* For --help: what the verb needs, and what one of its options changes. */
void privileges_print(void);
void privileges_print_option(const char *option);

#endif
