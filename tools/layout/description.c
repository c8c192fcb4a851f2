// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_bbr/abi.h"
#include "event/field.h"
#include "layout.h"
#include "cli/err.h"

#define TEXT_MAX 255
#define MAX_FIELDS 1024
#define TEXT_CHARS                                                          \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-" \
	" :;,/%()+=[]#*@!?'"
#define KEY_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

enum member_bits {
	MEMBER_WIDTH = 0xf,
	MEMBER_COMMON = 1 << 4,
	MEMBER_NET = 1 << 5,
};

/* ---- writing */

struct sink {
	__u8 *p, *end;
	bool failed;
};

static void write_bytes(struct sink *s, const void *from, size_t size)
{
	s->failed |= size > (size_t)(s->end - s->p);
	if (s->failed)
		return;
	memcpy(s->p, from, size);
	s->p += size;
}

static void write_number(struct sink *s, __u64 value)
{
	__u8 coded[VARINT_MAX];

	write_bytes(s, coded, put_varint(coded, value) - coded);
}

static void write_text(struct sink *s, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	s->failed |= len > TEXT_MAX || (text && text[strspn(text, TEXT_CHARS)]);
	write_number(s, len);
	write_bytes(s, text ? text : "", len);
}

static void write_texts(struct sink *s, const char *const *texts, unsigned int n)
{
	write_number(s, n);
	for (unsigned int i = 0; i < n; i++)
		write_text(s, texts[i]);
}

static void write_member(struct sink *s, const struct member *m)
{
	__u8 bits = m->width | (m->is_common ? MEMBER_COMMON : 0) | (m->is_net ? MEMBER_NET : 0);

	write_bytes(s, &bits, 1);
	write_text(s, m->name);
	if (!m->is_common)
		write_number(s, m->offset - BBR_EVENT_BASE);
}

static void write_field(struct sink *s, const struct layout *l, const struct field *f)
{
	__u8 body[4096];
	struct sink b = { body, body + sizeof(body), false };
	unsigned int member = layout_member_of(l, f);

	write_text(&b, f->key);
	write_number(&b, member);
	write_number(&b, f->unit);
	write_number(&b, f->mask);
	write_number(&b, f->has_unknown);
	if (f->has_unknown)
		write_number(&b, f->unknown);
	write_number(&b, f->needs);
	write_texts(&b, f->names, f->n_names);
	write_text(&b, f->text);
	write_number(&b, f->order);
	write_text(&b, f->text_if.key);
	write_number(&b, f->text_if.least);
	write_number(&b, f->lane);
	write_text(&b, f->curve);
	s->failed |= b.failed || member == l->n_members;
	write_number(s, b.p - body);
	write_bytes(s, body, b.p - body);
}

size_t description_write(const struct layout *l, __u8 *to)
{
	struct sink s = { to, to + DESCRIPTION_MAX, false };
	const struct algorithm *a = l->algorithm;

	write_text(&s, a->name);
	write_text(&s, a->instance);
	write_text(&s, a->title);
	write_number(&s, l->n_members);
	for (unsigned int i = 0; i < l->n_members; i++)
		write_member(&s, &l->members[i]);
	write_number(&s, a->n_modes);
	for (unsigned int i = 0; i < a->n_modes; i++) {
		write_text(&s, a->modes[i].name);
		write_texts(&s, a->modes[i].phases, a->modes[i].n_phases);
	}
	write_texts(&s, a->reasons, a->n_reasons);
	write_number(&s, a->n_fields);
	for (unsigned int i = 0; i < a->n_fields; i++)
		write_field(&s, l, &a->fields[i]);
	return s.failed ? 0 : s.p - to;
}

/* ---- reading */

/* A piece of the memory that one algorithm needs. */
struct block {
	struct block *next;
	max_align_t bytes[];
};

struct parser {
	struct cursor in;
	struct layout *l;
	struct block *blocks;
	/*
	 * The algorithm of this name that these tools know, or NULL. A description says what the
	 * values are, and not how bbrmon top shows them and which of them are findings: that comes
	 * from here.
	 */
	const struct algorithm *known;
	__u16 end; /* of the members that have a place so far */
};

static void *new_block(struct parser *p, size_t n, size_t size)
{
	struct block *b = mem_new(1, sizeof(*b) + n * size);

	b->next = p->blocks;
	p->blocks = b;
	return b->bytes;
}

void description_free(void *memory)
{
	struct block *b = memory, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
}

/* Each element that it counts takes at least a byte. */
static bool read_count(struct parser *p, __u64 max, __u64 *n)
{
	return get_varint(&p->in, n) && *n <= max && *n <= (__u64)(p->in.end - p->in.p);
}

static bool read_at_most(struct parser *p, __u64 max, __u64 *value)
{
	return get_varint(&p->in, value) && *value <= max;
}

