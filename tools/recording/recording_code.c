// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>

#include "recording_code.h"

/* A member of struct bbr_event. */
struct field {
	__u16 offset;
	__u8 width;
};

#define FIELD(member) \
	{ offsetof(struct bbr_event, member), sizeof(((struct bbr_event *)NULL)->member) },

static const struct field fields[] = { RECORDING_FIELDS(FIELD) };

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))
_Static_assert(N_FIELDS <= 64, "bits of a record");

#define PLUS_WIDTH(member) +sizeof(((struct bbr_event *)NULL)->member)
_Static_assert(RECORDING_FIELDS(PLUS_WIDTH) ==
		       sizeof(struct bbr_event) - sizeof(__u64) - sizeof(__u32),
	       "every member but time_ns and tag is there once");

struct cursor {
	const __u8 *p, *end;
};

static __u8 *put_varint(__u8 *to, __u64 value)
{
	while (value >= 0x80) {
		*to++ = value | 0x80;
		value >>= 7;
	}
	*to++ = value;
	return to;
}

static bool get_varint(struct cursor *in, __u64 *value)
{
	*value = 0;
	for (int shift = 0; shift < 64 && in->p < in->end; shift += 7) {
		__u8 byte = *in->p++;

		*value |= (__u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static __u8 *put_difference(__u8 *to, __s64 value)
{
	return put_varint(to, (__u64)value << 1 ^ (value < 0 ? ~0ull : 0));
}

static bool get_difference(struct cursor *in, __u64 *value)
{
	__u64 coded;

	if (!get_varint(in, &coded))
		return false;
	*value = coded >> 1 ^ (coded & 1 ? ~0ull : 0);
	return true;
}

/* Those in network byte order are as numbers what people write, on any machine. */
static bool is_net16(const struct field *f)
{
	return f->offset == offsetof(struct bbr_event, lport) ||
	       f->offset == offsetof(struct bbr_event, rport);
}

static bool is_net32(const struct field *f)
{
	return f->offset >= offsetof(struct bbr_event, laddr) &&
	       f->offset < offsetof(struct bbr_event, lport);
}

static __u64 field_get(const struct field *f, const struct bbr_event *e)
{
	const __u8 *from = (const __u8 *)e + f->offset;
	__u64 v64;
	__u32 v32;
	__u16 v16;

	switch (f->width) {
	case 1:
		return *from;
	case 2:
		memcpy(&v16, from, 2);
		return is_net16(f) ? ntohs(v16) : v16;
	case 4:
		memcpy(&v32, from, 4);
		return is_net32(f) ? ntohl(v32) : v32;
	default:
		memcpy(&v64, from, 8);
		return v64;
	}
}

static void field_set(const struct field *f, struct bbr_event *e, __u64 value)
{
	__u8 *to = (__u8 *)e + f->offset;
	__u32 v32 = value;
	__u16 v16 = value;

	switch (f->width) {
	case 1:
		*to = value;
		break;
	case 2:
		v16 = is_net16(f) ? htons(v16) : v16;
		memcpy(to, &v16, 2);
		break;
	case 4:
		v32 = is_net32(f) ? htonl(v32) : v32;
		memcpy(to, &v32, 4);
		break;
	default:
		memcpy(to, &value, 8);
	}
}

/* The shortest difference modulo the member's width. */
static __s64 field_difference(const struct field *f, __u64 value, __u64 base)
{
	switch (f->width) {
	case 1:
		return (__s8)(value - base);
	case 2:
		return (__s16)(value - base);
	case 4:
		return (__s32)(value - base);
	default:
		return value - base;
	}
}

void recording_chunk_init(struct recording_chunk *c)
{
	c->n_origins = 0;
	c->n_conns = 0;
	c->last_conn = -1;
	c->last_ns = 0;
}

/* What the next event of a connection is expected to be, but for its time. */
static void predict(const struct recording_chunk *c, int conn, int origin, struct bbr_event *base)
{
	if (conn < c->n_conns)
		*base = c->conns[conn].last;
	else if (c->last_conn >= 0)
		*base = c->conns[c->last_conn].last;
	else
		memset(base, 0, sizeof(*base));
	base->seq = c->origins[origin].next_seq;
}

static void note(struct recording_chunk *c, int conn, int origin, const struct bbr_event *e)
{
	if (conn == c->n_conns)
		c->n_conns++;
	c->conns[conn].origin = origin;
	c->conns[conn].last = *e;
	c->origins[origin].next_seq = e->seq + 1;
	c->last_conn = conn;
	c->last_ns = e->time_ns;
}

/* Puts the size in front of a body that was written behind room for it. */
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
	__u8 values[N_FIELDS * 10], *v = values, *p = to + 3;
	size_t tail = e->size > sizeof(*e) ? e->size - sizeof(*e) : 0;
	struct bbr_event base;
	__u64 bits = 0;

	predict(c, conn, origin, &base);
	for (size_t i = 0; i < N_FIELDS; i++) {
		__s64 difference = field_difference(&fields[i], field_get(&fields[i], e),
						    field_get(&fields[i], &base));

		if (!difference)
			continue;
		bits |= 1ull << i;
		v = put_difference(v, difference);
	}
	*p++ = RECORDING_EVENT;
	p = put_varint(p, conn);
	if (conn == c->n_conns)
		p = put_varint(p, origin);
	p = put_difference(p, e->time_ns - c->last_ns);
	p = put_varint(p, bits);
	memcpy(p, values, v - values);
	p += v - values;
	memcpy(p, e + 1, tail);
	note(c, conn, origin, e);
	return frame(to, p + tail);
}

size_t recording_put_origin(struct recording_chunk *c, const struct origin *origin, __u8 *to)
{
	struct recording_origin *o = &c->origins[c->n_origins++];
	size_t len = strnlen(origin->name, sizeof(origin->name) - 1);
	__u8 *p = to + 3;

	memset(o, 0, sizeof(*o));
	o->id = origin->id;
	o->origin.is_kernel = origin->is_kernel;
	memcpy(o->origin.name, origin->name, len);
	*p++ = RECORDING_ORIGIN;
	p = put_varint(p, origin->id);
	*p++ = origin->is_kernel;
	memcpy(p, origin->name, len);
	return frame(to, p + len);
}

size_t recording_put_profiles(struct recording_chunk *c, int origin,
			      const char (*names)[BBR_PROFILE_NAME_LEN], __u8 *to)
{
	struct recording_origin *o = &c->origins[origin];
	__u8 *p = to + 3, *end;

	/* They may change under our hands: what is compared with next time is what was written. */
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

static bool get_fields(struct cursor *in, struct bbr_event *e)
{
	__u64 bits;

	if (!get_varint(in, &bits) || (N_FIELDS < 64 && bits >> (N_FIELDS % 64)))
		return false;
	for (; bits; bits &= bits - 1) {
		const struct field *f = &fields[__builtin_ctzll(bits)];
		__u64 difference;

		if (!get_difference(in, &difference))
			return false;
		field_set(f, e, field_get(f, e) + difference);
	}
	return true;
}

static bool get_event(struct recording_chunk *c, struct cursor *in, struct recording_record *record,
		      struct bbr_event *e)
{
	__u64 conn, origin, elapsed;
	struct bbr_event next;
	size_t tail;

	if (!get_varint(in, &conn) || conn > (__u64)c->n_conns || conn >= RECORDING_CONNS)
		return false;
	if (conn < (__u64)c->n_conns)
		origin = c->conns[conn].origin;
	else if (!get_varint(in, &origin) || origin >= (__u64)c->n_origins)
		return false;
	predict(c, conn, origin, &next);
	if (!get_difference(in, &elapsed) || !get_fields(in, &next))
		return false;
	next.time_ns = c->last_ns + elapsed;
	next.tag = c->origins[origin].origin.id;
	tail = in->end - in->p;
	if (next.size != sizeof(next) + tail)
		return false;
	note(c, conn, origin, &next);
	*e = next;
	memcpy(e + 1, in->p, tail);
	record->origin = origin;
	return true;
}

/* What the terminal gets to see. */
static bool is_name(const __u8 *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return len && len < BBR_NAME_LEN;
}

static bool get_origin(struct recording_chunk *c, struct cursor *in)
{
	struct recording_origin *o = &c->origins[c->n_origins];
	__u64 id;
	size_t len;

	if (c->n_origins == RECORDING_ORIGINS || !get_varint(in, &id) || id > UINT32_MAX ||
	    in->p == in->end)
		return false;
	memset(o, 0, sizeof(*o));
	o->id = id;
	o->origin.id = id;
	o->origin.is_kernel = *in->p++ & 1;
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
	__u64 body;

	if (!get_varint(&in, &body) || in.p == in.end)
		return false;
	record->type = *in.p++;
	switch (record->type) {
	case RECORDING_EVENT:
		return get_event(c, &in, record, event);
	case RECORDING_ORIGIN:
		return get_origin(c, &in);
	case RECORDING_PROFILES:
		return get_profiles(c, &in);
	case RECORDING_TOTALS:
	case RECORDING_END:
		return get_totals(&in, &record->totals);
	default:
		return true;
	}
}
