/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What replay.c has to know of an algorithm: how its recordings are read, and how a callback of one is given to the
 * algorithm and compared. Callbacks, what is replayed of them (struct replay) and parameters are bytes to replay.c.
 *
 * All of these end the program with a message if the file cannot be read, or is damaged.
 */
#ifndef ORACLE_REPLAYER_H
#define ORACLE_REPLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "recorded.h"

typedef void on_difference_fn(const char *name, __u64 kernel, __u64 ours);

struct replayer {
	const char *name; /* of the algorithm */
	const char *const *kinds; /* names of its callbacks */
	unsigned int n_kinds;
	size_t callback_size, replay_size, params_size; /* bytes */

	/* Begins to read a file. Returns what the others are given, and sets the parameters to replay it with. */
	void *(*open)(const char *path, void *params);
	/* The next callback; false at the end. */
	bool (*read)(void *recording, void *callback);
	/* All were read, so many of each kind. Are they what was recorded? Frees the recording. */
	void (*close)(void *recording, const __u64 *seen);

	/* What it was: returns the kind, sets its argument. */
	unsigned int (*kind)(const void *callback, __u32 *arg);
	/* Did a jiffy pass in mid-callback? */
	bool (*is_ticked)(const void *callback);
	/* The callback as the algorithm takes it, with the clock as before or after it. */
	void (*load)(void *recording, const void *callback, bool after, void *replay);
	/* Runs it. */
	void (*run)(void *replay, const void *params);
	/* Returns how many values differ from the kernel's. Tells of each, unless on_difference is NULL. */
	int (*compare)(void *recording, const void *callback, const void *replay,
		       on_difference_fn *on_difference);
};

extern const struct replayer replayer_bbr, replayer_bbr3;

#endif
