/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who watches, and how an event gets to them; bpf_bbr/events.h says how monitors subscribe.
 */
#ifndef SUBSCRIBERS_BPF_H
#define SUBSCRIBERS_BPF_H

#include "event.bpf.h"

struct bbr_watch watch SEC(BBR_MAP_WATCH) = {};

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, BBR_SUBSCRIBERS);
	__type(key, u32);
	__array(values, struct ring);
} bbr_rings SEC(".maps");

/*
 * What monitors need to know of a connection. Allocated while one watches, freed when none does. The
 * event is made here, not on the stack, of which the algorithm needs the most part; the socket's lock
 * keeps callbacks of one connection apart.
 */
struct watched_conn {
	u64 id;
	u64 sampled_ns[BBR_SUBSCRIBERS]; /* of BBR_SAMPLE_TIME: the last sample */
	u32 params_gen; /* generation of the parameters that monitors know of */
	struct bbr_event event;
};

const volatile struct bbr_abi abi SEC(BBR_MAP_ABI) = {
	.magic = BBR_ABI_MAGIC,
	.major = BBR_ABI_MAJOR,
	.minor = BBR_ABI_MINOR,
	.params_size = sizeof(struct bbr_params),
	.watch_size = sizeof(struct bbr_watch),
	.event_size = EVENT_SIZE,
	.version = BBR_VERSION,
	.algorithm = BBR_ALGORITHM,
	.tail_size = sizeof(struct bbr_tail),
};

static inline u64 active_subscribers(void)
{
	return *(volatile u64 *)&watch.active;
}

static inline bool addr_matches(const u32 *addr, const u32 *want, const u32 *mask)
{
	return !(((addr[0] & mask[0]) ^ want[0]) | ((addr[1] & mask[1]) ^ want[1]) |
		 ((addr[2] & mask[2]) ^ want[2]) | ((addr[3] & mask[3]) ^ want[3]));
}

static inline bool filter_matches(const struct bbr_filter *f, const struct bbr_event *e)
{
	return addr_matches(e->laddr, f->laddr, f->lmask) &&
	       addr_matches(e->raddr, f->raddr, f->rmask) && (!f->lport || f->lport == e->lport) &&
	       (!f->rport || f->rport == e->rport);
}

/* Does the subscriber want this ACK? */
static inline bool is_sampled(const struct bbr_subscriber *sub, const struct bbr_event *e,
			      u64 *sampled_ns)
{
	switch (sub->sampling) {
	case BBR_SAMPLE_ACK:
		return true;
	case BBR_SAMPLE_ROUND:
		return e->flags & BBR_F_ROUND_START;
	case BBR_SAMPLE_TIME:
		if (e->time_ns - *sampled_ns < sub->interval_ns)
			return false;
		*sampled_ns = e->time_ns;
		return true;
	default:
		return false;
	}
}

static inline void send_event(u32 slot, struct bbr_subscriber *sub, struct bbr_event *e)
{
	u32 kind = e->kind & (BBR_EV_MAX - 1);
	void *ring = bpf_map_lookup_elem(&bbr_rings, &slot);

	e->tag = sub->tag;
	e->seq = __sync_fetch_and_add(&sub->seq, 1);
	if (ring && !bpf_ringbuf_output(ring, e, EVENT_SIZE, 0))
		__sync_fetch_and_add(&sub->events[kind], 1);
	else
		__sync_fetch_and_add(&sub->drops[kind], 1);
}

/*
 * Gives the event to each subscriber that wants it. Not static: so the verifier goes through it once a program, and not
 * once for each place that calls it.
 */
__attribute__((noinline)) int publish(struct watched_conn *conn)
{
	struct bbr_event *e;
	u64 active = active_subscribers();

	if (!conn) /* the verifier does not know who calls */
		return 0;
	e = &conn->event;
	for (u32 i = 0; i < BBR_SUBSCRIBERS; i++) {
		struct bbr_subscriber *sub = &watch.sub[i];

		if (!(active & (1ull << i)))
			continue;
		if (sub->lease_ns < e->time_ns) { /* its monitor is gone, or stopped */
			__sync_fetch_and_and(&watch.active, ~(1ull << i));
			continue;
		}
		if (!filter_matches(&sub->filter, e))
			continue;
		if (e->kind == BBR_EV_ACK) {
			__sync_fetch_and_add(&sub->acks, 1);
			if (!is_sampled(sub, e, &conn->sampled_ns[i]))
				continue;
		}
		send_event(i, sub, e);
	}
	return 0;
}

/* There was no memory for a connection: each subscriber is told that it missed an event. */
static inline void lose_event(u8 kind)
{
	u64 active = active_subscribers();

	for (u32 i = 0; i < BBR_SUBSCRIBERS; i++) {
		struct bbr_subscriber *sub = &watch.sub[i];

		if (!(active & (1ull << i)))
			continue;
		__sync_fetch_and_add(&sub->seq, 1);
		__sync_fetch_and_add(&sub->drops[kind & (BBR_EV_MAX - 1)], 1);
		if (kind == BBR_EV_ACK)
			__sync_fetch_and_add(&sub->acks, 1);
	}
}

static inline void publish_step(struct watched_conn *conn, u8 kind, u8 from, u8 to, u8 reason)
{
	conn->event.kind = kind;
	conn->event.from = from;
	conn->event.to = to;
	conn->event.reason = reason;
	publish(conn);
}

#endif
