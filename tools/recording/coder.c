// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <arpa/inet.h>

#include "cli/text.h"
#include "format.h"
#include "kernel/clock.h"

#define BITS_MAX (LAYOUT_MEMBERS / 7 + 1) /* bytes that say which members differ */

static __u64 load(const struct member *m, const union recording_event *e)
{
	const __u8 *at = e->bytes + m->offset;
	__u64 v64;
	__u32 v32;
	__u16 v16;

	switch (m->width) {
	case 1:
		return *at;
	case 2:
		memcpy(&v16, at, sizeof(v16));
		return m->is_net ? ntohs(v16) : v16;
	case 4:
		memcpy(&v32, at, sizeof(v32));
		return m->is_net ? ntohl(v32) : v32;
	default:
		memcpy(&v64, at, sizeof(v64));
		return m->is_net ? be64toh(v64) : v64;
	}
}

static void store(const struct member *m, union recording_event *e, __u64 value)
{
	__u8 *at = e->bytes + m->offset;
	__u32 v32 = m->is_net ? htonl(value) : value;
	__u16 v16 = m->is_net ? htons(value) : value;

	switch (m->width) {
	case 1:
		*at = value;
		break;
	case 2:
		memcpy(at, &v16, sizeof(v16));
		break;
	case 4:
		memcpy(at, &v32, sizeof(v32));
		break;
	default:
		value = m->is_net ? htobe64(value) : value;
		memcpy(at, &value, sizeof(value));
	}
}

static void add_algorithm(struct recording_chunk *c, const struct layout *layout)
{
	c->algorithms[c->n_algorithms++] = (struct recording_algorithm){ layout, -1 };
}

void recording_chunk_init(struct recording_chunk *c)
{
	c->n_algorithms = 0;
	c->n_origins = 0;
	c->n_conns = 0;
	c->last_ns = 0;
	c->is_lost = false;
}

static struct recording_algorithm *algorithm_of(struct recording_chunk *c, int origin)
{
	return &c->algorithms[c->origins[origin].algorithm];
}

/* Predicts the next event of a connection, except for its time, in place of its last one. */
static union recording_event *predict(struct recording_chunk *c, int conn, int origin)
{
	const struct recording_algorithm *a = algorithm_of(c, origin);
	struct recording_conn *known = &c->conns[conn];

	if (conn == c->n_conns) {
		c->n_conns++;
		known->origin = origin;
		if (a->last_conn >= 0)
			known->last = c->conns[a->last_conn].last;
		else
			memset(&known->last, 0, sizeof(known->last));
	}
	known->last.event.seq = c->origins[origin].next_seq;
	return &known->last;
}

static void note(struct recording_chunk *c, int conn, int origin, __u64 time_ns)
{
	algorithm_of(c, origin)->last_conn = conn;
	c->origins[origin].next_seq = c->conns[conn].last.event.seq + 1;
	c->last_ns = time_ns;
}

/* The words in which two events differ, a bit each. Most are equal, and so are their members. */
static __u64 words_differing(const struct layout *l, const union recording_event *e,
			     const union recording_event *base)
{
	unsigned int n = (l->size + 7) / 8;
	__u64 differing = 0;

	for (unsigned int i = 0; i < LAYOUT_ROOM / 8 && i < n; i++)
		differing |= (__u64)(e->words[i] != base->words[i]) << i;
	return differing;
}

/*
 * Writes the members that differ, and makes `base` the event `e` member by member, as a reader
 * does: members may overlap.
 */
static __u8 *put_members(const struct layout *l, const union recording_event *e,
			 union recording_event *base, __u8 *to)
{
	__u8 values[LAYOUT_MEMBERS * VARINT_MAX], *v = values;
	__u64 differing = words_differing(l, e, base);
	__u8 bits[BITS_MAX] = {};
	unsigned int n_bits = 1; /* bytes of them */

	for (unsigned int i = 0; i < l->n_members; i++) {
		const struct member *m = &l->members[i];
		unsigned int unused = 64 - 8 * m->width;
		__s64 difference;

		if (!(m->words & differing))
			continue;
		/* The shortest one modulo the member's width. */
		difference = (__s64)((load(m, e) - load(m, base)) << unused) >> unused;
		if (!difference)
			continue;
		memcpy(base->bytes + m->offset, e->bytes + m->offset, m->width);
		n_bits = i / 7 + 1;
		bits[i / 7] |= 1 << i % 7;
		v = put_difference(v, difference);
	}
	for (unsigned int i = 0; i < n_bits; i++)
		*to++ = bits[i] | (i + 1 < n_bits ? 0x80 : 0);
	memcpy(to, values, v - values);
	return to + (v - values);
}

