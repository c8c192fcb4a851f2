// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon's reader of recordings on arbitrary files. The first byte of the input selects how the
 * others become a file: as they are, or as the records of one chunk, possibly cut off. Such a chunk gets a correct head and correct checksums, which chance
 * would never find. What was read is written, and read again: it must be the same.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/err.h"
#include "event/event.h"
#include "layout/layout.h"
#include "made_recording.h"
#include "recording/reader.h"
#include "recording/writer.h"

/* Flags in the first byte of the input. */
#define HOW_CHUNK 1

/* The result of a reading, with a checksum of its events and their origins. */
struct reading {
	unsigned long events;
	__u32 crc;
	const struct algorithm *algorithm; /* of the last event */
	enum recording_next end;
	struct watch_totals totals;
};

static unsigned long whole, cut, damaged, refused, empty, runs, profiles, described, unknown,
	kernels, unknown_kinds;
static unsigned long ended, dropped;

static void report(void)
{
	say_reached("whole", whole);
	say_reached("cut off", cut);
	say_reached("damaged", damaged);
	say_reached("refused", refused);
	say_reached("no event", empty);
	say_reached("several runs", runs);
	say_reached("names of profiles", profiles);
	say_reached("an algorithm that only the file knows", described);
	say_reached("an algorithm that nobody knows", unknown);
	say_reached("the kernel's own", kernels);
	say_reached("unknown kind", unknown_kinds);
	say_reached("an end", ended);
	say_reached("drops", dropped);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stderr = fopen("/dev/null", "w"); /* for damage; glibc allows the assignment */
	return stderr ? atexit(report) : -1;
}

/* A chunk with the input as its records. The first byte says how much of it is in the file. */
static int chunk_of(struct input *in)
{
	static __u8 file[RECORDING_HEAD + MAX_FILE], records[MAX_FILE];
	struct recording_head head = {
		.run = { .id = 1, .sampling = BBR_SAMPLE_ACK },
	};
	__u8 part;
	size_t size;

	input_take(in, &part, sizeof(part));
	memcpy(records, in->data, in->left);
	size = write_chunk(&head, records, in->left, file, sizeof(file));
	return file_of(file, part ? size * part / 256 : size);
}

static bool is_known(const struct algorithm *a)
{
	return algorithm_find(a->name) == a;
}

static void note_text(struct reading *r, const char *text)
{
	for (const char *c = text; *c; c++)
		CHECK(*c >= ' ' && *c <= '~');
	r->crc = crc32(r->crc, (const __u8 *)text, strlen(text) + 1);
}

/* All fields must be within the event, and all texts fit for a terminal. */
static void note_algorithm(struct reading *r, const struct algorithm *a)
{
	note_text(r, a->name);
	note_text(r, a->title);
	for (unsigned int i = 0; i < a->n_modes; i++) {
		note_text(r, a->modes[i].name);
		for (unsigned int k = 0; k < a->modes[i].n_phases; k++)
			note_text(r, a->modes[i].phases[k]);
	}
	for (unsigned int i = 0; i < a->n_reasons; i++)
		note_text(r, a->reasons[i]);
	for (unsigned int i = 0; i < a->n_fields; i++) {
		const struct field *f = &a->fields[i];

		CHECK(f->offset + f->width <= (int)sizeof(struct bbr_event));
		note_text(r, f->key);
		note_text(r, f->text ? f->text : "");
		note_text(r, f->curve ? f->curve : "");
		for (unsigned int k = 0; k < f->n_names; k++)
			note_text(r, f->names[k]);
	}
}

