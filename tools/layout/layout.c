// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "layout.h"
#include "cli/err.h"

#define WIDTH(member) sizeof(((struct bbr_event *)0)->member)
#define MEMBER(name, member, net) \
	{ name, offsetof(struct bbr_event, member), WIDTH(member), true, net, 0 },
#define HOST(member) MEMBER(#member, member, false)
#define NET(member) MEMBER(#member, member, true)

/*
 * The members of struct bbr_event except time_ns, tag and major, those that change most often
 * first; the tail's come in between. A member that gets another width or meaning gets another name.
 */
/* clang-format off */
#define OFTEN(HOST, NET, MEMBER) \
	HOST(bytes_acked) HOST(delivered) HOST(rtt_us) HOST(rs_interval_us) HOST(rs_acked) \
	HOST(rs_delivered) HOST(inflight) HOST(srtt_us) HOST(bytes_sent) HOST(rs_prior_inflight) \
	HOST(pacing_rate) HOST(bw) HOST(cwnd) HOST(flags) HOST(rounds) HOST(kind) HOST(phase) \
	HOST(pacing_gain)
#define SELDOM(HOST, NET, MEMBER) \
	HOST(min_rtt_us) HOST(mode) HOST(from) HOST(to) HOST(reason) HOST(cwnd_gain) \
	HOST(ssthresh) HOST(lost) HOST(rs_losses) HOST(bytes_retrans) HOST(ca_state) HOST(mss) \
	HOST(seq) HOST(params_gen) HOST(profile) HOST(conn) NET(rport) NET(lport) NET(raddr[3]) \
	NET(raddr[2]) NET(raddr[1]) NET(raddr[0]) NET(laddr[3]) NET(laddr[2]) NET(laddr[1]) \
	NET(laddr[0]) HOST(netns) HOST(family) MEMBER("tail_size", size, false) HOST(minor) \
	HOST(pad[0]) HOST(pad[1]) HOST(pad[2]) HOST(pad[3])
/* clang-format on */

static const struct member common[] = { OFTEN(HOST, NET, MEMBER) SELDOM(HOST, NET, MEMBER) };

#define ONE(member) +1
#define ONE_NAMED(name, member, net) +1
#define N_COMMON (sizeof(common) / sizeof(common[0]))
#define N_OFTEN (0 OFTEN(ONE, ONE, ONE_NAMED))
#define N_SELDOM (N_COMMON - N_OFTEN)

#define PLUS(member) +WIDTH(member)
#define PLUS_NAMED(name, member, net) +WIDTH(member)
_Static_assert(0 OFTEN(PLUS, PLUS, PLUS_NAMED) SELDOM(PLUS, PLUS, PLUS_NAMED) ==
		       BBR_EVENT_BASE - WIDTH(time_ns) - WIDTH(tag) - WIDTH(major),
	       "every other member is there once");
_Static_assert(LAYOUT_ROOM >= sizeof(struct bbr_event), "room for the members");
_Static_assert(LAYOUT_ROOM / 8 <= 64, "a bit for each word");

const struct member *layout_common(const char *name)
{
	for (size_t i = 0; i < N_COMMON; i++)
		if (!strcmp(common[i].name, name))
			return &common[i];
	return NULL;
}

unsigned int layout_member_of(const struct layout *l, const struct field *f)
{
	unsigned int i = 0;

	while (i < l->n_members &&
	       (l->members[i].offset != f->offset || l->members[i].width != f->width))
		i++;
	return i;
}

static void add_member(struct layout *l, const char *name, __u16 offset, __u8 width)
{
	l->members[l->n_members++] =
		(struct member){ .name = name, .offset = offset, .width = width };
}

/* Adds the members of the tail that the algorithm's fields show. Marks their bytes in `shown`. */
static bool add_shown(struct layout *l, bool shown[BBR_EVENT_TAIL_MAX])
{
	const struct algorithm *a = l->algorithm;

	for (unsigned int i = 0; i < a->n_fields; i++) {
		const struct field *f = &a->fields[i];

		if (f->offset < BBR_EVENT_BASE || layout_member_of(l, f) < l->n_members)
			continue;
		if (f->offset + f->width > (int)sizeof(struct bbr_event) ||
		    l->n_members + N_SELDOM + BBR_EVENT_TAIL_MAX >= LAYOUT_MEMBERS)
			return false;
		add_member(l, f->key, f->offset, f->width);
		memset(shown + f->offset - BBR_EVENT_BASE, true, f->width);
	}
	return true;
}