static void add(const struct member *m, union recording_event *e, __u64 difference)
{
	__u8 *at = e->bytes + m->offset;
	__u64 v64;
	__u32 v32;

	if (m->width == 4 && !m->is_net) { /* most are */
		memcpy(&v32, at, sizeof(v32));
		v32 += difference;
		memcpy(at, &v32, sizeof(v32));
	} else if (m->width == 8 && !m->is_net) {
		memcpy(&v64, at, sizeof(v64));
		v64 += difference;
		memcpy(at, &v64, sizeof(v64));
	} else {
		store(m, e, load(m, e) + difference);
	}
}

static bool get_members(struct cursor *in, const struct layout *l, union recording_event *e)
{
	const __u8 *bits = in->p;
	unsigned int first = 0;

	do {
		if (in->p == in->end)
			return false;
	} while (*in->p++ & 0x80);
	do {
		for (unsigned int left = *bits & 0x7f; left; left &= left - 1) {
			unsigned int i = first + __builtin_ctz(left);
			__u64 difference;

			if (i >= l->n_members || !get_difference(in, &difference))
				return false;
			add(&l->members[i], e, difference);
		}
		first += 7;
	} while (*bits++ & 0x80);
	return true;
}

static size_t frame(__u8 *to, __u8 *end)
{
	__u8 *body = to + 3;
	size_t size = end - body;
	__u8 *start = put_varint(to, size);

	memmove(start, body, size);
	return start - to + size;
}

size_t recording_put_event(struct recording_chunk *c, int conn, int origin,
			   const struct bbr_event *e, __u8 *to)
{
	bool is_new = conn == c->n_conns;
	union recording_event *base = predict(c, conn, origin), next = { .event = *e };
	__u8 *p = to + 3;

	next.event.size -= BBR_EVENT_BASE;
	/* These are not members: they must not make their words differ. */
	base->event.time_ns = e->time_ns;
	base->event.tag = e->tag;
	base->event.major = e->major;
	*p++ = RECORDING_EVENT;
	p = put_varint(p, conn);
	if (is_new)
		p = put_varint(p, origin);
	p = put_difference(p, e->time_ns - c->last_ns);
	p = put_members(algorithm_of(c, origin)->layout, &next, base, p);
	note(c, conn, origin, e->time_ns);
	return frame(to, p);
}

size_t recording_put_algorithm(struct recording_chunk *c, const struct layout *layout,
			       bool is_whole, __u8 *to)
{
	__u32 id = htole32(layout->id);
	__u8 *p = to + 3;

	add_algorithm(c, layout);
	*p++ = RECORDING_ALGORITHM;
	memcpy(p, &id, sizeof(id));
	p += sizeof(id);
	if (is_whole) {
		memcpy(p, layout->description, layout->description_size);
		p += layout->description_size;
	}
	return frame(to, p);
}

size_t recording_put_origin(struct recording_chunk *c, const struct origin *origin, int algorithm,
			    __u8 *to)
{
	struct recording_origin *o = &c->origins[c->n_origins++];
	size_t len = strnlen(origin->name, sizeof(origin->name) - 1);
	__u8 *p = to + 3;

	memset(o, 0, sizeof(*o));
	o->id = origin->id;
	o->algorithm = algorithm;
	o->origin.algorithm = origin->algorithm;
	o->origin.is_kernel = origin->is_kernel;
	memcpy(o->origin.name, origin->name, len);
	*p++ = RECORDING_ORIGIN;
	p = put_varint(p, origin->id);
	*p++ = origin->is_kernel;
	p = put_varint(p, algorithm);
	memcpy(p, origin->name, len);
	return frame(to, p + len);
}

