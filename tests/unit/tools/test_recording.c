/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recordings of any algorithm, whole or cut off: what is written is read back, even what the tools
 * do not know.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../capture.h"
#include "cli/err.h"
#include "event/conn_map.h"
#include "layout/layout.h"
#include "recording/reader.h"
#include "recording/replay.h"
#include "recording/writer.h"
#include "snapshot/snapshot.h"

#define MANY 100 /* fields */
#define EVENTS 1000
#define EACH 200 /* in a chunk */
#define CONNS 7

/* An algorithm that no tool knows: a hundred fields, of each width and unit. */
static struct field many_fields[MANY];
static char many_keys[MANY][24];
static const char *const colours[] = { "red", "green" };
static const char *const phases[] = { "up", "down" };
static const struct algorithm_mode many_modes[] = {
	{ .name = "WAIT" }, { .name = "GO", .phases = phases, .n_phases = 2 }
};
static const char *const many_reasons[] = { "bored", "late" };

static const struct algorithm many = {
	.name = "many",
	.instance = "bpf_many",
	.title = "an algorithm with a hundred fields",
	.modes = many_modes,
	.n_modes = 2,
	.reasons = many_reasons,
	.n_reasons = 2,
	.fields = many_fields,
	.n_fields = MANY,
	.tail_size = BBR_EVENT_TAIL_MAX,
};

static void fill_many(void)
{
	for (int i = 0; i < MANY; i++) {
		struct field *f = &many_fields[i];

		snprintf(many_keys[i], sizeof(many_keys[i]), "field_%d", i);
		*f = (struct field){ .key = many_keys[i], .width = 1, .unit = FIELD_COUNT };
		f->offset = BBR_EVENT_BASE + i % BBR_EVENT_TAIL_MAX;
	}
	many_fields[0].offset = BBR_EVENT_BASE; /* overlaps the next seven */
	many_fields[0].width = 8;
	many_fields[1] = (struct field){ .key = "mode", FIELD_AT(mode), .unit = FIELD_COUNT };
	many_fields[2].unit = FIELD_FLAG;
	many_fields[2].mask = 4;
	many_fields[2].text = " %two";
	many_fields[2].order = 33;
	many_fields[2].text_if = (struct field_condition){ "field_3", 7 };
	many_fields[3].unit = FIELD_NAME;
	many_fields[3].names = colours;
	many_fields[3].n_names = 2;
	many_fields[4].has_unknown = true;
	many_fields[4].unknown = 255;
	many_fields[4].needs = BBR_F_SAMPLE;
	many_fields[5].lane = LANE_RTT;
	many_fields[5].curve = "five";
	many_fields[46].width = 4; /* in two words of 8 bytes, where no other field is */
	for (int i = 47; i < 50; i++)
		many_fields[i].offset = BBR_EVENT_BASE + 50;
}

/* ---- events */

static __u64 seed;

