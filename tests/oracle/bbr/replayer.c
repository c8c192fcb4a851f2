// SPDX-License-Identifier: GPL-2.0-only
/*
 * The replayer of BBR version 1: recordings of the kernel's own (stream.h), compared by mainline.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mainline.h"

static const char *const kinds[] = CALLBACK_NAMES;

struct recording {
	struct layout layout;
	struct stream in;
};

static void *open_recording(const char *path, void *params)
{
	struct recording *r = calloc(1, sizeof(*r));
	const char *field;
	struct header h;

	if (!r) {
		fprintf(stderr, "%s: no memory\n", path);
		exit(2);
	}
	stream_open(&r->in, path, &h);
	field = layout_init(&r->layout, &h);
	if (field) {
		fprintf(stderr,
			"%s: the algorithm and the kernel's struct bbr do not share field %s\n",
			path, field);
		exit(2);
	}
	*(struct bbr_params *)params = mainline_params(h.hz);
	return r;
}

static bool read_callback(void *recording, void *callback)
{
	unsigned int socket;

	return stream_read(&((struct recording *)recording)->in, &socket, callback);
}

static void close_recording(void *recording, const __u64 *seen)
{
	struct recording *r = recording;
	__u64 calls[CALLBACK_KINDS];

	stream_calls(&r->in, calls);
	if (memcmp(calls, seen, sizeof(calls))) {
		fprintf(stderr, "%s: is not complete\n", r->in.path);
		exit(2);
	}
	stream_close(&r->in);
	free(r);
}

static unsigned int kind_of(const void *callback, __u32 *arg)
{
	const struct callback *cb = callback;

	*arg = cb->arg;
	return cb->kind;
}

static bool is_ticked(const void *callback)
{
	const struct callback *cb = callback;

	return cb->jiffies[0] != cb->jiffies[1];
}

static void load(void *recording, const void *callback, bool after, void *replay)
{
	const struct callback *cb = callback;

	mainline_load(&((struct recording *)recording)->layout, cb, cb->jiffies[after], replay);
}

static void run(void *replay, const void *params)
{
	replay_callback(replay, params);
}

static int compare(void *recording, const void *callback, const void *replay,
		   on_difference_fn *on_difference)
{
	return mainline_compare(&((struct recording *)recording)->layout, callback, replay,
				on_difference);
}

const struct replayer replayer_bbr = {
	.name = "bbr",
	.kinds = kinds,
	.n_kinds = CALLBACK_KINDS,
	.callback_size = sizeof(struct callback),
	.replay_size = sizeof(struct replay),
	.params_size = sizeof(struct bbr_params),
	.open = open_recording,
	.read = read_callback,
	.close = close_recording,
	.kind = kind_of,
	.is_ticked = is_ticked,
	.load = load,
	.run = run,
	.compare = compare,
};
