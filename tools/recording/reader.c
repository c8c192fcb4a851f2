// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

#include "cli/err.h"
#include "cli/privileges.h"
#include "kernel/clock.h"
#include "reader.h"

#define MAGIC_LEN (sizeof(RECORDING_MAGIC) - 1)
#define MAX_SAID 5 /* messages about places that cannot be read */

void recording_read_fd(struct recording_reader *r, int fd, const char *name)
{
	memset(r, 0, sizeof(*r));
	r->fd = fd;
	r->name = name;
	r->buffer =
		mem_need(malloc(RECORDING_BUFFER)); /* zeroing it takes longer than a small file */
	r->room = mem_need(malloc(RECORDING_SIZE_MAX));
	r->chunk = mem_new(1, sizeof(*r->chunk));
	mem_check(!inflateInit2(&r->inflate, -MAX_WBITS));
	privileges_narrow(0); /* from here on it reads bytes that anybody may have written */
}

/*
 * The file that was opened last, open for another reading: the first one gave up the privileges that
 * opening it may take.
 */
static struct {
	char *name;
	int fd;
} last = { .fd = -1 };

int recording_open(struct recording_reader *r, const char *name)
{
	bool is_shared = false;
	struct stat st;
	int fd;

	if (!strcmp(name, "-")) {
		recording_read_fd(r, STDIN_FILENO, "standard input");
		return EXIT_DONE;
	}
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && last.fd >= 0 && !strcmp(last.name, name)) {
		fd = fcntl(last.fd, F_DUPFD_CLOEXEC, 0);
		is_shared = true;
	} else if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		   (!last.name || strcmp(last.name, name))) {
		if (last.fd >= 0)
			close(last.fd);
		free(last.name);
		last.name = strdup(name);
		last.fd = last.name ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	}
	if (fd < 0)
		return err_usage("cannot read %s: %s", name, strerror(errno));
	recording_read_fd(r, fd, name);
	r->is_shared = is_shared;
	return EXIT_DONE;
}

void recording_release(struct recording_reader *r)
{
	inflateEnd(&r->inflate);
	free(r->buffer);
	free(r->room);
	free(r->chunk);
}

void recording_close(struct recording_reader *r)
{
	recording_release(r);
	if (r->fd != STDIN_FILENO)
		close(r->fd);
}

static size_t held(const struct recording_reader *r)
{
	return r->end - r->start;
}

static void use(struct recording_reader *r, size_t n)
{
	r->start += n;
	r->offset += n;
}

/* Reads more of the file. RECORDING_NEXT_EVENT: there is more now, or it is at its end. */
static enum recording_next fill(struct recording_reader *r, int wait_ms)
{
	struct pollfd fd = { .fd = r->fd, .events = POLLIN };
	ssize_t n;

	memmove(r->buffer, r->buffer + r->start, held(r));
	r->end -= r->start;
	r->start = 0;
	if (poll(&fd, 1, wait_ms) <= 0)
		return RECORDING_NEXT_NONE;
	if (r->is_shared)
		n = pread(r->fd, r->buffer + r->end, RECORDING_BUFFER - r->end,
			  r->offset + held(r));
	else
		n = read(r->fd, r->buffer + r->end, RECORDING_BUFFER - r->end);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return RECORDING_NEXT_NONE;
	if (n < 0) {
		err("cannot read %s: %s", r->name, strerror(errno));
		return RECORDING_NEXT_FAILED;
	}
	r->at_eof = !n;
	r->end += n;
	return RECORDING_NEXT_EVENT;
}

static void say_skipped(struct recording_reader *r)
{
	if (!r->skipped)
		return;
	if (r->places++ < MAX_SAID && !r->quiet)
		err("%s: skipped %llu damaged bytes from byte %llu on", r->name, r->skipped,
		    r->offset - r->skipped);
	r->skipped = 0;
}

/* Skips to the next place that may be a head. */
static void skip(struct recording_reader *r)
{
	const __u8 *from = r->buffer + r->start + 1;
	const __u8 *found = memmem(from, held(r) - 1, RECORDING_MAGIC, MAGIC_LEN);
	size_t n = held(r);

	if (found)
		n = found - from + 1;
	else if (!r->at_eof) /* the last bytes may begin one */
		n -= n < MAGIC_LEN ? n - 1 : MAGIC_LEN - 1;
	r->skipped += n;
	use(r, n);
}

