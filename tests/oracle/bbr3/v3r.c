// SPDX-License-Identifier: GPL-2.0-only
#include "v3r.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_LOG_MAX 27 /* 128 MiB */
#define HEADER_MAX (1 << 20)

static const char *const kind_names[] = KIND_NAMES;

static void fail(const struct v3r *r, const char *why)
{
	fprintf(stderr, "%s: %s\n", r->path, why);
	exit(2);
}

/* Reads `size` bytes, or fewer at the end of the file. Returns how many. */
static size_t read_bytes(struct v3r *r, void *to, size_t size)
{
	ZSTD_outBuffer out = { .dst = to, .size = size };

	while (out.pos < size) {
		size_t before = out.pos;

		if (r->in.pos == r->in.size) {
			r->in.size = fread(r->input, 1, sizeof(r->input), r->file);
			r->in.pos = 0;
			if (ferror(r->file))
				fail(r, strerror(errno));
		}
		if (!r->in.size && !r->hint)
			break;
		r->hint = ZSTD_decompressStream(r->zstd, &out, &r->in);
		if (ZSTD_isError(r->hint))
			fail(r, ZSTD_getErrorName(r->hint));
		if (!r->in.size && out.pos == before)
			fail(r, "ends too early");
	}
	return out.pos;
}

static struct json_object *read_header(struct v3r *r)
{
	static char line[HEADER_MAX];
	struct json_object *header;
	size_t size = 0;

	do {
		if (size == sizeof(line) - 1 || !read_bytes(r, &line[size], 1))
			fail(r, "is not a recording: it has no header");
	} while (line[size++] != '\n');
	line[size] = 0;
	header = json_tokener_parse(line);
	if (!header)
		fail(r, "is not a recording: its header is no JSON");
	return header;
}

static struct json_object *member(const struct v3r *r, struct json_object *of, const char *name)
{
	struct json_object *found;

	if (!json_object_object_get_ex(of, name, &found) || !found)
		fail(r, "has a bad header");
	return found;
}

void v3r_open(struct v3r *r, const char *path)
{
	struct json_object *header, *recorded;

	*r = (struct v3r){ .path = path, .file = fopen(path, "rb"), .zstd = ZSTD_createDStream() };
	if (!r->file || !r->zstd)
		fail(r, strerror(errno));
	r->in.src = r->input;
	ZSTD_DCtx_setParameter(r->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);

	header = read_header(r);
	if (strcmp(json_object_get_string(member(r, header, "format")), V3R_FORMAT) ||
	    json_object_get_int(member(r, header, "record_size")) != sizeof(struct record))
		fail(r, "is not a recording of this version");
	r->hz = json_object_get_int(member(r, header, "hz"));
	if (!r->hz || r->hz > 10000)
		fail(r, "has a bad header");
	recorded = member(r, header, "recorded");
	for (int i = 0; i < KINDS; i++)
		r->recorded[i] = json_object_get_int64(member(r, recorded, kind_names[i]));
	json_object_put(header);
}

bool v3r_read(struct v3r *r, struct record *record)
{
	size_t size = read_bytes(r, record, sizeof(*record));

	if (!size)
		return false;
	if (size < sizeof(*record))
		fail(r, "ends too early");
	if (record->kind >= KINDS)
		fail(r, "is damaged");
	return true;
}

void v3r_close(struct v3r *r, const __u64 seen[KINDS])
{
	if (memcmp(r->recorded, seen, sizeof(r->recorded)))
		fail(r, "is not complete");
	ZSTD_freeDStream(r->zstd);
	fclose(r->file);
}