static __u64 chance(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

/* The tail of a later minor is longer than the algorithm's fields, and is kept. */
static struct bbr_event an_event(unsigned int i, const struct bbr_event *before)
{
	struct bbr_event e = *before;

	for (int n = chance() % 5; n >= 0; n--)
		((__u8 *)&e)[chance() % sizeof(e)] = chance();
	e.size = BBR_EVENT_BASE + chance() % (BBR_EVENT_TAIL_MAX + 1);
	e.major = BBR_ABI_MAJOR;
	e.conn = chance() % CONNS;
	e.seq = i;
	e.time_ns = 1000000000ull + i * 1000000ull;
	return e;
}

struct made {
	struct bbr_event events[EVENTS];
	bool is_many[EVENTS];
};

static const struct origin origins[] = {
	{ .name = "known", .id = 3 },
	{ .name = "unknown", .id = 4, .algorithm = &many },
};

static struct made made;
static __u8 file[4 << 20];
static size_t file_size;

static int memory_file(void)
{
	int fd = memfd_create("recording", 0);

	assert_true(fd >= 0);
	return fd;
}

/* A chunk ends after every `each` events. */
static void write_made(int fd, int each)
{
	static const struct recording_run run = { .id = 1, .sampling = BBR_SAMPLE_ACK };
	struct recording_writer *w = recording_writer_new();
	struct watch_totals totals = {};
	struct origin known = origins[0];

	known.algorithm = algorithms[0];
	memset(&made, 0, sizeof(made));
	recording_writer_file(w, fd, "file", 0);
	recording_writer_run(w, &run);
	seed = 1;
	for (int i = 0; i < EVENTS; i++) {
		made.events[i] = an_event(i, &made.events[i ? i - 1 : 0]);
		made.is_many[i] = chance() % 2;
		totals.counters.seq = i + 1;
		w->now = totals;
		recording_writer_event(w, made.is_many[i] ? &origins[1] : &known, &made.events[i]);
		if (i % each == each - 1)
			recording_writer_flush(w);
	}
	recording_writer_end(w, true);
	assert_false(w->failed);
	recording_writer_free(w);
	file_size = pread(fd, file, sizeof(file), 0);
	assert_in_range(file_size, 1000, sizeof(file) - 1);
}

static int file_of(const void *from, size_t size)
{
	int fd = memory_file();

	assert_int_equal(write(fd, from, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* They may differ in the tag of the recorder's subscription, which no verb may rely on. */
static void assert_same_event(const struct bbr_event *a, const struct bbr_event *b)
{
	struct bbr_event x = *a;

	x.tag = b->tag;
	assert_memory_equal(&x, b, sizeof(x));
}

static const struct field *find_in(const struct algorithm *a, const char *key)
{
	for (unsigned int i = 0; i < a->n_fields; i++)
		if (!strcmp(a->fields[i].key, key))
			return &a->fields[i];
	return NULL;
}

struct reading {
	unsigned long events, of_kept; /* of_kept: of chunks that were not inflated */
	enum recording_next end;
	struct watch_totals totals;
	unsigned long places;
	__u64 vain, unsearched;
};

/* Reads the file. Its events must be the first ones that were made or, with_gaps, some of them. */
static struct reading read_made(int fd, bool with_gaps)
{
	struct recording_reader *r = calloc(1, sizeof(*r));
	struct reading reading = {};

	recording_read_fd(r, fd, "file");
	while ((reading.end = recording_next(r, -1)) == RECORDING_NEXT_EVENT) {
		__u64 i = with_gaps ? r->event.seq : reading.events;

		assert_in_range(i, 0, EVENTS - 1);
		assert_same_event(&r->event, &made.events[i]);
		assert_string_equal(r->origin->name, origins[made.is_many[i]].name);
		assert_string_equal(r->origin->algorithm->name,
				    made.is_many[i] ? "many" : algorithms[0]->name);
		reading.events++;
		reading.of_kept += r->raw != r->room;
	}
	reading.totals = recording_totals(r);
	reading.places = r->places;
	reading.vain = r->vain;
	reading.unsearched = r->unsearched;
	recording_release(r);
	free(r);
	close(fd);
	return reading;
}

/* ---- descriptions */

static void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void assert_same_field(const struct field *a, const struct field *b)
{
	assert_string_equal(a->key, b->key);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->width, b->width);
	assert_int_equal(a->unit, b->unit);
	assert_int_equal(a->mask, b->mask);
	assert_int_equal(a->has_unknown, b->has_unknown);
	assert_int_equal(a->unknown, b->unknown);
	assert_int_equal(a->needs, b->needs);
	assert_int_equal(a->n_names, b->n_names);
	for (int i = 0; i < a->n_names; i++)
		assert_same_text(a->names[i], b->names[i]);
	assert_same_text(a->text, b->text);
	assert_int_equal(a->order, b->order);
	assert_same_text(a->text_if.key, b->text_if.key);
	assert_int_equal(a->text_if.least, b->text_if.least);
	assert_int_equal(a->lane, b->lane);
	assert_same_text(a->curve, b->curve);
	assert_same_text(a->page, b->page);
	assert_int_equal(a->page_order, b->page_order);
	assert_same_text(a->calm, b->calm);
	assert_ptr_equal(a->finding, b->finding);
}

static void assert_same_algorithm(const struct algorithm *a, const struct algorithm *b)
{
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->instance, b->instance);
	assert_string_equal(a->title, b->title);
	assert_int_equal(a->n_modes, b->n_modes);
	for (int i = 0; i < a->n_modes; i++) {
		assert_string_equal(a->modes[i].name, b->modes[i].name);
		assert_int_equal(a->modes[i].n_phases, b->modes[i].n_phases);
		for (int k = 0; k < a->modes[i].n_phases; k++)
			assert_string_equal(a->modes[i].phases[k], b->modes[i].phases[k]);
		assert_int_equal(a->modes[i].mark, b->modes[i].mark);
		assert_int_equal(a->modes[i].rarity, b->modes[i].rarity);
	}
	assert_int_equal(a->n_reasons, b->n_reasons);
	for (int i = 0; i < a->n_reasons; i++)
		assert_string_equal(a->reasons[i], b->reasons[i]);
	assert_int_equal(a->n_fields, b->n_fields);
	for (int i = 0; i < a->n_fields; i++)
		assert_same_field(&a->fields[i], &b->fields[i]);
}

/* Reads the description even if it is that of an algorithm that the tools have. */
static struct layout *layout_from(const struct layout *l, size_t size)
{
	struct layout *read = calloc(1, sizeof(*read));

	read->members = calloc(LAYOUT_MEMBERS, sizeof(*read->members));
	read->is_read = description_read(read, l->description, size);
	return read;
}

static void free_layout(struct layout *l)
{
	description_free(l->memory);
	free(l->members);
	free(l);
}

static void check_description(const struct algorithm *a)
{
	const struct layout *l = layout_of(a);
	__u8 *again = malloc(DESCRIPTION_MAX);
	struct layout *read;

	assert_non_null(l);
	read = layout_from(l, l->description_size);
	assert_true(read->is_read);
	assert_same_algorithm(a, read->algorithm);
	assert_int_equal(description_write(read, again), l->description_size);
	assert_memory_equal(again, l->description, l->description_size);
	free(again);
	free_layout(read);
	for (size_t size = 0; size < l->description_size; size++) {
		read = layout_from(l, size);
		assert_false(read->is_read);
		free_layout(read);
	}
}

static void a_description_says_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_algorithms; i++)
		check_description(algorithms[i]);
	check_description(&many);
}