/*
 * A damaged chunk may contain whole ones: what a writer that was killed left is followed by what the
 * next one wrote. So they are searched for, but a file of heads that promise a megabyte each, a few
 * bytes from one to the next, would be checksummed ten thousand times. What was checked in vain is
 * at most in proportion to the file; a file that is only damaged stays far below that.
 */
static void skip_chunk(struct recording_reader *r)
{
	r->vain += r->chunk_size + r->head.raw_size;
	if (r->vain <= RECORDING_VAIN_MAX + 4 * r->offset) {
		skip(r);
		return;
	}
	r->unsearched++;
	r->skipped += r->chunk_size;
	use(r, r->chunk_size);
}

/*
 * Of a run without an end, what came after its last totals is known only from its events: what was
 * dropped is not, and there may have been more ACKs than were sampled.
 */
static void add_totals(struct watch_totals *sum, const struct recording_reader *r)
{
	struct watch_totals t = r->now;
	struct counters *n = &t.counters;

	n->drops_unknown += r->drops_here;
	if (r->has_run && !r->run_ended) {
		__u64 spanned_ns = r->first_ns < r->last_ns ? r->last_ns - r->first_ns : 0;

		n->seq = counters_received(n) + counters_drops(n);
		n->acks += r->acks_since;
		if (spanned_ns > t.watched_ns + t.unwatched_ns)
			t.watched_ns = spanned_ns - t.unwatched_ns;
		sum->is_cut = true;
	}
	counters_add(&sum->counters, n);
	sum->watched_ns += t.watched_ns;
	sum->unwatched_ns += t.unwatched_ns;
}

struct watch_totals recording_totals(const struct recording_reader *r)
{
	struct watch_totals t = r->before;

	add_totals(&t, r);
	return t;
}

/* A run has several ends if its files were concatenated. */
static void enter_run(struct recording_reader *r)
{
	bool is_other = r->run.id != r->head.run.id ||
			memcmp(r->run.boot_id, r->head.run.boot_id, sizeof(r->run.boot_id));

	if (r->has_run && (is_other || r->run_ended)) {
		if (!r->run_ended && !r->skim && !r->quiet)
			err("%s: the bbrmon that recorded up to byte %llu did not end properly",
			    r->name, r->offset);
		/* The counts so far are final: those in the next records begin at 0 again. */
		add_totals(&r->before, r);
		memset(&r->now, 0, sizeof(r->now));
		r->drops_here = r->acks_since = r->first_ns = r->last_ns = 0;
		r->totals_taken++;
	}
	if (r->has_run && is_other)
		r->id_base = r->id_max + 1;
	r->run_ended = false;
	r->run = r->head.run;
	r->has_run = true;
}

static struct {
	bool is_on;
	struct kept {
		__u64 offset;
		__u32 size, raw_size, crc; /* the head's: the file may have changed */
		__u8 *raw;
	} *list; /* by offset */
	size_t n, bytes;
} kept;

void recording_keep(void)
{
	kept.is_on = true;
}

void recording_forget(void)
{
	for (size_t i = 0; i < kept.n; i++)
		free(kept.list[i].raw);
	free(kept.list);
	memset(&kept, 0, sizeof(kept));
}

/* Takes the chunk at start from those that were kept. False: it is not there. */
static bool take_kept(struct recording_reader *r)
{
	const struct recording_head *head = &r->head;
	const struct kept *k;

	while (r->kept < kept.n && kept.list[r->kept].offset < r->offset)
		r->kept++;
	if (r->is_cut || r->kept == kept.n)
		return false;
	k = &kept.list[r->kept];
	if (k->offset != r->offset || k->size != head->size || k->raw_size != head->raw_size ||
	    k->crc != head->crc)
		return false;
	r->raw = k->raw;
	r->raw_start = 0;
	r->raw_end = k->raw_size;
	return true;
}

/* Keeps the chunk that was inflated into room, if it comes after all others and there is memory. */
static void keep_chunk(struct recording_reader *r)
{
	const struct recording_head *head = &r->head;
	size_t bytes = kept.bytes + sizeof(*kept.list) + head->raw_size;
	struct kept k = { r->offset, head->size, head->raw_size, head->crc, NULL };

	if (!kept.is_on || r->kept < kept.n || bytes > RECORDING_KEPT_MAX)
		return;
	k.raw = malloc(head->raw_size);
	if (!k.raw)
		return;
	memcpy(k.raw, r->room, head->raw_size);
	MEM_ADD(kept.list, kept.n) = k;
	kept.bytes = bytes;
}