/* Adds the bytes of the tail that no field shows: a later minor may use them. */
static void add_rest(struct layout *l, const bool shown[BBR_EVENT_TAIL_MAX])
{
	static const bool none[sizeof(__u64)];

	for (unsigned int at = 0; at < BBR_EVENT_TAIL_MAX;) {
		unsigned int width = sizeof(__u64);

		while (width > 1 && (at % width || at + width > BBR_EVENT_TAIL_MAX ||
				     memcmp(shown + at, none, width)))
			width /= 2;
		if (!shown[at])
			add_member(l, "", BBR_EVENT_BASE + at, width);
		at += width;
	}
}

/* Sets the members and the size for the layout's algorithm. False: there is no room for them. */
static bool fill(struct layout *l)
{
	bool shown[BBR_EVENT_TAIL_MAX] = {};

	memcpy(l->members, common, N_OFTEN * sizeof(*common));
	l->n_members = N_OFTEN;
	if (!add_shown(l, shown))
		return false;
	memcpy(l->members + l->n_members, common + N_OFTEN, N_SELDOM * sizeof(*common));
	l->n_members += N_SELDOM;
	add_rest(l, shown);
	l->size = sizeof(struct bbr_event);
	return true;
}

static struct layout *layouts;

static struct layout *new_layout(size_t description_size)
{
	struct layout *l = mem_new(1, sizeof(*l));

	l->members = mem_new(LAYOUT_MEMBERS, sizeof(*l->members));
	l->description = mem_new(1, description_size);
	return l;
}

static void free_layout(struct layout *l)
{
	free(l->members);
	free(l->description);
	description_free(l->memory);
	free(l);
}

static const struct layout *add(struct layout *l)
{
	for (unsigned int i = 0; i < l->n_members; i++) {
		struct member *m = &l->members[i];

		m->words = 1ull << m->offset / 8 | 1ull << (m->offset + m->width - 1) / 8;
	}
	l->id = crc32(0, l->description, l->description_size);
	l->next = layouts;
	layouts = l;
	return l;
}

const struct layout *layout_of(const struct algorithm *algorithm)
{
	struct layout *l;

	for (l = layouts; l; l = l->next)
		if (l->algorithm == algorithm)
			return l;
	l = new_layout(DESCRIPTION_MAX);
	l->algorithm = algorithm;
	if (fill(l))
		l->description_size = description_write(l, l->description);
	if (l->description_size)
		return add(l);
	free_layout(l);
	return NULL;
}

static void add_known(void)
{
	for (size_t i = 0; i < n_algorithms; i++)
		layout_of(algorithms[i]);
}

const struct layout *layout_find(__u32 id)
{
	add_known();
	for (struct layout *l = layouts; l; l = l->next)
		if (l->id == id)
			return l;
	return NULL;
}

bool layout_is_full(void)
{
	unsigned int n_read = 0;

	for (const struct layout *l = layouts; l; l = l->next)
		n_read += l->is_read;
	return n_read == LAYOUTS_READ_MAX;
}

const struct layout *layout_read(const __u8 *description, size_t size)
{
	struct layout *l;

	add_known();
	for (l = layouts; l; l = l->next)
		if (l->description_size == size && !memcmp(l->description, description, size))
			return l;
	if (layout_is_full() || size > DESCRIPTION_MAX)
		return NULL;
	l = new_layout(size);
	l->is_read = true;
	memcpy(l->description, description, size);
	l->description_size = size;
	if (description_read(l, description, size))
		return add(l);
	free_layout(l);
	return NULL;
}

const struct algorithm *layout_described(size_t i)
{
	for (struct layout *l = layouts; l; l = l->next)
		if (l->is_read && !i--)
			return l->algorithm;
	return NULL;
}

void layout_forget(void)
{
	struct layout **at = &layouts, *l;

	while ((l = *at)) {
		if (!l->is_read) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		free_layout(l);
	}
}
