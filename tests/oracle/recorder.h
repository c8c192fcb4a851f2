/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What record.c needs from an algorithm: which functions of the kernel are its callbacks, and how
 * to write its recordings. To record.c a record is only bytes.
 */
#ifndef ORACLE_RECORDER_H
#define ORACLE_RECORDER_H

#include <bpf/btf.h>
#include <linux/types.h>

#include "recorded.h"

/* A callback of the kernel's BBR. Several may be of one kind. */
struct callback_function {
	const char *name;
	unsigned int kind;
};

/* The kernel that a recording is from. */
struct recorded_kernel {
	const struct btf *btf; /* the types of its module */
	const struct btf *programs; /* those of our programs: the layout of a record */
	const char *release; /* uname -r */
	unsigned int hz; /* jiffies per second */
	const char *about; /* a file with the caller's JSON object; NULL: none */
};

/* How many callbacks there were, by kind. */
struct totals {
	__u64 calls[MAX_KINDS], recorded[MAX_KINDS], omitted[MAX_KINDS];
	__u64 missing; /* of all kinds: neither recorded nor omitted */
};

struct recorder {
	const char *name; /* of the algorithm */
	const char *const *kinds; /* names of its callbacks */
	unsigned int n_kinds;
	const struct callback_function *functions;
	unsigned int n_functions;

	/* All of these end the program with a message if the file cannot be written. */
	void (*create)(const char *path, const struct recorded_kernel *kernel);
	void (*write)(__u64 socket, const void *record); /* socket: its address */
	void (*finish)(const struct totals *totals);
};

extern const struct recorder recorder_bbr, recorder_bbr3;

/* Prints what failed, with the message of errno, and exits. */
_Noreturn void record_die(const char *what);

#endif