/* Inflates the chunk at start, which has `size` deflated bytes. False: it is damaged. */
static bool inflate_chunk(struct recording_reader *r, size_t size)
{
	int result;

	if (take_kept(r))
		return true;
	inflateReset(&r->inflate);
	r->inflate.next_in = r->buffer + r->start + r->head.head_size;
	r->inflate.avail_in = size;
	r->inflate.next_out = r->room;
	r->inflate.avail_out = r->head.raw_size;
	result = inflate(&r->inflate, Z_SYNC_FLUSH);
	mem_check(result != Z_MEM_ERROR); /* it makes its window when it first needs one */
	r->raw = r->room;
	r->raw_start = 0;
	r->raw_end = r->inflate.total_out;
	if (r->is_cut)
		return true;
	if (result != Z_STREAM_END || r->raw_end != r->head.raw_size)
		return false;
	keep_chunk(r);
	return true;
}

static bool is_damaged(const struct recording_reader *r)
{
	const __u8 *from = r->buffer + r->start + r->head.head_size;

	/* The rest of a cut chunk contains no other chunk. */
	if (r->is_cut)
		return memmem(from, r->chunk_size - r->head.head_size, RECORDING_MAGIC, MAGIC_LEN);
	return crc32(0, from, r->head.size) != r->head.crc;
}

/* Begins the chunk whose head was read. The buffer has all of it, or all that there is. */
static void begin_chunk(struct recording_reader *r)
{
	size_t whole = r->head.head_size + r->head.size;

	r->is_cut = held(r) < whole;
	r->chunk_size = r->is_cut ? held(r) : whole;
	if (is_damaged(r) || !inflate_chunk(r, r->chunk_size - r->head.head_size)) {
		r->is_cut = false;
		skip_chunk(r);
		return;
	}
	say_skipped(r);
	enter_run(r);
	recording_chunk_init(r->chunk);
	r->chunk_offset = r->offset;
	r->in_chunk = true;
	if (r->skim && !r->is_cut)
		r->raw_start = r->raw_end;
}

static void take_totals(struct recording_reader *r, const struct recording_record *record)
{
	struct watch_totals t = record->totals;
	__u64 recorded = counters_received(&t.counters), received;

	memcpy(t.counters.received, r->now.counters.received, sizeof(t.counters.received));
	received = counters_received(&t.counters);
	r->drops_here = recorded > received ? recorded - received : 0;
	r->now = t;
	r->acks_since = 0;
	r->totals_taken++;
	r->run_ended = record->type == RECORDING_END;
}

/* RECORDING_NEXT_NONE: it cannot be shown. */
static enum recording_next take_event(struct recording_reader *r,
				      const struct recording_record *record)
{
	if (!record->event) {
		if (!r->said_unknown && !r->quiet)
			err("%s: events from byte %llu on are left out: their description is "
			    "damaged or missing",
			    r->name, r->chunk_offset);
		r->said_unknown = true;
		return RECORDING_NEXT_NONE;
	}
	r->events++;
	r->last_ns = r->event.time_ns;
	r->last_realtime_ns = r->last_ns + r->run.epoch_ns;
	if (!r->first_ns)
		r->first_ns = r->last_ns;
	r->acks_since += r->event.kind == BBR_EV_ACK;
	r->now.counters.received[r->event.kind & (BBR_EV_MAX - 1)]++;
	r->origin = &r->chunk->origins[record->origin].origin;
	return RECORDING_NEXT_EVENT;
}

/* A record cannot be read, and with it those after it in its chunk. */
static void say_lost(struct recording_reader *r, const char *beyond, int most)
{
	if (r->places++ >= MAX_SAID || r->quiet)
		return;
	if (beyond)
		err("%s: events after record %llu, in the chunk at byte %llu, are left out: "
		    "more than %d %s",
		    r->name, r->records, r->chunk_offset, most, beyond);
	else
		err("%s: skipped damaged records after record %llu, in the chunk at byte %llu",
		    r->name, r->records, r->chunk_offset);
}

/* RECORDING_NEXT_NONE: it was not an event, or the chunk is at its end. */
static enum recording_next next_record(struct recording_reader *r)
{
	struct recording_record record;
	struct recording_origin *o;
	bool bad, was_lost = r->chunk->is_lost;
	const __u8 *from = r->raw + r->raw_start;
	size_t size = recording_record_size(from, r->raw_end - r->raw_start, &bad);