static void an_algorithm_that_is_known_is_that_one(void **state)
{
	const struct layout *l = layout_of(algorithms[0]);

	(void)state;
	assert_ptr_equal(layout_read(l->description, l->description_size), l);
	assert_ptr_equal(layout_find(l->id), l);
	assert_null(layout_find(l->id + 1));
}

/* Each byte of a description is wrong in turn: it is refused, or what is read suits a terminal. */
static void a_description_with_a_wrong_byte(void **state)
{
	const struct layout *l = layout_of(&many);
	__u8 *copy = malloc(l->description_size);
	const struct layout wrong = { .description = copy };

	(void)state;
	for (size_t at = 0; at < l->description_size; at++) {
		static const __u8 others[] = { 0, 1, 27, '"', '<', 127, 128, 255 };

		for (size_t i = 0; i < sizeof(others); i++) {
			struct layout *read;

			memcpy(copy, l->description, l->description_size);
			copy[at] = others[i];
			read = layout_from(&wrong, l->description_size);
			for (int k = 0; read->is_read && k < read->algorithm->n_fields; k++) {
				const struct field *f = &read->algorithm->fields[k];

				assert_true(f->offset + f->width <= (int)sizeof(struct bbr_event));
				for (const char *c = f->text ? f->text : ""; *c; c++)
					assert_true(*c >= ' ' && *c <= '~' &&
						    !strchr("\"\\<>&", *c));
			}
			free_layout(read);
		}
	}
	free(copy);
}

static void too_many_descriptions(void **state)
{
	__u8 *to = malloc(DESCRIPTION_MAX);
	struct layout other = *layout_of(&many);
	struct algorithm a = many;
	char title[16];
	int n = 0;

	(void)state;
	other.algorithm = &a;
	a.title = title;
	for (int i = 0; i < 1000; i++) {
		snprintf(title, sizeof(title), "%d", i);
		n += !!layout_read(to, description_write(&other, to));
	}
	assert_in_range(n, 1, 999);
	layout_forget();
	assert_non_null(layout_read(to, description_write(&other, to)));
	layout_forget();
	free(to);
}

