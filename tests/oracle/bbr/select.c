// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a small recording from large ones of the same kernel:
 *
 *	select MOST OUT RECORDING...
 *
 * Takes the first MOST callbacks of each key (path.h): a path through the algorithm, or a
 * comparison of nearly equal values. Prints as JSON how many keys and callbacks there are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mainline.h"
#include "path.h"

#define SLOTS (1 << 20)

static struct {
	u64 key;
	unsigned int taken;
} slots[SLOTS];

static unsigned int key_count;

static void fail(const char *path, const char *why)
{
	fprintf(stderr, "select: %s: %s\n", path, why);
	exit(1);
}

/* Where the number of callbacks taken so far with this key is counted. */
static unsigned int *taken_of(u64 key)
{
	unsigned int slot = key % SLOTS;

	while (slots[slot].taken && slots[slot].key != key)
		slot = (slot + 1) % SLOTS;
	slots[slot].key = key;
	return &slots[slot].taken;
}

/* True if a key is still wanted. Then the callback counts for all of its keys. */
static bool take(const u64 *keys, unsigned int count, unsigned int most)
{
	bool wanted = false;

	for (unsigned int i = 0; i < count && !wanted; i++)
		wanted = *taken_of(keys[i]) < most;
	for (unsigned int i = 0; i < count && wanted; i++)
		if (!(*taken_of(keys[i]))++ && ++key_count > SLOTS / 2)
			fail("table of keys", "full");
	return wanted;
}

struct selection {
	unsigned int most, sockets; /* sockets: those of the files before this one */
	struct header header;
	struct stream out;
	__u64 taken[CALLBACK_KINDS], callbacks;
};

static void select_from(struct selection *s, const char *path)
{
	unsigned int socket, last = 0;
	struct bbr_params params;
	struct layout layout;
	struct callback cb;
	struct stream in;
	struct header h;

	stream_open(&in, path, &h);
	if (memcmp(&h, &s->header, sizeof(h)))
		fail(path, "is not of the same kernel as the first one");
	if (layout_init(&layout, &h))
		fail(path, "has another struct bbr");
	params = mainline_params(h.hz);
	while (stream_read(&in, &socket, &cb)) {
		u64 keys[MAX_KEYS];
		struct replay r;

		mainline_load(&layout, &cb, cb.jiffies[0], &r);
		last = socket > last ? socket : last;
		s->callbacks++;
		if (!take(keys, path_of(&r, &params, keys), s->most))
			continue;
		s->taken[cb.kind]++;
		stream_write(&s->out, s->sockets + socket, &cb);
	}
	s->sockets += last;
	stream_close(&in);
}

int main(int argc, char **argv)
{
	static struct selection s;
	struct stream first;
	__u64 sum = 0;

	if (argc < 4 || atoi(argv[1]) < 1) {
		fputs("usage: select MOST OUT RECORDING...\n", stderr);
		return 1;
	}
	s.most = atoi(argv[1]);
	stream_open(&first, argv[3], &s.header);
	gzclose(first.file);
	stream_create(&s.out, argv[2], &s.header, Z_BEST_COMPRESSION);
	for (int i = 3; i < argc; i++)
		select_from(&s, argv[i]);
	stream_finish(&s.out, s.taken);
	for (int i = 0; i < CALLBACK_KINDS; i++)
		sum += s.taken[i];
	printf("{\"release\":\"%s\",\"callbacks\":%llu,\"keys\":%u,\"selected\":%llu}\n",
	       s.header.release, s.callbacks, key_count, sum);
	return 0;
}
