// SPDX-License-Identifier: GPL-2.0-only
#include "stream.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "bpf-bbr recording 1"
#define BUFFER (256 << 10)
#define MAX_SOCKETS (1 << 20)
#define BITMAP ((WORDS + 7) / 8)

#define RS_FIRST offsetof(struct callback, rs_interval_us)
#define RS_SIZE (offsetof(struct callback, before) - RS_FIRST)

_Static_assert(sizeof(struct callback) % 4 == 0, "callbacks are written in words of 32 bits");

static void fail(const struct stream *s, const char *why)
{
	int error;
	const char *zlib = s->file ? gzerror(s->file, &error) : strerror(errno);

	fprintf(stderr, "%s: %s%s%s\n", s->path, why, *zlib ? ": " : "", zlib);
	exit(2);
}

/* The socket's last callback; zeros if there was none. */
static struct callback *last_of(struct stream *s, unsigned int socket)
{
	if (socket >= MAX_SOCKETS)
		fail(s, "the number of a socket is out of range");
	if (socket >= s->sockets) {
		unsigned int sockets = socket * 2;

		s->last = realloc(s->last, sockets * sizeof(*s->last));
		if (!s->last)
			fail(s, "no memory");
		memset(s->last + s->sockets, 0, (sockets - s->sockets) * sizeof(*s->last));
		s->sockets = sockets;
	}
	return &s->last[socket];
}

/* The expectation before the callback is known: nothing has happened since the last one. */
static struct callback expected_after(const struct callback *last)
{
	struct callback expected = *last;

	expected.before = last->after;
	expected.before.returned = 0;
	return expected;
}

/*
 * The expectation once all before `after` is known: the callback changes nothing, and returns what
 * the last one did.
 */
static void expect_no_change(struct callback *expected, const struct callback *cb)
{
	__u32 returned = expected->after.returned;

	expected->after = cb->before;
	expected->after.returned = returned;
}

static unsigned char *put_varint(unsigned char *at, __u64 value)
{
	while (value >= 0x80) {
		*at++ = value | 0x80;
		value >>= 7;
	}
	*at++ = value;
	return at;
}

static void put(struct stream *s, const void *data, size_t size)
{
	if (gzwrite(s->file, data, size) != (int)size)
		fail(s, "cannot be written");
}

void stream_create(struct stream *s, const char *path, const struct header *h, int level)
{
	*s = (struct stream){ .path = path, .file = gzopen(path, "wb") };
	if (!s->file)
		fail(s, "cannot be created");
	gzbuffer(s->file, BUFFER);
	gzsetparams(s->file, level, Z_DEFAULT_STRATEGY);
	gzprintf(s->file, "%s\nrelease %s\nhz %u\n", MAGIC, h->release, h->hz);
	for (unsigned int i = 0; i < h->fields; i++)
		gzprintf(s->file, "field %s %u %u\n", h->field[i].name, h->field[i].offset,
			 h->field[i].bits);
	put(s, "\n", 1);
}

void stream_write(struct stream *s, unsigned int socket, const struct callback *from)
{
	struct callback *last = last_of(s, socket), expected = expected_after(last), cb = *from;
	unsigned char out[5 + BITMAP + 5 * WORDS] = {}, *bitmap, *at;
	const __u32 *want = (__u32 *)&expected, *have = (__u32 *)&cb;

	/*
	 * Only cong_control has a rate sample. Keep that of the last one, to compare the next one
	 * with.
	 */
	if (cb.kind != CB_CONG_CONTROL)
		memcpy((char *)&cb + RS_FIRST, (char *)last + RS_FIRST, RS_SIZE);
	expect_no_change(&expected, &cb);
	bitmap = put_varint(out, socket);
	at = bitmap + BITMAP;
	for (unsigned int i = 0; i < WORDS; i++) {
		__s32 delta = have[i] - want[i];

		if (!delta)
			continue;
		bitmap[i / 8] |= 1 << i % 8;
		at = put_varint(at, (__u32)delta << 1 ^ (__u32)(delta >> 31));
	}
	put(s, out, at - out);
	*last = cb;
}

