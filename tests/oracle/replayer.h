/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What replay.c needs from an algorithm: how to read its recordings, and how to give a callback to
 * the algorithm and compare it. To replay.c callbacks, what is replayed of them (struct replay) and
 * parameters are only bytes.
 *
 * All of these functions end the program with a message if the file cannot be read, or is damaged.
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

	/*
	 * Opens a file. Returns the recording, for the other functions, and sets the parameters to
	 * replay it with.
	 */
	void *(*open)(const char *path, void *params);
	/* Reads the next callback; false at the end. */
	bool (*read)(void *recording, void *callback);
	/*
	 * All callbacks were read: `seen` of each kind. Ends the program if others were recorded.
	 * Frees the recording.
	 */
	void (*close)(void *recording, const __u64 *seen);

	/* Returns the kind of a callback, and sets its argument. */
	unsigned int (*kind)(const void *callback, __u32 *arg);
	/* True if a jiffy passed during the callback. */
	bool (*is_ticked)(const void *callback);
	/* Converts the callback to the algorithm's form, with the clock from before or after it. */
	void (*load)(void *recording, const void *callback, bool after, void *replay);
	/* Runs it. */
	void (*run)(void *replay, const void *params);
	/*
	 * Returns how many values differ from the kernel's. Reports each, unless on_difference is
	 * NULL.
	 */
	int (*compare)(void *recording, const void *callback, const void *replay,
		       on_difference_fn *on_difference);
};

extern const struct replayer replayer_bbr, replayer_bbr3;

#endif