/* ---- files */

static void what_is_written_is_read(void **state)
{
	struct reading r;

	(void)state;
	write_made(memory_file(), EACH);
	r = read_made(file_of(file, file_size), false);
	assert_int_equal(r.end, RECORDING_NEXT_OVER);
	assert_int_equal(r.events, EVENTS);
	assert_int_equal(counters_drops(&r.totals.counters), 0);
	assert_int_equal(r.totals.counters.seq, EVENTS);
}

/* Also if the file has changed since. */
static void chunks_are_inflated_once(void **state)
{
	(void)state;
	write_made(memory_file(), EACH);
	assert_int_equal(read_made(file_of(file, file_size), false).of_kept, 0);
	recording_keep();
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_made(file_of(file, file_size), false).of_kept,
				 i ? EVENTS : 0);
	write_made(memory_file(), EACH / 2);
	for (int i = 0; i < 2; i++) {
		struct reading r = read_made(file_of(file, file_size), false);

		assert_int_equal(r.end, RECORDING_NEXT_OVER);
		assert_int_equal(r.events, EVENTS);
		assert_true(r.of_kept < EVENTS);
	}
	recording_forget();
	assert_int_equal(read_made(file_of(file, file_size), false).of_kept, 0);
}

/* The reader does not know `many`, but the file describes all of it. */
static void an_unknown_algorithm_is_shown(void **state)
{
	const struct layout *l = layout_of(&many);
	__u8 *other = malloc(l->description_size);
	const struct layout *read;

	(void)state;
	memcpy(other, l->description, l->description_size);
	memcpy(memmem(other, l->description_size, "hundred", 7), "HUNDRED", 7);
	read = layout_read(other, l->description_size);
	assert_non_null(read);
	assert_ptr_not_equal(read->algorithm, &many);
	assert_string_equal(read->algorithm->title, "an algorithm with a HUNDRED fields");
	assert_int_equal(find_in(read->algorithm, "field_3")->unit, FIELD_NAME);
	assert_ptr_equal(layout_of(read->algorithm), read);
	layout_forget();
	free(other);
}

static void cut_off_anywhere(void **state)
{
	unsigned long before = 0;

	(void)state;
	write_made(memory_file(), EACH);
	for (size_t size = 1; size <= file_size; size += size < 2000 ? 1 : 1997) {
		struct reading r = read_made(file_of(file, size), false);

		assert_int_equal(r.end, RECORDING_NEXT_OVER);
		assert_in_range(r.events, before, EVENTS);
		assert_int_equal(r.places, 0);
		before = r.events;
	}
}

/*
 * A reader that has not met `many` before loses it with the first chunk until it is described
 * again.
 */
static void the_first_chunk_is_damaged(void **state)
{
	struct reading r;

	(void)state;
	write_made(memory_file(), EACH);
	file[300] ^= 0x55;
	r = read_made(file_of(file, file_size), true);
	assert_int_equal(r.end, RECORDING_NEXT_OVER);
	assert_int_equal(r.places, 1);
	assert_int_equal(r.events, EVENTS - EACH);
	assert_int_equal(r.totals.counters.seq, EVENTS);
	assert_int_equal(counters_drops(&r.totals.counters) + counters_received(&r.totals.counters),
			 EVENTS);
}

/* Each promises a megabyte with another checksum, and the next one follows at once. */
static void false_heads(void **state)
{
	struct recording_head head = { .run.id = 1 };
	struct reading r;

	(void)state;
	write_made(memory_file(), EACH);
	head.size = head.raw_size = RECORDING_SIZE_MAX;
	while (file_size + RECORDING_HEAD <= sizeof(file)) {
		recording_head_write(&head, file + file_size);
		file_size += RECORDING_HEAD;
	}
	r = read_made(file_of(file, file_size), false);
	assert_int_equal(r.end, RECORDING_NEXT_OVER);
	assert_int_equal(r.events, EVENTS);
	assert_in_range(r.unsearched, 1, sizeof(file) / RECORDING_SIZE_MAX + 1);
	assert_in_range(r.vain, 1, RECORDING_VAIN_MAX + 4 * sizeof(file) + 10 * RECORDING_SIZE_MAX);
}

