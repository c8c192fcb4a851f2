// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a small recording out of large ones of the same kernel:
 *
 *	select MOST OUT RECORDING...
 *
 * Takes the first MOST callbacks of each way through the algorithm (path.h). Prints how many ways and
 * callbacks there are, as JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mainline.h"
#include "path.h"

#define SLOTS (1 << 20)

static struct {
	u64 path;
	unsigned int taken;
} ways[SLOTS];

static unsigned int way_count;

static void fail(const char *path, const char *why)
{
	fprintf(stderr, "select: %s: %s\n", path, why);
	exit(1);
}

/* How many callbacks of this way were taken before. */
static unsigned int *taken_of(u64 path)
{
	unsigned int slot = path % SLOTS;

	while (ways[slot].taken && ways[slot].path != path)
		slot = (slot + 1) % SLOTS;
	if (!ways[slot].taken) {
		ways[slot].path = path;
		if (++way_count > SLOTS / 2)
			fail("table of ways", "full");
	}
	return &ways[slot].taken;
}

struct selection {
	unsigned int most, sockets; /* sockets: in the files before this one */
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
		struct replay r;
		unsigned int *taken;

		mainline_load(&layout, &cb, cb.jiffies[0], &r);
		taken = taken_of(path_of(&r, &params));
		last = socket > last ? socket : last;
		s->callbacks++;
		if (*taken == s->most)
			continue;
		++*taken;
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
	printf("{\"release\":\"%s\",\"callbacks\":%llu,\"ways\":%u,\"selected\":%llu}\n",
	       s.header.release, s.callbacks, way_count, sum);
	return 0;
}
