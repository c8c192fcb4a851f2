// SPDX-License-Identifier: GPL-2.0-only
#include "v3r_write.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const struct v3r_writer *w, const char *why)
{
	fprintf(stderr, "%s: %s\n", w->path, why);
	exit(2);
}

/* Compresses `size` bytes, and at the end of a frame all that is left of it. */
static void compress(struct v3r_writer *w, FILE *to, const void *data, size_t size,
		     ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { .src = data, .size = size };
	char buffer[1 << 16];
	size_t left;

	do {
		ZSTD_outBuffer out = { .dst = buffer, .size = sizeof(buffer) };

		left = ZSTD_compressStream2(w->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			fail(w, ZSTD_getErrorName(left));
		if (fwrite(buffer, 1, out.pos, to) != out.pos)
			fail(w, strerror(errno));
	} while (in.pos < in.size || (end == ZSTD_e_end && left));
}

void v3r_create(struct v3r_writer *w, const char *path)
{
	*w = (struct v3r_writer){ .path = path, .zstd = ZSTD_createCStream() };
	snprintf(w->records_path, sizeof(w->records_path), "%s.records", path);
	w->records = fopen(w->records_path, "w+b");
	if (!w->records || !w->zstd)
		fail(w, strerror(errno));
}

void v3r_write(struct v3r_writer *w, const struct record *record)
{
	compress(w, w->records, record, sizeof(*record), ZSTD_e_continue);
}

static void copy(struct v3r_writer *w, FILE *from, FILE *to)
{
	char buffer[1 << 16];
	size_t size;

	while ((size = fread(buffer, 1, sizeof(buffer), from)) > 0)
		if (fwrite(buffer, 1, size, to) != size)
			fail(w, strerror(errno));
	if (ferror(from))
		fail(w, strerror(errno));
}

void v3r_finish(struct v3r_writer *w, struct json_object *header)
{
	const char *line = json_object_to_json_string_ext(header, JSON_C_TO_STRING_PLAIN);
	FILE *out = fopen(w->path, "wb");

	if (!out)
		fail(w, strerror(errno));
	compress(w, w->records, NULL, 0, ZSTD_e_end);
	compress(w, out, line, strlen(line), ZSTD_e_continue);
	compress(w, out, "\n", 1, ZSTD_e_end);
	rewind(w->records);
	copy(w, w->records, out);
	if (fclose(out) || fclose(w->records) || unlink(w->records_path))
		fail(w, strerror(errno));
	ZSTD_freeCStream(w->zstd);
}