/* ---- many connections: a few bytes of a file are enough for each */

#define TOO_MANY (RECORDED_CONNS_MAX + 1000) /* in a file of about a megabyte */

static int write_connections(unsigned int n)
{
	static const struct recording_run run = { .id = 1, .sampling = BBR_SAMPLE_ACK };
	struct recording_writer *w = recording_writer_new();
	struct origin origin = { .name = "one", .id = 1, .algorithm = algorithms[0] };
	struct watch_totals totals = {};
	int fd = memory_file();

	recording_writer_file(w, fd, "file", 0);
	recording_writer_run(w, &run);
	for (unsigned int i = 1; i <= n; i++) {
		struct bbr_event e = { .size = BBR_EVENT_BASE, .major = BBR_ABI_MAJOR };

		e.kind = BBR_EV_ACK;
		e.conn = i;
		e.time_ns = 1000000000ull + i;
		recording_writer_event(w, &origin, &e);
		totals.counters.received[BBR_EV_ACK]++;
	}
	totals.counters.seq = totals.counters.acks = n;
	w->now = totals;
	recording_writer_end(w, true);
	assert_false(w->failed);
	recording_writer_free(w);
	return fd;
}

static bool count(void *ctx, const struct origin *origin, const struct bbr_snapshot *state)
{
	(void)origin;
	++*(unsigned int *)ctx;
	return state->event.kind == BBR_EV_STATE;
}

static bool note_connection(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	(void)origin;
	connections_note(ctx, e);
	return true;
}

static void many_connections_are_left_out(void **state)
{
	struct recorded *r = calloc(1, sizeof(*r));
	unsigned int n = 0;
	char path[64];
	int fd = write_connections(TOO_MANY);

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(recorded_open(r, path, ~0ull), EXIT_DONE);
	recorded_for_each(r, count, &n);
	assert_int_equal(n, RECORDED_CONNS_MAX);
	assert_int_equal(r->left_out, TOO_MANY - RECORDED_CONNS_MAX);
	recorded_close(r);
	free(r);
	close(fd);
}

/* Their events are shown; only what is remembered of them is bounded. */
static void many_connections_are_sampled_and_counted(void **state)
{
	struct connections connections = {};
	struct watch_config config = { .handle = note_connection, .ctx = &connections };
	struct replay *p = calloc(1, sizeof(*p));
	unsigned int n = CONNECTIONS_MAX + 1000;
	char path[64];
	int fd = write_connections(n);
	bool idle;

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	config.read = path;
	config.request.is_sampling_given = true;
	config.request.sampling = BBR_SAMPLE_TIME;
	config.request.interval_ns = 1000;
	assert_int_equal(replay_open(p, &config), EXIT_DONE);
	while (!p->is_over) {
		assert_int_equal(replay_poll(p, 0, &idle), EXIT_DONE);
		assert_in_range(p->sampled.n, 0, REPLAY_SAMPLED_MAX);
	}
	assert_true(p->said_many);
	assert_int_equal(p->received[BBR_EV_ACK], n);
	assert_int_equal(connections.seen, CONNECTIONS_MAX);
	assert_int_equal(connections.uncounted, n - CONNECTIONS_MAX);
	conn_map_free(&connections.live);
	replay_close(p);
	free(p);
	close(fd);
}

/* A file of one chunk with these records. */
static int file_of_chunk(__u8 *raw, size_t size)
{
	struct recording_head head = { .run = { .id = 1 }, .raw_size = size };
	z_stream z = {};

	deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	z.next_in = raw;
	z.avail_in = size;
	z.next_out = file + RECORDING_HEAD;
	z.avail_out = sizeof(file) - RECORDING_HEAD;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	head.size = z.total_out;
	head.crc = crc32(0, file + RECORDING_HEAD, head.size);
	recording_head_write(&head, file);
	deflateEnd(&z);
	return file_of(file, RECORDING_HEAD + head.size);
}

