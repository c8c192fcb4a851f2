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

#define ANY (~0ull)

/* A piece of the memory that one algorithm needs. */
struct block {
	struct block *next;
	max_align_t bytes[];
};

/*
 * Writes or reads a description, by the same functions, so that both have the same parts. Each gets
 * the value to write, and returns it; when reading, it returns what was read instead. After a
 * failure nothing more is written or read.
 */
struct codec {
	bool is_reading, failed;
	__u8 *to, *to_end;
	struct cursor in;
	struct layout *l;
	struct block *blocks;
	/*
	 * The algorithm of this name that these tools know, or NULL. A description says what the
	 * values are, and not how bbrmon top shows them and which of them are findings: that comes
	 * from here.
	 */
	const struct algorithm *known;
	__u16 members_end; /* of those that have a place so far */
};

static void *new_block(struct codec *c, size_t n, size_t size)
{
	struct block *b = mem_new(1, sizeof(*b) + n * size);

	b->next = c->blocks;
	c->blocks = b;
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

static void write_bytes(struct codec *c, const void *from, size_t size)
{
	c->failed |= size > (size_t)(c->to_end - c->to);
	if (c->failed)
		return;
	memcpy(c->to, from, size);
	c->to += size;
}

static __u8 code_byte(struct codec *c, __u8 byte)
{
	if (!c->is_reading)
		write_bytes(c, &byte, 1);
	else if (c->failed || c->in.p == c->in.end)
		c->failed = true;
	else
		byte = *c->in.p++;
	return byte;
}

static __u64 code_number(struct codec *c, __u64 value, __u64 max)
{
	__u8 coded[VARINT_MAX];

	if (!c->is_reading)
		write_bytes(c, coded, put_varint(coded, value) - coded);
	else if (!c->failed)
		c->failed = !get_varint(&c->in, &value);
	c->failed |= value > max;
	return c->failed ? 0 : value;
}

/* Each element that it counts takes at least a byte. */
static __u64 code_count(struct codec *c, __u64 n, __u64 max)
{
	n = code_number(c, n, max);
	c->failed |= c->is_reading && n > (__u64)(c->in.end - c->in.p);
	return c->failed ? 0 : n;
}

/* NULL is written as "". Allows only `chars`: people see the text, on a terminal or on a page. */
static const char *code_text(struct codec *c, const char *text, const char *chars)
{
	size_t len = code_count(c, text ? strlen(text) : 0, TEXT_MAX);

	if (c->failed)
		return "";
	if (c->is_reading) {
		text = memcpy(new_block(c, len + 1, 1), c->in.p, len);
		c->in.p += len;
	} else {
		text = text ? text : "";
		write_bytes(c, text, len);
	}
	c->failed |= strspn(text, chars) != len;
	return text;
}

static const char *code_key(struct codec *c, const char *key)
{
	key = code_text(c, key, KEY_CHARS);
	c->failed |= !*key;
	return key;
}

static void code_texts(struct codec *c, const char *const **texts, __u8 *n)
{
	const char **list = NULL;

	*n = code_count(c, *n, UINT8_MAX);
	if (c->is_reading && *n)
		*texts = list = new_block(c, *n, sizeof(*list));
	for (int i = 0; i < *n; i++) {
		const char *text = code_text(c, (*texts)[i], TEXT_CHARS);

		if (list)
			list[i] = text;
	}
}

/*
 * A member of every event goes where it is today. If today's event has none of its name and width,
 * it goes behind everything that has a place.
 */
static bool place_common(struct codec *c, struct member *m)
{
	const struct member *today = layout_common(m->name);

	if (today && today->width == m->width) {
		m->offset = today->offset;
		return true;
	}
	m->offset = (c->members_end + m->width - 1) / m->width * m->width;
	if (m->offset + m->width > LAYOUT_ROOM)
		return false;
	c->members_end = m->offset + m->width;
	return true;
}

static void code_member(struct codec *c, struct member *m)
{
	__u8 bits = code_byte(c, m->width | (m->is_common ? MEMBER_COMMON : 0) |
					 (m->is_net ? MEMBER_NET : 0));

	m->width = bits & MEMBER_WIDTH;
	m->is_common = bits & MEMBER_COMMON;
	m->is_net = bits & MEMBER_NET;
	c->failed |= m->width != 1 && m->width != 2 && m->width != 4 && m->width != 8;
	m->name = code_text(c, m->name, TEXT_CHARS);
	if (m->is_common)
		return;
	m->offset = BBR_EVENT_BASE + code_number(c, m->offset - BBR_EVENT_BASE,
						 LAYOUT_ROOM - BBR_EVENT_BASE - m->width);
	if (c->members_end < m->offset + m->width)
		c->members_end = m->offset + m->width;
}

static void code_members(struct codec *c)
{
	struct layout *l = c->l;
	unsigned int n = code_count(c, l->n_members, LAYOUT_MEMBERS);

	c->members_end = sizeof(struct bbr_event);
	for (unsigned int i = 0; i < n; i++) {
		struct member m = l->members[i];

		code_member(c, &m);
		if (c->is_reading)
			l->members[i] = m;
	}
	if (c->failed || !c->is_reading)
		return;
	l->n_members = n;
	for (unsigned int i = 0; i < n; i++)
		c->failed |= l->members[i].is_common && !place_common(c, &l->members[i]);
	l->size = c->members_end;
}

static void code_modes(struct codec *c, struct algorithm *a)
{
	struct algorithm_mode *modes = NULL;

	a->n_modes = code_count(c, a->n_modes, UINT8_MAX);
	if (c->is_reading)
		a->modes = modes = new_block(c, a->n_modes, sizeof(*modes));
	for (int i = 0; i < a->n_modes; i++) {
		struct algorithm_mode mode = a->modes[i];

		mode.name = code_text(c, mode.name, TEXT_CHARS);
		code_texts(c, &mode.phases, &mode.n_phases);
		for (int k = 0; c->known && k < c->known->n_modes; k++) {
			if (strcmp(c->known->modes[k].name, mode.name))
				continue;
			mode.mark = c->known->modes[k].mark;
			mode.rarity = c->known->modes[k].rarity;
		}
		if (modes)
			modes[i] = mode;
	}
}

static void take_looks(const struct codec *c, struct field *f)
{
	const struct field *known = c->known ? c->known->fields : NULL;

	for (int i = 0; known && i < c->known->n_fields; i++, known++) {
		if (strcmp(known->key, f->key))
			continue;
		f->page = known->page;
		f->page_order = known->page_order;
		f->calm = known->calm;
		f->finding = known->finding;
	}
}

/* When reading, a later minor's unit becomes a count, its lane none. Returns the field's member. */
static const struct member *code_field_body(struct codec *c, struct field *f)
{
	__u64 member, unit, lane;

	f->key = code_key(c, f->key);
	member = code_number(c, layout_member_of(c->l, f), ANY);
	c->failed |= member >= c->l->n_members;
	unit = code_number(c, f->unit, ANY);
	f->mask = code_number(c, f->mask, ANY);
	f->has_unknown = code_number(c, f->has_unknown, 1);
	if (f->has_unknown)
		f->unknown = code_number(c, f->unknown, ANY);
	f->needs = code_number(c, f->needs, UINT16_MAX);
	code_texts(c, &f->names, &f->n_names);
	f->text = code_text(c, f->text, TEXT_CHARS);
	f->order = code_number(c, f->order, UINT8_MAX);
	f->text_if.key = code_text(c, f->text_if.key, KEY_CHARS);
	f->text_if.least = code_number(c, f->text_if.least, ANY);
	lane = code_number(c, f->lane, ANY);
	f->curve = code_text(c, f->curve, TEXT_CHARS);
	if (c->failed || !c->is_reading)
		return NULL;
	f->text = *f->text ? f->text : NULL;
	f->text_if.key = *f->text_if.key ? f->text_if.key : NULL;
	f->curve = *f->curve ? f->curve : NULL;
	f->offset = c->l->members[member].offset;
	f->width = c->l->members[member].width;
	f->unit = unit <= FIELD_NAME ? unit : FIELD_COUNT;
	if (f->curve && lane < LANES && (lane != LANE_STATE || f->unit == FIELD_NAME))
		f->lane = lane;
	take_looks(c, f);
	return &c->l->members[member];
}

/* The body behind its size, which says where the next field begins. */
static const struct member *code_field(struct codec *c, struct field *f)
{
	const struct member *member;

	if (c->is_reading) {
		size_t size = code_count(c, 0, DESCRIPTION_MAX);
		const __u8 *end = c->in.end;

		c->in.end = c->in.p + size;
		member = code_field_body(c, f);
		c->in.p = c->in.end;
		c->in.end = end;
	} else {
		__u8 body[4096];
		struct codec b = { .to = body, .to_end = body + sizeof(body), .l = c->l };

		member = code_field_body(&b, f);
		c->failed |= b.failed;
		code_number(c, b.to - body, ANY);
		write_bytes(c, body, b.to - body);
	}
	return member;
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
static void code_fields(struct codec *c, struct algorithm *a)
{
	unsigned int n = code_count(c, a->n_fields, MAX_FIELDS);
	struct field *fields = NULL;

	if (c->is_reading)
		a->fields = fields = new_block(c, n, sizeof(*fields));
	for (unsigned int i = 0; i < n; i++) {
		struct field f = a->fields[i];
		const struct member *member = code_field(c, &f);
		int end = f.offset + f.width;

		if (!member || end > (int)sizeof(struct bbr_event) || is_taken(a, f.key))
			continue;
		fields[a->n_fields++] = f;
		if (!member->is_common && a->tail_size < end - BBR_EVENT_BASE)
			a->tail_size = end - BBR_EVENT_BASE;
	}
}

/* The steps of a reason are not described: it means what it does here if it has the same name. */
static const struct algorithm_step *known_steps(const struct codec *c, const struct algorithm *a)
{
	if (!c->known || a->n_reasons > c->known->n_reasons)
		return NULL;
	for (int i = 0; i < a->n_reasons; i++)
		if (strcmp(a->reasons[i], c->known->reasons[i]))
			return NULL;
	return c->known->steps;
}

static void code_algorithm(struct codec *c, struct algorithm *a)
{
	a->name = code_key(c, a->name);
	c->known = c->is_reading ? algorithm_find(a->name) : NULL;
	a->instance = code_key(c, a->instance);
	c->failed |= strlen(a->name) >= BBR_NAME_LEN || strlen(a->instance) >= BBR_NAME_LEN;
	a->title = code_text(c, a->title, TEXT_CHARS);
	code_members(c);
	code_modes(c, a);
	code_texts(c, &a->reasons, &a->n_reasons);
	code_fields(c, a);
	if (c->is_reading && !c->failed)
		a->steps = known_steps(c, a);
}

size_t description_write(struct layout *l, __u8 *to)
{
	struct codec c = { .to = to, .to_end = to + DESCRIPTION_MAX, .l = l };
	struct algorithm a = *l->algorithm;

	code_algorithm(&c, &a);
	return c.failed ? 0 : c.to - to;
}

bool description_read(struct layout *l, const __u8 *from, size_t size)
{
	struct codec c = { .is_reading = true, .in = { from, from + size }, .l = l };
	struct algorithm *a = new_block(&c, 1, sizeof(*a));

	code_algorithm(&c, a);
	l->algorithm = a;
	l->memory = c.blocks;
	return !c.failed;
}
