/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which capabilities (capabilities(7)) a verb needs. The program gives up all others for good, even
 * as root, before it reads anything but the command line; and all of them before it reads what
 * somebody else may have written.
 */
#ifndef LIB_PRIVILEGES_H
#define LIB_PRIVILEGES_H

#include <linux/types.h>
#include <sys/capability.h>

#define PRIVILEGES_ALL (~0ull)

/* How an option changes what its verb needs. */
struct privileges_change {
	const char *option; /* without its --; NULL ends a list */
	__u64 spares; /* not needed with it */
	__u64 more; /* needed with it */
	__u64 may; /* also kept if the process has them */
};

struct privileges {
	__u64 needs; /* the verb is refused without them */
	__u64 may; /* kept if the process has them */
	const struct privileges_change *changes; /* NULL: none */
};

/* NEEDS(capabilities, other members...) */
#define NEEDS(caps, ...) { .needs = (caps), ##__VA_ARGS__ }

/* Begins with the privileges of a verb, before its command line is read. */
void privileges_begin(const char *verb, const struct privileges *of_verb);

/* Notes that one of its options was given. */
void privileges_add_option(const char *option);

/*
 * Gives up all that the verb may not have, for good: no program that this one starts can get them
 * either. Returns EXIT_DONE, or EXIT_REFUSED after printing why.
 */
int privileges_give_up(void);

/* The same, and refuses, by printing what is missing, if the verb needs more than it has. */
int privileges_take(void);

/* Keeps at most these capabilities. Readers of files that anybody may have made keep none. */
void privileges_narrow(__u64 caps);

/*
 * Looks at what may be damaged or hostile in a child process that has no capability. It gets only
 * file descriptors below `descriptors` + 1, and where the kernel has Landlock it opens no file even
 * with those. Returns the exit status that `look` returns; if the child dies, prints one message
 * about `what` and returns EXIT_REFUSED.
 */
int privileges_aside(const char *what, unsigned int descriptors, int (*look)(void *ctx), void *ctx);

/* For --help: what a verb needs, and what one of its options changes. */
void privileges_print(const struct privileges *of_verb);
void privileges_print_option(const struct privileges *of_verb, const char *option);

/* Sets of capabilities: CAP(BPF) | CAP(SYS_ADMIN). */
#define CAP(name) (1ull << CAP_##name)

/* Those of this process: CAP_EFFECTIVE, in force now, or CAP_PERMITTED, which it may take. */
__u64 caps_of_process(cap_flag_t set);

#endif
