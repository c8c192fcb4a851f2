/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which capabilities (capabilities(7)) each verb needs, in one table. All others, root's too, are given
 * up before anything but the command line was read.
 */
#ifndef TOOLS_PRIVILEGES_H
#define TOOLS_PRIVILEGES_H

#include <linux/types.h>

struct privileges {
	__u64 needs; /* refused without them */
	__u64 may; /* kept where they are there */
	__u64 spares; /* not needed with the options that were given */
	__u64 more; /* needed by these options */
};

/* Of a verb, before its options were looked at. */
struct privileges privileges_of(const char *verb);

/* What changes with one of its options. */
void privileges_change(struct privileges *p, const char *verb, const char *option);

/* Gives up all but these, for good; EXIT_REFUSED after printing what is missing. */
int privileges_take(const char *verb, const struct privileges *p);

/* Keeps no more than these of them: for a child. */
void privileges_narrow(__u64 caps);

/* For --help: what a verb needs, and what one of its options changes. */
void privileges_print(const char *verb);
void privileges_print_option(const char *verb, const char *option);

#endif