size_t recording_put_profiles(struct recording_chunk *c, int origin,
			      const char (*names)[BBR_PROFILE_NAME_LEN], __u8 *to)
{
	struct recording_origin *o = &c->origins[origin];
	__u8 *p = to + 3, *end;

	/* They may change at any time. What is written is copied first, for the next comparison. */
	memcpy(o->names, names, sizeof(o->names));
	*p++ = RECORDING_PROFILES;
	p = put_varint(p, origin);
	end = p;
	for (int i = 0; i < BBR_PROFILES; i++) {
		size_t len = strnlen(o->names[i], BBR_PROFILE_NAME_LEN - 1);

		memcpy(p, o->names[i], len);
		p += len;
		*p++ = 0;
		if (len)
			end = p;
	}
	return frame(to, end);
}

size_t recording_put_totals(const struct watch_totals *totals, enum recording_type type, __u8 *to)
{
	const struct counters *n = &totals->counters;
	__u8 *p = to + 3;

	*p++ = type;
	p = put_varint(p, n->seq);
	p = put_varint(p, n->acks);
	p = put_varint(p, n->drops_unknown);
	p = put_varint(p, totals->watched_ns);
	p = put_varint(p, totals->unwatched_ns);
	p = put_varint(p, BBR_EV_MAX);
	for (int i = 0; i < BBR_EV_MAX; i++)
		p = put_varint(p, n->received[i]);
	for (int i = 0; i < BBR_EV_MAX; i++)
		p = put_varint(p, n->drops[i]);
	return frame(to, p);
}

size_t recording_record_size(const __u8 *from, size_t size, bool *bad)
{
	struct cursor in = { from, from + size };
	__u64 body;

	*bad = false;
	if (!get_varint(&in, &body)) {
		*bad = size >= 3;
		return 0;
	}
	if (!body || body > RECORDING_RECORD_MAX) {
		*bad = true;
		return 0;
	}
	return body <= (size_t)(in.end - in.p) ? in.p - from + body : 0;
}

/* Says which bound the record is beyond. Returns false. */
static bool too_many(struct recording_record *record, int most, const char *of_these)
{
	record->most = most;
	record->beyond = of_these;
	return false;
}

static bool get_event(struct recording_chunk *c, struct cursor *in, struct recording_record *record,
		      struct bbr_event *e)
{
	__u64 conn, origin, elapsed;
	const struct layout *layout;
	union recording_event *next;
	size_t size;

	if (!get_varint(in, &conn) || conn > (__u64)c->n_conns)
		return false;
	if (conn == RECORDING_CONNS)
		return too_many(record, RECORDING_CONNS, "connections in a chunk");
	if (conn < (__u64)c->n_conns)
		origin = c->conns[conn].origin;
	else if (!get_varint(in, &origin) || origin >= (__u64)c->n_origins)
		return false;
	layout = algorithm_of(c, origin)->layout;
	next = predict(c, conn, origin);
	if (!get_difference(in, &elapsed) || c->last_ns + elapsed >= RECORDING_NS_MAX ||
	    (layout && !get_members(in, layout, next)))
		return false;
	note(c, conn, origin, c->last_ns + elapsed);
	record->origin = origin;
	record->event = NULL;
	if (!layout)
		return true;
	size = BBR_EVENT_BASE +
	       (next->event.size < sizeof(e->tail) ? next->event.size : sizeof(e->tail));
	/* In two parts: for a constant size gcc has `rep movs`, which takes longer than memcpy(). */
	memcpy(e, next, size);
	memcpy((__u8 *)e + size, next->bytes + size, sizeof(*e) - size);
	e->size = size;
	e->major = BBR_ABI_MAJOR;
	e->time_ns = c->last_ns;
	e->tag = c->origins[origin].origin.id;
	record->event = e;
	return true;
}

static bool get_algorithm(struct recording_chunk *c, struct cursor *in,
			  struct recording_record *record)
{
	const struct layout *layout;
	__u32 id;

	if (c->n_algorithms == RECORDING_ALGORITHMS)
		return too_many(record, RECORDING_ALGORITHMS, "algorithms in a chunk");
	if (in->end - in->p < (int)sizeof(id))
		return false;
	memcpy(&id, in->p, sizeof(id));
	in->p += sizeof(id);
	if (in->p == in->end) {
		add_algorithm(c, layout_find(le32toh(id)));
		return true;
	}
	layout = layout_read(in->p, in->end - in->p);
	if (!layout && layout_is_full())
		return too_many(record, LAYOUTS_READ_MAX, "descriptions of other algorithms");
	if (!layout || layout->id != le32toh(id))
		return false;
	add_algorithm(c, layout);
	return true;
}