void stream_finish(struct stream *s, const __u64 calls[CALLBACK_KINDS])
{
	unsigned char out[1 + 10 * CALLBACK_KINDS] = {}, *at = out + 1;

	for (int i = 0; i < CALLBACK_KINDS; i++)
		at = put_varint(at, calls[i]);
	put(s, out, at - out);
	if (gzclose(s->file) != Z_OK) {
		s->file = NULL;
		fail(s, "cannot be written");
	}
	free(s->last);
}

static int get_byte(struct stream *s)
{
	int c = gzgetc(s->file);

	if (c < 0)
		fail(s, "ends too early");
	return c;
}

static __u64 get_varint(struct stream *s)
{
	__u64 value = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		int c = get_byte(s);

		value |= (__u64)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return value;
	}
	fail(s, "is damaged");
	return 0;
}

static void get_line(struct stream *s, char *line, size_t size)
{
	if (!gzgets(s->file, line, size) || !strchr(line, '\n'))
		fail(s, "is not a recording");
	*strchr(line, '\n') = 0;
}

void stream_open(struct stream *s, const char *path, struct header *h)
{
	char line[128];

	*s = (struct stream){ .path = path, .file = gzopen(path, "rb") };
	*h = (struct header){};
	if (!s->file)
		fail(s, "cannot be opened");
	gzbuffer(s->file, BUFFER);
	get_line(s, line, sizeof(line));
	if (strcmp(line, MAGIC))
		fail(s, "is not a recording of this version");
	for (get_line(s, line, sizeof(line)); *line; get_line(s, line, sizeof(line))) {
		struct field *f = &h->field[h->fields];

		if (sscanf(line, "release %63s", h->release) == 1 ||
		    sscanf(line, "hz %u", &h->hz) == 1)
			continue;
		if (h->fields == MAX_FIELDS ||
		    sscanf(line, "field %31s %u %u", f->name, &f->offset, &f->bits) != 3 ||
		    f->offset + f->bits > 8 * CA_PRIV_SIZE)
			fail(s, "has a bad header");
		h->fields++;
	}
	if (!h->hz || h->hz > 10000)
		fail(s, "has a bad header");
}

bool stream_read(struct stream *s, unsigned int *socket, struct callback *cb)
{
	struct callback *last, expected;
	unsigned char bitmap[BITMAP];
	const __u32 *want = (__u32 *)&expected;
	__u32 *have = (__u32 *)cb;
	bool is_after = false;

	*socket = get_varint(s);
	if (!*socket)
		return false;
	last = last_of(s, *socket);
	expected = expected_after(last);
	for (unsigned int i = 0; i < BITMAP; i++)
		bitmap[i] = get_byte(s);
	for (unsigned int i = 0; i < WORDS; i++) {
		__u32 code = 0;

		if (!is_after && i * 4 >= offsetof(struct callback, after)) {
			expect_no_change(&expected, cb);
			is_after = true;
		}
		if (bitmap[i / 8] & (1 << i % 8))
			code = get_varint(s);
		have[i] = want[i] + (code >> 1 ^ -(code & 1));
	}
	if (cb->kind >= CALLBACK_KINDS)
		fail(s, "is damaged");
	*last = *cb;
	if (cb->kind != CB_CONG_CONTROL)
		memset((char *)cb + RS_FIRST, 0, RS_SIZE);
	return true;
}

void stream_calls(struct stream *s, __u64 calls[CALLBACK_KINDS])
{
	for (int i = 0; i < CALLBACK_KINDS; i++)
		calls[i] = get_varint(s);
	if (gzgetc(s->file) >= 0)
		fail(s, "goes on behind its end");
}

void stream_close(struct stream *s)
{
	if (gzclose(s->file) != Z_OK) {
		s->file = NULL;
		fail(s, "is damaged");
	}
	free(s->last);
}
