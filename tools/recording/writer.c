// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/err.h"
#include "kernel/clock.h"
#include "layout/layout.h"
#include "writer.h"

/* Between two readings of both clocks their offset changes by less, unless one was set. */
#define CLOCK_STEP_NS NS_PER_MS
#define LEVEL 6

struct recording_writer *recording_writer_new(void)
{
	struct recording_writer *w = mem_new(1, sizeof(*w));

	mem_check(!deflateInit2(&w->deflate, LEVEL, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY));
	return w;
}

void recording_writer_free(struct recording_writer *w)
{
	deflateEnd(&w->deflate);
	free(w);
}

static void begin_chunk(struct recording_writer *w)
{
	recording_chunk_init(&w->chunk);
	memset(w->slots, 0, sizeof(w->slots));
	memset(&w->head, 0, sizeof(w->head));
	w->head.run = w->run;
	w->raw_size = 0;
	w->begun_ns = now_ns();
}

void recording_writer_file(struct recording_writer *w, int fd, const char *name, __u64 size)
{
	w->fd = fd;
	w->name = name;
	w->size = size;
	w->failed = false;
	memset(w->described, 0, sizeof(w->described));
	begin_chunk(w);
}

static void fail(struct recording_writer *w, const char *why)
{
	if (!w->failed)
		err("cannot write %s: %s", w->name, why);
	w->failed = true;
}

static void write_all(struct recording_writer *w, const __u8 *from, size_t size)
{
	while (size) {
		ssize_t n = write(w->fd, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fail(w, strerror(errno));
			return;
		}
		from += n;
		size -= n;
		w->size += n;
	}
}

static void write_chunk(struct recording_writer *w)
{
	if (w->failed)
		return;
	deflateReset(&w->deflate);
	w->deflate.next_in = w->raw;
	w->deflate.avail_in = w->raw_size;
	w->deflate.next_out = w->out + RECORDING_HEAD;
	w->deflate.avail_out = RECORDING_SIZE_MAX;
	deflate(&w->deflate, Z_FINISH); /* there is more room than any such input needs */
	w->head.size = w->deflate.total_out;
	w->head.raw_size = w->raw_size;
	w->head.crc = crc32(0, w->out + RECORDING_HEAD, w->head.size);
	recording_head_write(&w->head, w->out);
	write_all(w, w->out, RECORDING_HEAD + w->head.size);
}

static void added(struct recording_writer *w, size_t size)
{
	w->raw_size += size;
	w->head.records++;
}

static __u8 *room(struct recording_writer *w)
{
	return w->raw + w->raw_size;
}

/* Totals of the run in this file. */
static struct watch_totals totals_here(const struct recording_writer *w, bool exact)
{
	struct watch_totals t = w->now;
	struct counters *n = &t.counters;
	const struct counters *before = &w->before.counters;

	t.watched_ns -= w->before.watched_ns;
	t.unwatched_ns -= w->before.unwatched_ns;
	n->acks -= before->acks;
	n->drops_unknown -= before->drops_unknown;
	for (int i = 0; i < BBR_EV_MAX; i++) {
		n->drops[i] -= before->drops[i];
		n->received[i] = w->received[i];
	}
	n->seq = exact ? n->seq - before->seq : 0;
	return t;
}

static void put_totals(struct recording_writer *w, enum recording_type type, bool exact)
{
	struct watch_totals t = totals_here(w, exact);

	/* A file that another one follows ends with what is known so far. */
	if (type == RECORDING_END && !exact)
		t.counters.seq = counters_received(&t.counters) + counters_drops(&t.counters);
	added(w, recording_put_totals(&t, type, room(w)));
}

void recording_writer_flush(struct recording_writer *w)
{
	if (!w->raw_size)
		return;
	put_totals(w, RECORDING_TOTALS, false);
	write_chunk(w);
	begin_chunk(w);
}

void recording_writer_rescue(struct recording_writer *w)
{
	if (w->raw_size)
		write_chunk(w);
	memset(&w->run, 0, sizeof(w->run));
	memset(w->received, 0, sizeof(w->received));
	begin_chunk(w);
}

void recording_writer_end(struct recording_writer *w, bool exact)
{
	struct watch_totals here = totals_here(w, false);
	__u64 seq = counters_received(&here.counters) + counters_drops(&here.counters);

	put_totals(w, RECORDING_END, exact);
	write_chunk(w);
	seq += w->before.counters.seq;
	w->before = w->now;
	w->before.counters.seq = seq;
	memset(w->received, 0, sizeof(w->received));
	begin_chunk(w);
}