	bad |= !size && !r->is_cut && r->raw_start < r->raw_end;
	if (!size) {
		if (bad && !was_lost)
			say_lost(r, NULL, 0);
		r->chunk->is_lost |= bad;
		use(r, r->chunk_size);
		if (!r->is_cut)
			r->whole_end = r->offset;
		r->in_chunk = false;
		return RECORDING_NEXT_NONE;
	}
	r->raw_start += size;
	if (!recording_get(r->chunk, from, size, &record, &r->event)) {
		if (!was_lost)
			say_lost(r, record.beyond, record.most);
		return RECORDING_NEXT_NONE;
	}
	r->records += record.type != RECORDING_LOST;
	switch (record.type) {
	case RECORDING_EVENT:
		return take_event(r, &record);
	case RECORDING_ORIGIN:
		o = &r->chunk->origins[r->chunk->n_origins - 1];
		o->origin.id = r->id_base + o->id;
		if (r->id_max < o->origin.id)
			r->id_max = o->origin.id;
		break;
	case RECORDING_TOTALS:
	case RECORDING_END:
		take_totals(r, &record);
		break;
	}
	return RECORDING_NEXT_NONE;
}

static void say_cut(const struct recording_reader *r)
{
	time_t seconds = r->last_realtime_ns / NS_PER_S;
	char when[64] = "";
	struct tm tm;

	if (!r->events) {
		err("%s: cut off at byte %llu: %llu whole records, none of them an event", r->name,
		    r->offset, r->records);
		return;
	}
	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%F %T", &tm);
	err("%s: cut off at byte %llu: %llu whole records, %llu of them events, the last one of "
	    "%s.%03llu",
	    r->name, r->offset, r->records, r->events, when,
	    r->last_realtime_ns % NS_PER_S / NS_PER_MS);
}

static enum recording_next refuse(const struct recording_reader *r)
{
	err("%s is not a recording", r->name);
	return RECORDING_NEXT_FAILED;
}

static enum recording_next finish(struct recording_reader *r)
{
	/* The end of a run may be among the records that could not be read. */
	bool is_cut = r->is_cut || held(r) || (!r->run_ended && !r->chunk->is_lost);

	if (r->skipped && !r->has_run)
		return refuse(r);
	if (r->skipped) /* damaged bytes are kept, not cut off */
		r->whole_end = r->offset;
	use(r, held(r));
	say_skipped(r);
	if (r->places > MAX_SAID && !r->quiet)
		err("%s: %llu more places could not be read", r->name, r->places - MAX_SAID);
	if (r->unsearched && !r->quiet)
		err("%s: too many damaged chunks: %llu of them were not searched for further "
		    "chunks",
		    r->name, r->unsearched);
	if (is_cut && !r->skim && !r->quiet)
		say_cut(r);
	r->is_over = true;
	return RECORDING_NEXT_OVER;
}

/* Goes on towards the next chunk. RECORDING_NEXT_EVENT: it made progress. */
static enum recording_next next_chunk(struct recording_reader *r, int wait_ms)
{
	enum recording_head_error error =
		recording_head_read(&r->head, r->buffer + r->start, held(r));

	if (error == RECORDING_HEAD_OTHER) {
		err("cannot read %s: from byte %llu on it has format %u, this tool has format %u\n"
		    "use the version of bbrmon that recorded it",
		    r->name, r->offset, r->head.major, RECORDING_MAJOR);
		return RECORDING_NEXT_FAILED;
	}
	if (error == RECORDING_HEAD_BAD) {
		skip(r);
		return !r->has_run && r->skipped > RECORDING_BUFFER ? refuse(r) :
								      RECORDING_NEXT_EVENT;
	}
	if (!r->at_eof &&
	    (error == RECORDING_HEAD_SHORT || held(r) < (size_t)r->head.head_size + r->head.size))
		return fill(r, wait_ms);
	if (error == RECORDING_HEAD_SHORT)
		return finish(r);
	begin_chunk(r);
	return RECORDING_NEXT_EVENT;
}

enum recording_next recording_next(struct recording_reader *r, int wait_ms)
{
	enum recording_next next;

	while (!r->is_over) {
		if (r->in_chunk) {
			next = next_record(r);
			if (next != RECORDING_NEXT_NONE)
				return next;
		} else {
			next = next_chunk(r, wait_ms);
			if (next != RECORDING_NEXT_EVENT)
				return next;
		}
	}
	return RECORDING_NEXT_OVER;
}