/* Allows only `chars`: people see the text, on a terminal or on a page. */
static bool read_text(struct parser *p, const char *chars, const char **text)
{
	__u64 len;
	char *copy;

	if (!read_count(p, TEXT_MAX, &len))
		return false;
	copy = new_block(p, len + 1, 1);
	memcpy(copy, p->in.p, len);
	p->in.p += len;
	*text = copy;
	return strspn(copy, chars) == len;
}

static bool read_key(struct parser *p, const char **text)
{
	return read_text(p, KEY_CHARS, text) && **text;
}

static bool read_texts(struct parser *p, const char *const **texts, __u8 *n)
{
	const char **list;
	__u64 count;

	if (!read_count(p, UINT8_MAX, &count))
		return false;
	*n = count;
	if (!count)
		return true;
	list = new_block(p, count, sizeof(*list));
	*texts = list;
	for (__u64 i = 0; i < count; i++)
		if (!read_text(p, TEXT_CHARS, &list[i]))
			return false;
	return true;
}

/*
 * A member of every event goes where it is today. If today's event has none of its name and width,
 * it goes behind everything that has a place.
 */
static bool place_common(struct parser *p, struct member *m)
{
	const struct member *today = layout_common(m->name);

	if (today && today->width == m->width) {
		m->offset = today->offset;
		return true;
	}
	m->offset = (p->end + m->width - 1) / m->width * m->width;
	if (m->offset + m->width > LAYOUT_ROOM)
		return false;
	p->end = m->offset + m->width;
	return true;
}

static bool read_member(struct parser *p, struct member *m)
{
	__u64 offset;
	__u8 bits;

	if (p->in.p == p->in.end)
		return false;
	bits = *p->in.p++;
	m->width = bits & MEMBER_WIDTH;
	m->is_common = bits & MEMBER_COMMON;
	m->is_net = bits & MEMBER_NET;
	if (m->width != 1 && m->width != 2 && m->width != 4 && m->width != 8)
		return false;
	if (!read_text(p, TEXT_CHARS, &m->name))
		return false;
	if (m->is_common)
		return true;
	if (!get_varint(&p->in, &offset) || offset > LAYOUT_ROOM - BBR_EVENT_BASE - m->width)
		return false;
	m->offset = BBR_EVENT_BASE + offset;
	if (p->end < m->offset + m->width)
		p->end = m->offset + m->width;
	return true;
}

static bool read_members(struct parser *p)
{
	struct layout *l = p->l;
	__u64 n;

	p->end = sizeof(struct bbr_event);
	if (!read_count(p, LAYOUT_MEMBERS, &n))
		return false;
	for (; l->n_members < n; l->n_members++)
		if (!read_member(p, &l->members[l->n_members]))
			return false;
	for (unsigned int i = 0; i < l->n_members; i++)
		if (l->members[i].is_common && !place_common(p, &l->members[i]))
			return false;
	l->size = p->end;
	return true;
}

static bool read_modes(struct parser *p, struct algorithm *a)
{
	struct algorithm_mode *modes;
	__u64 n;

	if (!read_count(p, UINT8_MAX, &n))
		return false;
	modes = new_block(p, n, sizeof(*modes));
	a->modes = modes;
	a->n_modes = n;
	for (__u64 i = 0; i < n; i++) {
		if (!read_text(p, TEXT_CHARS, &modes[i].name) ||
		    !read_texts(p, &modes[i].phases, &modes[i].n_phases))
			return false;
		for (int k = 0; p->known && k < p->known->n_modes; k++) {
			if (strcmp(p->known->modes[k].name, modes[i].name))
				continue;
			modes[i].mark = p->known->modes[k].mark;
			modes[i].rarity = p->known->modes[k].rarity;
		}
	}
	return true;
}

static void take_looks(const struct parser *p, struct field *f)
{
	const struct field *known = p->known ? p->known->fields : NULL;

	for (int i = 0; known && i < p->known->n_fields; i++, known++) {
		if (strcmp(known->key, f->key))
			continue;
		f->page = known->page;
		f->page_order = known->page_order;
		f->calm = known->calm;
		f->finding = known->finding;
	}
}