void recording_writer_run(struct recording_writer *w, const struct recording_run *run)
{
	__u64 step = (__u64)run->epoch_ns - (__u64)w->head.run.epoch_ns;
	bool is_same = w->run.id == run->id && w->run.sampling == run->sampling &&
		       w->run.interval_ns == run->interval_ns &&
		       !memcmp(w->run.boot_id, run->boot_id, sizeof(run->boot_id));

	if (w->run.id && !is_same)
		recording_writer_end(w, false);
	else if (step + CLOCK_STEP_NS > 2 * CLOCK_STEP_NS) /* the clock was set */
		recording_writer_flush(w);
	w->run = *run;
	if (!w->raw_size)
		begin_chunk(w);
}

/* True if this chunk must describe the algorithm: each does if `described` has no room for it. */
static bool is_to_be_described(struct recording_writer *w, const struct layout *layout)
{
	unsigned int i = 0;

	while (i < RECORDING_ALGORITHMS && w->described[i].layout &&
	       w->described[i].layout != layout)
		i++;
	if (i == RECORDING_ALGORITHMS)
		return true;
	if (w->described[i].layout && w->size < w->described[i].again)
		return false;
	w->described[i].layout = layout;
	w->described[i].again = w->size + RECORDING_DESCRIBE_EVERY;
	return true;
}

/* The algorithm's number in this chunk. */
static int algorithm_number(struct recording_writer *w, const struct layout *layout)
{
	bool is_whole;
	int i = 0;

	while (i < w->chunk.n_algorithms && w->chunk.algorithms[i].layout != layout)
		i++;
	if (i < w->chunk.n_algorithms)
		return i;
	is_whole = is_to_be_described(w, layout);
	added(w, recording_put_algorithm(&w->chunk, layout, is_whole, room(w)));
	return i;
}

static bool is_same_origin(const struct recording_origin *known, const struct origin *origin)
{
	return known->id == origin->id && known->origin.algorithm == origin->algorithm &&
	       known->origin.is_kernel == origin->is_kernel &&
	       !strcmp(known->origin.name, origin->name);
}

/* The origin's number in this chunk. */
static int origin_number(struct recording_writer *w, const struct origin *origin,
			 const struct layout *layout)
{
	int i = 0;

	while (i < w->chunk.n_origins && !is_same_origin(&w->chunk.origins[i], origin))
		i++;
	if (i == w->chunk.n_origins) {
		int algorithm = algorithm_number(w, layout);

		added(w, recording_put_origin(&w->chunk, origin, algorithm, room(w)));
	}
	if (origin->profiles &&
	    memcmp(origin->profiles, w->chunk.origins[i].names, sizeof(w->chunk.origins[i].names)))
		added(w, recording_put_profiles(&w->chunk, i, origin->profiles, room(w)));
	return i;
}

/* The connection's number in this chunk, maybe a new one. */
static int conn_number(struct recording_writer *w, int origin, __u64 conn)
{
	__u32 hash = (conn * 2654435761u + origin * 40503u) % RECORDING_SLOTS;

	for (;; hash = (hash + 1) % RECORDING_SLOTS) {
		int i = w->slots[hash] - 1;

		if (i < 0) {
			w->slots[hash] = w->chunk.n_conns + 1;
			w->keys[w->chunk.n_conns] = conn;
			return w->chunk.n_conns;
		}
		if (w->keys[i] == conn && w->chunk.conns[i].origin == origin)
			return i;
	}
}

void recording_writer_event(struct recording_writer *w, const struct origin *origin,
			    const struct bbr_event *e)
{
	const struct layout *layout = layout_of(origin->algorithm);
	int number, conn;

	if (!layout) {
		fail(w, "the algorithm cannot be described");
		return;
	}
	if (w->raw_size >= RECORDING_FULL || w->chunk.n_conns == RECORDING_CONNS ||
	    w->chunk.n_origins == RECORDING_ORIGINS ||
	    w->chunk.n_algorithms == RECORDING_ALGORITHMS)
		recording_writer_flush(w);
	number = origin_number(w, origin, layout);
	conn = conn_number(w, number, e->conn);
	added(w, recording_put_event(&w->chunk, conn, number, e, room(w)));
	if (!w->head.events++)
		w->head.first_ns = e->time_ns;
	w->head.last_ns = e->time_ns;
	w->received[e->kind & (BBR_EV_MAX - 1)]++;
}