/*
 * The same with an algorithm that nobody knows: its events are counted as lost, all others are
 * read.
 */
static void nobody_says_what_events_consist_of(void **state)
{
	struct recording_chunk *c = calloc(1, sizeof(*c));
	struct layout unknown = { .id = 4711, .description_size = 0 };
	struct recording_reader *r = calloc(1, sizeof(*r));
	const struct layout *known = layout_of(algorithms[0]);
	__u8 *raw = calloc(1, 4 * RECORDING_RECORD_MAX), *p = raw;
	struct bbr_event e = { .size = BBR_EVENT_BASE, .major = BBR_ABI_MAJOR, .cwnd = 10 };
	struct origin origin = { .name = "one", .id = 1, .algorithm = algorithms[0] };
	int n = 0;

	(void)state;
	recording_chunk_init(c);
	unknown.members = known->members;
	unknown.n_members = known->n_members;
	p += recording_put_algorithm(c, &unknown, false, p);
	p += recording_put_algorithm(c, known, true, p);
	p += recording_put_origin(c, &origin, 0, p);
	p += recording_put_origin(c, &origin, 1, p);
	for (int i = 0; i < 6; i++) {
		e.seq = i / 2;
		e.time_ns = 1000 + i;
		p += recording_put_event(c, i % 2, i % 2, &e, p);
	}
	recording_read_fd(r, file_of_chunk(raw, p - raw), "file");
	while (recording_next(r, -1) == RECORDING_NEXT_EVENT) {
		assert_int_equal(r->event.time_ns, 1001 + 2 * n);
		assert_int_equal(r->event.seq, n);
		n++;
	}
	assert_int_equal(n, 3);
	assert_true(r->said_unknown);
	close(r->fd);
	recording_release(r);
	free(r);
	free(raw);
	free(c);
}

enum bound {
	INSTANCES,
	CONNECTIONS,
	ALGORITHMS,
	DESCRIPTIONS,
	NONE
};

/* One more than there may be of these; NONE: the record has a wrong name instead. */
static __u8 *put_one_more(enum bound bound, struct recording_chunk *c, __u8 *p)
{
	static const __u8 event[] = { 4, RECORDING_EVENT, 0x80, RECORDING_CONNS >> 7, 0 };
	struct origin origin = { .name = "one", .id = 1, .algorithm = algorithms[0] };
	struct layout other = *layout_of(&many);
	struct algorithm a = many;
	char title[16];

	switch (bound) {
	case INSTANCES:
		for (int i = c->n_origins; i < RECORDING_ORIGINS; i++)
			p += recording_put_origin(c, &origin, 0, p);
		recording_chunk_init(c);
		return p + recording_put_origin(c, &origin, 0, p);
	case CONNECTIONS:
		for (int i = c->n_conns; i < RECORDING_CONNS; i++)
			p += recording_put_event(c, i, 0, &(struct bbr_event){ .seq = i }, p);
		memcpy(p, event, sizeof(event));
		return p + sizeof(event);
	case ALGORITHMS:
		for (int i = c->n_algorithms; i < RECORDING_ALGORITHMS; i++)
			p += recording_put_algorithm(c, layout_of(algorithms[0]), false, p);
		recording_chunk_init(c);
		return p + recording_put_algorithm(c, layout_of(algorithms[0]), false, p);
	case DESCRIPTIONS:
		other.algorithm = &a;
		other.description = malloc(DESCRIPTION_MAX);
		a.title = title;
		for (int i = 0; i <= LAYOUTS_READ_MAX; i++) {
			snprintf(title, sizeof(title), "%d", i);
			other.description_size = description_write(&other, other.description);
			other.id = crc32(0, other.description, other.description_size);
			if (i < LAYOUTS_READ_MAX)
				layout_read(other.description, other.description_size);
		}
		p += recording_put_algorithm(c, &other, true, p);
		free(other.description);
		return p;
	default:
		strcpy(origin.name, " ");
		return p + recording_put_origin(c, &origin, 0, p);
	}
}

