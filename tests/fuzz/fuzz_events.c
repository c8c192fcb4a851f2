// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon's reader of the ring on arbitrary records. The input is a sequence of records: two bytes
 * of length, then that many bytes, or as many as are left. This file has its own check whether a
 * record is valid.
 */
#include <errno.h>
#include <stdbool.h>

#include <json-c/json.h>

#include "event/conn_map.h"
#include "cli/err.h"
#include "event/event.h"
#include "fuzz.h"
#include "watch/monitor.h"

#define MAX_RECORDS 64
#define NAME "a.name_of_15_ch"

/* The part of bbrmon stream's state that events change. */
struct reader {
	struct connections connections;
	__u64 events;
};

static unsigned long shorts, other_majors, other_tags, longer, kinds[BBR_EV_MAX];
static unsigned long rates, unlimited, unknown_modes, without_tail;

static void report(void)
{
	say_reached("short", shorts);
	say_reached("other major", other_majors);
	say_reached("other tag", other_tags);
	say_reached("longer", longer);
	for (int i = 0; i < BBR_EV_KINDS; i++)
		say_reached(event_kind_name(i), kinds[i]);
	say_reached("unknown kind", kinds[BBR_EV_KINDS]);
	say_reached("unknown mode", unknown_modes);
	say_reached("without a tail", without_tail);
	say_reached("delivery rate", rates);
	say_reached("no pacing rate", unlimited);
}

static struct origin origin = { .name = NAME, .id = 1 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	origin.algorithm = algorithms[0];
	stderr = fopen("/dev/null", "w"); /* for refusals; glibc allows the assignment */
	return stderr ? atexit(report) : -1;
}

static bool is_line(const char *s, size_t len)
{
	return len && strlen(s) == len && strchr(s, '\n') == s + len - 1;
}

static struct json_object *member(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *value;

	CHECK(json_object_object_get_ex(o, key, &value));
	CHECK(json_object_is_type(value, type));
	return value;
}

static void check_json(const char *line, size_t len, const struct bbr_event *e)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *o;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tokener, line, len);
	CHECK(o && json_tokener_get_error(tokener) == json_tokener_success);
	CHECK(json_tokener_get_parse_end(tokener) == len);
	CHECK(!strcmp(json_object_get_string(member(o, "instance", json_type_string)), NAME));
	CHECK(!strcmp(json_object_get_string(member(o, "event", json_type_string)),
		      event_kind_name(e->kind)));
	if (e->kind == BBR_EV_STATE) { /* of a snapshot, so without numbers */
		member(o, "seq", json_type_null);
		member(o, "conn", e->conn ? json_type_int : json_type_null);
	} else {
		CHECK(json_object_get_uint64(member(o, "seq", json_type_int)) == e->seq);
		CHECK(json_object_get_uint64(member(o, "conn", json_type_int)) == e->conn);
	}
	for (int i = 0; i < origin.algorithm->n_fields; i++)
		CHECK(json_object_object_get_ex(o, origin.algorithm->fields[i].key, NULL));
	CHECK(json_object_get_int64(member(o, "bw_bps", json_type_int)) >= 0);
	CHECK(json_object_get_double(member(o, "pacing_gain", json_type_double)) * 256 ==
	      e->pacing_gain);
	CHECK(json_object_object_get_ex(o, "from", NULL) == event_has_steps(e));
	/* Nothing that a record holds is negative. */
	json_object_object_foreach(o, key, value)
	{
		(void)key;
		if (json_object_is_type(value, json_type_int))
			CHECK(json_object_get_string(value)[0] != '-');
	}
	json_object_put(o);
	json_tokener_free(tokener);
}

static void print_json(const struct bbr_event *e)
{
	char *line;
	size_t len;
	FILE *out = open_memstream(&line, &len);

	CHECK(out);
	event_print_json(out, &origin, NULL, e);
	fclose(out);
	CHECK(is_line(line, len));
	check_json(line, len - 1, e);
	free(line);
}

/* The text has only printable characters, and colours only on request. */
static void print_text(const struct bbr_event *e, bool colour)
{
	struct text_style style = { .start_ns = 1000, .colour = colour };
	char *line;
	size_t len;
	FILE *out = open_memstream(&line, &len);

	CHECK(out);
	event_print_text(out, &style, &origin, e);
	fclose(out);
	CHECK(is_line(line, len));
	for (size_t i = 0; i < len - 1; i++)
		CHECK((line[i] >= ' ' && line[i] <= '~') || (colour && line[i] == '\033'));
	free(line);
}

/* A whole event has all that it must have, and 0 after its tail. */
static void check_whole(const struct bbr_event *e)
{
	const char *bytes = (const char *)e;

	CHECK(e->size >= BBR_EVENT_BASE && e->size <= sizeof(*e));
	for (size_t i = e->size; i < sizeof(*e); i++)
		CHECK(!bytes[i]);
	without_tail += e->size == BBR_EVENT_BASE;
}

static bool handle(void *ctx, const struct origin *from, const struct bbr_event *e)
{
	struct reader *r = ctx;

	check_whole(e);
	CHECK(!strcmp(from->name, NAME));
	r->events++;
	connections_note(&r->connections, e);
	print_json(e);
	print_text(e, false);
	print_text(e, true);

	kinds[e->kind < BBR_EV_KINDS ? e->kind : BBR_EV_KINDS]++;
	unknown_modes += e->mode >= origin.algorithm->n_modes;
	rates += event_has_rate(e);
	unlimited += e->pacing_rate == EVENT_UNLIMITED;
	return true;
}

static void read_record(struct monitor *m, const void *record, size_t size)
{
	struct reader *r = m->config.ctx;
	__u64 before = r->events;
	struct bbr_event e = {};
	bool read, refused;

	memcpy(&e, record, size < sizeof(e) ? size : sizeof(e));
	m->error = EXIT_DONE;
	refused = monitor_take_record(m, (void *)record, size) == -EPROTO;
	read = r->events != before;
	CHECK(m->error == (refused ? EXIT_REFUSED : EXIT_DONE));
	CHECK(r->events - before <= 1 && !(read && refused));

	if (size < 4 ||
	    (e.major == BBR_ABI_MAJOR && (size < BBR_EVENT_BASE || e.size < BBR_EVENT_BASE))) {
		CHECK(refused);
		shorts++;
	} else if (e.major != BBR_ABI_MAJOR) {
		CHECK(refused);
		other_majors++;
	} else if (e.size > size) {
		CHECK(refused);
		shorts++;
	} else {
		CHECK(!refused && read == (e.tag == m->subs[0].origin.id));
		other_tags += !read;
		longer += size > sizeof(e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct monitor m;
	struct input in = { data, size };
	struct reader r = {};

	memset(&m, 0, sizeof(m));
	m.config.handle = handle;
	m.config.ctx = &r;
	m.batch = 2 * MAX_RECORDS;
	m.n_subs = 1;
	m.subs[0].origin = origin;
	for (int i = 0; i < MAX_RECORDS && in.left; i++) {
		uint16_t len;
		void *record;

		input_take(&in, &len, sizeof(len));
		if (len > in.left)
			len = in.left;
		/* Exactly this size, so that the sanitizer sees reads past the end. */
		record = malloc(len);
		CHECK(record);
		input_take(&in, record, len);
		read_record(&m, record, len);
		free(record);
	}
	CHECK(counters_received(&m.subs[0].now) == r.events);
	CHECK(r.connections.seen <= r.events);
	conn_map_free(&r.connections.live);
	return 0;
}