/* A later minor's unit becomes a count, its lane none. */
static bool read_field_body(struct parser *p, struct field *f, const struct member **member)
{
	__u64 at, unit, mask, has_unknown, unknown = 0, needs, order, least, lane;

	if (!read_key(p, &f->key) || !get_varint(&p->in, &at) || at >= p->l->n_members ||
	    !get_varint(&p->in, &unit) || !get_varint(&p->in, &mask) ||
	    !read_at_most(p, 1, &has_unknown) || (has_unknown && !get_varint(&p->in, &unknown)) ||
	    !read_at_most(p, UINT16_MAX, &needs) || !read_texts(p, &f->names, &f->n_names) ||
	    !read_text(p, TEXT_CHARS, &f->text) || !read_at_most(p, UINT8_MAX, &order) ||
	    !read_text(p, KEY_CHARS, &f->text_if.key) || !get_varint(&p->in, &least) ||
	    !get_varint(&p->in, &lane) || !read_text(p, TEXT_CHARS, &f->curve))
		return false;
	/* Empty names are left out. */
	f->text = *f->text ? f->text : NULL;
	f->text_if.key = *f->text_if.key ? f->text_if.key : NULL;
	f->text_if.least = least;
	f->curve = *f->curve ? f->curve : NULL;
	*member = &p->l->members[at];
	f->offset = (*member)->offset;
	f->width = (*member)->width;
	f->unit = unit <= FIELD_NAME ? unit : FIELD_COUNT;
	f->mask = mask;
	f->has_unknown = has_unknown;
	f->unknown = unknown;
	f->needs = needs;
	f->order = order;
	if (f->curve && lane < LANES && (lane != LANE_STATE || f->unit == FIELD_NAME))
		f->lane = lane;
	take_looks(p, f);
	return true;
}

static bool read_field(struct parser *p, struct field *f, const struct member **member)
{
	const __u8 *end = p->in.end;
	__u64 size;
	bool ok;

	if (!read_count(p, DESCRIPTION_MAX, &size))
		return false;
	p->in.end = p->in.p + size;
	ok = read_field_body(p, f, member);
	p->in.p = p->in.end;
	p->in.end = end;
	return ok;
}

/* True if JSON already has a member of this name. Of two, it is unclear which one counts. */
static bool is_taken(const struct algorithm *a, const char *key)
{
	static const char *const beside_fields[] = {
		"time_ns", "instance", "event", "conn", "seq", "netns", "local", "lport", "remote",
		"rport", "family", "from", "to", "from_phase", "to_phase", "reason", "profile",
		"profile_index", "params_gen",
		/* In a snapshot, and in top's table. */
		"state", "cgroup", "processes", "refresh", "cookie", "ended", "mode_ms", "rate_bps",
		"inflight_max", "bdp", "lost_interval", "bytes_retrans_interval"
	};

	for (size_t i = 0; i < sizeof(beside_fields) / sizeof(beside_fields[0]); i++)
		if (!strcmp(beside_fields[i], key))
			return true;
	return field_find(a, key);
}

/*
 * Leaves out fields that struct bbr_event has no room for, and those whose key is taken: their
 * members are only decoded.
 */
static bool read_fields(struct parser *p, struct algorithm *a)
{
	const struct member *member;
	struct field *fields;
	__u64 n;

	if (!read_count(p, MAX_FIELDS, &n))
		return false;
	fields = new_block(p, n, sizeof(*fields));
	a->fields = fields;
	for (__u64 i = 0; i < n; i++) {
		struct field *f = &fields[a->n_fields];

		memset(f, 0, sizeof(*f));
		if (!read_field(p, f, &member))
			return false;
		if (f->offset + f->width > (int)sizeof(struct bbr_event) || is_taken(a, f->key))
			continue;
		a->n_fields++;
		if (!member->is_common && a->tail_size < f->offset + f->width - BBR_EVENT_BASE)
			a->tail_size = f->offset + f->width - BBR_EVENT_BASE;
	}
	return true;
}

/* The steps of a reason are not described: it means what it does here if it has the same name. */
static const struct algorithm_step *known_steps(const struct parser *p, const struct algorithm *a)
{
	if (!p->known || a->n_reasons > p->known->n_reasons)
		return NULL;
	for (int i = 0; i < a->n_reasons; i++)
		if (strcmp(a->reasons[i], p->known->reasons[i]))
			return NULL;
	return p->known->steps;
}

static bool read_algorithm(struct parser *p, struct algorithm *a)
{
	if (!read_key(p, &a->name) || strlen(a->name) >= BBR_NAME_LEN)
		return false;
	p->known = algorithm_find(a->name);
	if (!read_key(p, &a->instance) || strlen(a->instance) >= BBR_NAME_LEN ||
	    !read_text(p, TEXT_CHARS, &a->title) || !read_members(p) || !read_modes(p, a) ||
	    !read_texts(p, &a->reasons, &a->n_reasons) || !read_fields(p, a))
		return false;
	a->steps = known_steps(p, a);
	return true;
}

bool description_read(struct layout *l, const __u8 *from, size_t size)
{
	struct parser p = { .in = { from, from + size }, .l = l };
	struct algorithm *a = new_block(&p, 1, sizeof(*a));
	bool ok = read_algorithm(&p, a);

	l->algorithm = a;
	l->memory = p.blocks;
	return ok;
}