/* What is beyond a bound is left out, with the bound's name; the file is whole, and so are its totals. */
static void bounds_have_names(void **state)
{
	static const char *const said[] = {
		[INSTANCES] = "more than 256 instances in a chunk",
		[CONNECTIONS] = "more than 4096 connections in a chunk",
		[ALGORITHMS] = "more than 16 algorithms in a chunk",
		[DESCRIPTIONS] = "more than 64 descriptions of other algorithms",
		[NONE] = "skipped damaged records after record 3, in the chunk at byte 0",
	};
	struct recording_chunk *c = malloc(sizeof(*c));
	struct recording_reader *r = malloc(sizeof(*r));
	__u8 *raw = malloc(RECORDING_SIZE_MAX), *p;
	struct origin origin = { .name = "one", .id = 1, .algorithm = algorithms[0] };

	(void)state;
	for (int bound = 0; bound <= NONE; bound++) {
		struct watch_totals totals = { .counters.seq = RECORDING_CONNS + 10 };
		unsigned int n = 0;

		p = raw;
		recording_chunk_init(c);
		p += recording_put_algorithm(c, layout_of(algorithms[0]), false, p);
		p += recording_put_origin(c, &origin, 0, p);
		p += recording_put_event(c, 0, 0, &(struct bbr_event){ .kind = BBR_EV_ACK }, p);
		p = put_one_more(bound, c, p);
		p += recording_put_event(c, 0, 0, &(struct bbr_event){ .kind = BBR_EV_ACK }, p);
		totals.counters.received[BBR_EV_ACK] = totals.counters.seq;
		p += recording_put_totals(&totals, RECORDING_END, p);
		capture_begin();
		recording_read_fd(r, file_of_chunk(raw, p - raw), "file");
		while (recording_next(r, -1) == RECORDING_NEXT_EVENT)
			n++;
		capture_end();
		layout_forget();
		assert_non_null(strstr(captured_messages(), said[bound]));
		assert_null(strstr(captured_messages(), "cut off"));
		assert_int_equal(n, bound == CONNECTIONS ? RECORDING_CONNS : 1);
		assert_int_equal(recording_totals(r).counters.seq, totals.counters.seq);
		assert_int_equal(recording_totals(r).counters.drops_unknown,
				 totals.counters.seq - n);
		close(r->fd);
		recording_release(r);
	}
	capture_free();
	free(raw);
	free(r);
	free(c);
}

/* CPU time for the clocks of so many runs, of a few boots, each asked for twice. */
static double run_clocks_cost(__u64 n)
{
	struct run_clocks clocks = {};
	struct recording_run run = {};
	clock_t start = clock();

	for (int reading = 0; reading < 2; reading++)
		for (run.id = 1; run.id <= n; run.id++) {
			run.boot_id[0] = run.id % 5;
			run.epoch_ns = run.id;
			/* A run keeps what it had; one of an unknown boot (0) has its own. */
			assert_int_equal(run_clocks_epoch_ns(&clocks, &run), run.id);
		}
	run.epoch_ns = 1; /* set back: the highest of this boot counts */
	run.boot_id[0] = 3;
	assert_int_equal(run_clocks_epoch_ns(&clocks, &run), n - (n - 3) % 5);
	run_clocks_free(&clocks);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* A crafted recording has a run in each of its chunks: the time grows with them, not their square. */
static void many_runs_are_dated(void **state)
{
	(void)state;
	assert_true(run_clocks_cost(80000) < 10 * run_clocks_cost(20000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_description_says_all),
		cmocka_unit_test(an_algorithm_that_is_known_is_that_one),
		cmocka_unit_test(a_description_with_a_wrong_byte),
		cmocka_unit_test(too_many_descriptions),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(chunks_are_inflated_once),
		cmocka_unit_test(an_unknown_algorithm_is_shown),
		cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(the_first_chunk_is_damaged),
		cmocka_unit_test(false_heads),
		cmocka_unit_test(many_connections_are_left_out),
		cmocka_unit_test(many_connections_are_sampled_and_counted),
		cmocka_unit_test(nobody_says_what_events_consist_of),
		cmocka_unit_test(bounds_have_names),
		cmocka_unit_test(many_runs_are_dated),
	};

	fill_many();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