/* True if it is a valid name, fit for a terminal. */
static bool is_name(const __u8 *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return len && len < BBR_NAME_LEN;
}

static bool get_origin(struct recording_chunk *c, struct cursor *in,
		       struct recording_record *record)
{
	struct recording_origin *o = &c->origins[c->n_origins];
	const struct layout *layout;
	__u64 id, algorithm;
	bool is_kernel;
	size_t len;

	if (c->n_origins == RECORDING_ORIGINS)
		return too_many(record, RECORDING_ORIGINS, "instances in a chunk");
	if (!get_varint(in, &id) || id > UINT32_MAX || in->p == in->end)
		return false;
	is_kernel = *in->p++ & 1;
	if (!get_varint(in, &algorithm) || algorithm >= (__u64)c->n_algorithms)
		return false;
	layout = c->algorithms[algorithm].layout;
	memset(o, 0, sizeof(*o));
	o->id = id;
	o->origin.id = id;
	o->algorithm = algorithm;
	o->origin.algorithm = layout ? layout->algorithm : NULL;
	o->origin.is_kernel = is_kernel;
	o->origin.profiles = (const char(*)[BBR_PROFILE_NAME_LEN])o->names;
	len = in->end - in->p;
	if (!is_name(in->p, len))
		return false;
	memcpy(o->origin.name, in->p, len);
	c->n_origins++;
	return true;
}

static bool get_profiles(struct recording_chunk *c, struct cursor *in)
{
	__u64 origin;

	if (!get_varint(in, &origin) || origin >= (__u64)c->n_origins)
		return false;
	memset(c->origins[origin].names, 0, sizeof(c->origins[origin].names));
	for (int i = 0; i < BBR_PROFILES && in->p < in->end; i++) {
		const __u8 *end = memchr(in->p, 0, in->end - in->p);

		if (!end || end - in->p >= BBR_PROFILE_NAME_LEN)
			return false;
		memcpy(c->origins[origin].names[i], in->p, end - in->p);
		in->p = end + 1;
	}
	return true;
}

static bool get_counts(struct cursor *in, __u64 n, __u64 counts[BBR_EV_MAX])
{
	for (__u64 i = 0; i < n; i++) {
		__u64 value;

		if (!get_varint(in, &value))
			return false;
		counts[i & (BBR_EV_MAX - 1)] += value;
	}
	return true;
}

static bool get_totals(struct cursor *in, struct watch_totals *totals)
{
	struct counters *n = &totals->counters;
	__u64 kinds;

	memset(totals, 0, sizeof(*totals));
	return get_varint(in, &n->seq) && get_varint(in, &n->acks) &&
	       get_varint(in, &n->drops_unknown) && get_varint(in, &totals->watched_ns) &&
	       get_varint(in, &totals->unwatched_ns) && get_varint(in, &kinds) &&
	       get_counts(in, kinds, n->received) && get_counts(in, kinds, n->drops);
}

bool recording_get(struct recording_chunk *c, const __u8 *from, size_t size,
		   struct recording_record *record, struct bbr_event *event)
{
	struct cursor in = { from, from + size };
	bool is_read = true;
	__u64 body;

	get_varint(&in, &body); /* recording_record_size() has checked it */
	record->type = *in.p++;
	record->beyond = NULL;
	if (c->is_lost && record->type != RECORDING_TOTALS && record->type != RECORDING_END)
		record->type = RECORDING_LOST;
	switch (record->type) {
	case RECORDING_TOTALS:
	case RECORDING_END:
		is_read = get_totals(&in, &record->totals);
		break;
	case RECORDING_EVENT:
		is_read = get_event(c, &in, record, event);
		break;
	case RECORDING_ALGORITHM:
		is_read = get_algorithm(c, &in, record);
		break;
	case RECORDING_ORIGIN:
		is_read = get_origin(c, &in, record);
		break;
	case RECORDING_PROFILES:
		is_read = get_profiles(c, &in);
		break;
	}
	c->is_lost |= !is_read;
	return is_read;
}

/* ---- heads of chunks */

static void read_boot_id(__u8 id[16])
{
	char text[64];
	int at = 0;

	text_first_line("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (int i = 0, n; i < 16 && sscanf(text + at, "%2hhx%n", &id[i], &n) == 1; i++) {
		at += n;
		at += text[at] == '-';
	}
}

