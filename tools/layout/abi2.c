// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "bpf_bbr/abi.h"
#include "abi2.h"
#include "layouts.h"

#define ALGORITHM "bbr"
#define MAJOR 2
#define EVENT_SIZE 216

/* Bits of flags that are a field of their own today. */
#define LT_SAMPLING (1 << 5)
#define LT_USE_BW (1 << 6)
#define POLICER "policer"

enum policer {
	POLICER_OFF,
	POLICER_SAMPLING,
	POLICER_DETECTED
};

/* Members that today's event has no place for. */
enum extra {
	EXTRA_SIZE = sizeof(struct bbr_event),
	EXTRA_MAJOR = EXTRA_SIZE + 2,
	EXTRA_PAD,
	EXTRA_END = EXTRA_PAD + 8,
};

/*
 * A member. Without a key it is one that every event has, by today's name; with a key that of the
 * algorithm's field of this key.
 */
static const struct {
	const char *name, *key;
	__u8 width;
	__u16 extra; /* where it goes if today's event has no place for it */
} members[] = {
	{ .name = "bytes_acked", .width = 8 },	 { .name = "delivered", .width = 4 },
	{ .name = "rtt_us", .width = 4 },	 { .name = "rs_interval_us", .width = 4 },
	{ .name = "rs_acked", .width = 4 },	 { .name = "rs_delivered", .width = 4 },
	{ .name = "inflight", .width = 4 },	 { .name = "srtt_us", .width = 4 },
	{ .name = "bytes_sent", .width = 8 },	 { .name = "rs_prior_inflight", .width = 4 },
	{ .name = "pacing_rate", .width = 8 },	 { .name = "bw", .width = 4 },
	{ .name = "cwnd", .width = 4 },		 { .name = "flags", .width = 2 },
	{ .key = "max_bw_bps", .width = 4 },	 { .name = "rounds", .width = 4 },
	{ .name = "kind", .width = 1 },		 { .key = "extra_acked", .width = 4 },
	{ .name = "phase", .width = 1 },	 { .name = "pacing_gain", .width = 2 },
	{ .name = "min_rtt_us", .width = 4 },	 { .name = "mode", .width = 1 },
	{ .name = "from", .width = 1 },		 { .name = "to", .width = 1 },
	{ .name = "reason", .width = 1 },	 { .key = "full_bw_bps", .width = 4 },
	{ .key = "full_bw_cnt", .width = 1 },	 { .name = "cwnd_gain", .width = 2 },
	{ .key = "prior_cwnd", .width = 4 },	 { .name = "ssthresh", .width = 4 },
	{ .name = "lost", .width = 4 },		 { .name = "rs_losses", .width = 4 },
	{ .name = "bytes_retrans", .width = 8 }, { .name = "ca_state", .width = 1 },
	{ .key = "lt_bw_bps", .width = 4 },	 { .key = "lt_rtt_cnt", .width = 1 },
	{ .name = "mss", .width = 4 },		 { .name = "seq", .width = 8 },
	{ .name = "params_gen", .width = 4 },	 { .name = "profile", .width = 1 },
	{ .name = "conn", .width = 8 },		 { .name = "rport", .width = 2 },
	{ .name = "lport", .width = 2 },	 { .name = "raddr[3]", .width = 4 },
	{ .name = "raddr[2]", .width = 4 },	 { .name = "raddr[1]", .width = 4 },
	{ .name = "raddr[0]", .width = 4 },	 { .name = "laddr[3]", .width = 4 },
	{ .name = "laddr[2]", .width = 4 },	 { .name = "laddr[1]", .width = 4 },
	{ .name = "laddr[0]", .width = 4 },	 { .name = "netns", .width = 4 },
	{ .name = "family", .width = 2 },	 { .extra = EXTRA_SIZE, .width = 2 },
	{ .extra = EXTRA_MAJOR, .width = 1 },	 { .name = "minor", .width = 1 },
	{ .extra = EXTRA_PAD, .width = 1 },	 { .extra = EXTRA_PAD + 1, .width = 1 },
	{ .extra = EXTRA_PAD + 2, .width = 1 },	 { .extra = EXTRA_PAD + 3, .width = 1 },
	{ .extra = EXTRA_PAD + 4, .width = 1 },	 { .extra = EXTRA_PAD + 5, .width = 1 },
};

#define N_MEMBERS (sizeof(members) / sizeof(members[0]))
_Static_assert(N_MEMBERS == 62 && EXTRA_END <= LAYOUT_ROOM, "the members of ABI 2");

/* One of the algorithm's own fields. NULL: it has none with this key and width today. */
static const struct field *find_field(const struct algorithm *a, const char *key, __u8 width)
{
	for (unsigned int i = 0; i < a->n_fields; i++)
		if (!strcmp(a->fields[i].key, key) && a->fields[i].width == width)
			return &a->fields[i];
	return NULL;
}

/* False: today it has another width, or does not exist. */
static bool find_member(const struct algorithm *a, size_t i, struct member *m)
{
	const struct field *f;

	if (members[i].extra) {
		*m = (struct member){ .offset = members[i].extra, .width = members[i].width };
		return true;
	}
	if (members[i].name) {
		*m = *layout_common(members[i].name);
		return m->width == members[i].width;
	}
	f = find_field(a, members[i].key, members[i].width);
	if (f)
		*m = (struct member){ .offset = f->offset, .width = f->width };
	return f;
}

const struct layout *abi2_layout(void)
{
	static struct member today[N_MEMBERS];
	static struct layout layout;

	if (layout.algorithm)
		return &layout;
	layout = (struct layout){ .members = today, .n_members = N_MEMBERS, .size = EXTRA_END };
	layout.algorithm = algorithm_find(ALGORITHM);
	for (size_t i = 0; layout.algorithm && i < N_MEMBERS; i++)
		if (!find_member(layout.algorithm, i, &today[i]))
			layout.algorithm = NULL;
	return layout.algorithm ? &layout : NULL;
}

static enum policer policer_of(__u16 flags)
{
	if (flags & LT_USE_BW)
		return POLICER_DETECTED;
	return flags & LT_SAMPLING ? POLICER_SAMPLING : POLICER_OFF;
}

bool abi2_event(const union recording_event *coded, size_t rest, struct bbr_event *e)
{
	const struct algorithm *a = abi2_layout()->algorithm;
	static const struct field *policer;
	__u8 major = coded->bytes[EXTRA_MAJOR];
	__u16 size;

	memcpy(&size, coded->bytes + EXTRA_SIZE, sizeof(size));
	if (major > MAJOR || size != EVENT_SIZE + rest)
		return false;
	*e = coded->event;
	e->size = BBR_EVENT_BASE + a->tail_size;
	e->major = major == MAJOR ? BBR_ABI_MAJOR : major;
	if (!policer)
		policer = find_field(a, POLICER, 1);
	if (policer)
		((__u8 *)e)[policer->offset] = policer_of(e->flags);
	e->flags &= ~(LT_SAMPLING | LT_USE_BW);
	return true;
}