static void note_event(struct reading *r, const struct recording_reader *reader)
{
	const struct bbr_event *e = &reader->event;
	struct bbr_event without = *e;
	const char *profile;

	CHECK(event_check(e, sizeof(*e)) == EVENT_OK);
	CHECK(e->size >= BBR_EVENT_BASE && e->size <= sizeof(*e));
	CHECK(reader->origin->id == e->tag);
	CHECK(strlen(reader->origin->name) < sizeof(reader->origin->name));
	for (const char *c = reader->origin->name; *c; c++)
		CHECK(*c > ' ' && *c <= '~');
	profile = origin_profile(reader->origin, e);
	if (r->algorithm != reader->origin->algorithm)
		note_algorithm(r, reader->origin->algorithm);
	r->algorithm = reader->origin->algorithm;
	r->events++;
	without.tag = 0; /* this reading assigned it */
	r->crc = crc32(r->crc, (const __u8 *)&without, sizeof(without));
	r->crc = crc32(r->crc, (const __u8 *)reader->origin->name, strlen(reader->origin->name));
	r->crc = crc32(r->crc, (const __u8 *)&reader->origin->is_kernel, 1);
	if (profile)
		r->crc = crc32(r->crc, (const __u8 *)profile, strlen(profile));
	profiles += !!profile;
	described += !is_known(r->algorithm);
	kernels += reader->origin->is_kernel;
	unknown_kinds += e->kind >= BBR_EV_KINDS;
}

/* Reads to the end; writes what it reads to `copy`, if it is not NULL. */
static struct reading read_all(int fd, struct recording_writer *copy)
{
	struct recording_reader *reader = malloc(sizeof(*reader));
	struct reading r = {};

	CHECK(reader);
	recording_read_fd(reader, fd, "input");
	while ((r.end = recording_next(reader, -1)) == RECORDING_NEXT_EVENT) {
		note_event(&r, reader);
		if (!copy)
			continue;
		r.totals = recording_totals(reader);
		runs += copy->run.id && copy->run.id != reader->run.id;
		recording_writer_run(copy, &reader->run);
		copy->now = r.totals;
		recording_writer_event(copy, reader->origin, &reader->event);
	}
	CHECK(r.end == RECORDING_NEXT_OVER || r.end == RECORDING_NEXT_FAILED);
	CHECK(reader->events >= r.events && reader->events <= r.events + 1);
	r.totals = recording_totals(reader);
	if (copy) {
		copy->now = r.totals;
		damaged += !!reader->places;
		cut += reader->is_cut;
		ended += reader->run_ended;
		unknown += reader->said_unknown;
		whole += r.end == RECORDING_NEXT_OVER && !reader->places && !reader->is_cut;
		refused += r.end == RECORDING_NEXT_FAILED;
		empty += !r.events;
		dropped += counters_drops(&r.totals.counters) != 0;
	}
	recording_release(reader);
	free(reader);
	return r;
}

static void check_copy(const struct reading *r, int fd)
{
	struct reading again;

	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	again = read_all(fd, NULL);
	CHECK(again.end == RECORDING_NEXT_OVER);
	CHECK(again.events == r->events && again.crc == r->crc);
	CHECK(!memcmp(again.totals.counters.received, r->totals.counters.received,
		      sizeof(r->totals.counters.received)));
	CHECK(!memcmp(again.totals.counters.drops, r->totals.counters.drops,
		      sizeof(r->totals.counters.drops)));
	CHECK(again.totals.counters.acks == r->totals.counters.acks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size < MAX_FILE / 2 ? size : MAX_FILE / 2 };
	struct recording_writer *copy = recording_writer_new();
	struct reading r;
	__u8 how;
	int fd, to = memfd_create("copy", MFD_CLOEXEC);

	CHECK(copy && to >= 0);
	input_take(&in, &how, sizeof(how));
	fd = how & HOW_CHUNK ? chunk_of(&in) : file_of(in.data, in.left);
	recording_writer_file(copy, to, "copy", 0);
	r = read_all(fd, copy);
	recording_writer_end(copy, false);
	CHECK(!copy->failed);
	check_copy(&r, to);
	recording_writer_free(copy);
	layout_forget();
	close(fd);
	close(to);
	return 0;
}