void recording_run_init(struct recording_run *run, const struct watch_request *request)
{
	memset(run, 0, sizeof(*run));
	run->id = realtime_ns();
	run->epoch_ns = realtime_ns() - now_ns();
	run->sampling = request->sampling;
	run->interval_ns = request->interval_ns;
	read_boot_id(run->boot_id);
}

/* The bytes of a head, see format.h. */
struct head_bytes {
	char magic[8];
	__u8 major, minor;
	__u16 head_size;
	__u32 head_crc;
	__u32 size, raw_size, crc, records, events, sampling;
	__u64 interval_ns, first_ns, last_ns, epoch_ns, run;
	__u8 boot_id[16];
};
_Static_assert(sizeof(struct head_bytes) == RECORDING_HEAD, "head_bytes has no gaps");

/* What is a number there, and in struct recording_head. */
#define HEAD_NUMBERS(X)                     \
	X(32, size, size)                   \
	X(32, raw_size, raw_size)           \
	X(32, crc, crc)                     \
	X(32, records, records)             \
	X(32, events, events)               \
	X(32, sampling, run.sampling)       \
	X(64, interval_ns, run.interval_ns) \
	X(64, first_ns, first_ns)           \
	X(64, last_ns, last_ns)             \
	X(64, epoch_ns, run.epoch_ns)       \
	X(64, run, run.id)

static __u32 head_crc(const __u8 *head, size_t size)
{
	static const __u8 zeros[4];
	__u32 crc = crc32(0, head, 12);

	crc = crc32(crc, zeros, sizeof(zeros));
	return crc32(crc, head + 16, size - 16);
}

void recording_head_write(const struct recording_head *head, __u8 to[RECORDING_HEAD])
{
	struct head_bytes bytes = { .major = RECORDING_MAJOR,
				    .minor = RECORDING_MINOR,
				    .head_size = htole16(RECORDING_HEAD) };

#define X(bits, byte, member) bytes.byte = htole##bits(head->member);
	HEAD_NUMBERS(X)
#undef X
	memcpy(bytes.magic, RECORDING_MAGIC, sizeof(bytes.magic));
	memcpy(bytes.boot_id, head->run.boot_id, sizeof(bytes.boot_id));
	bytes.head_crc = htole32(head_crc((const __u8 *)&bytes, sizeof(bytes)));
	memcpy(to, &bytes, sizeof(bytes));
}

enum recording_head_error recording_head_read(struct recording_head *head, const __u8 *from,
					      size_t size)
{
	struct head_bytes bytes;

	if (memcmp(from, RECORDING_MAGIC, size < 8 ? size : 8))
		return RECORDING_HEAD_BAD;
	if (size < RECORDING_PREFIX)
		return RECORDING_HEAD_SHORT;
	memcpy(&bytes, from, size < sizeof(bytes) ? size : sizeof(bytes));
	head->major = bytes.major;
	head->head_size = le16toh(bytes.head_size);
	if (head->head_size < RECORDING_PREFIX || head->head_size > RECORDING_HEAD_MAX)
		return RECORDING_HEAD_BAD;
	if (size < head->head_size)
		return RECORDING_HEAD_SHORT;
	/* The CRC covers `major`: a damaged one does not pass for another major. */
	if (le32toh(bytes.head_crc) != head_crc(from, head->head_size))
		return RECORDING_HEAD_BAD;
	if (head->major != RECORDING_MAJOR)
		return RECORDING_HEAD_OTHER;
	if (head->head_size < RECORDING_HEAD)
		return RECORDING_HEAD_BAD;
#define X(bits, byte, member) head->member = le##bits##toh(bytes.byte);
	HEAD_NUMBERS(X)
#undef X
	memcpy(head->run.boot_id, bytes.boot_id, sizeof(bytes.boot_id));
	if (head->size > RECORDING_SIZE_MAX || head->raw_size > RECORDING_SIZE_MAX)
		return RECORDING_HEAD_BAD;
	if (head->run.epoch_ns > RECORDING_NS_MAX || head->run.epoch_ns < -RECORDING_NS_MAX)
		return RECORDING_HEAD_BAD;
	return RECORDING_HEAD_OK;
}
