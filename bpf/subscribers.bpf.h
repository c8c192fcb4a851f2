/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who watches, and how an event reaches them. bpf_bbr/events.h says how monitors subscribe.
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
 * Keys of bbr_rings. A constant saves each event the 3 instructions that put a key onto the stack.
 */
static const u32 ring_key[BBR_SUBSCRIBERS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

_Static_assert(BBR_SUBSCRIBERS == 8, "each subscriber's ring has a key");

/*
 * What monitors need to know of a connection. Allocated while somebody watches, freed when nobody
 * does. The event is kept here and not on the stack, because the algorithm needs most of the stack.
 * The socket's lock keeps callbacks of one connection apart.
 */
struct watched_conn {
	u64 id;
	u64 sampled_ns[BBR_SUBSCRIBERS]; /* BBR_SAMPLE_TIME: time of the last sample */
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

/* True if the bits in the mask agree. Addresses are two words each. */
static inline bool addrs_match(const u64 *addr, const u64 *want, const u64 *mask)
{
	return !(((addr[0] & mask[0]) ^ want[0]) | ((addr[1] & mask[1]) ^ want[1]));
}

static inline bool filter_matches(const struct bbr_filter *f, const struct bbr_event *e)
{
	return f->matches_all ||
	       (addrs_match((const u64 *)e->laddr, (const u64 *)f->laddr, (const u64 *)f->lmask) &&
		addrs_match((const u64 *)e->raddr, (const u64 *)f->raddr, (const u64 *)f->rmask) &&
		(!f->lport || f->lport == e->lport) && (!f->rport || f->rport == e->rport));
}

/*
 * The barrier keeps the address in a register. Otherwise the compiler loads it at each use: one
 * more instruction.
 */
static inline struct bbr_subscriber *subscriber(u32 i)
{
	struct bbr_watch *w = &watch;

	barrier_var(w);
	return &w->sub[i];
}

/* True if the connection of this event concerns the subscriber. */
static inline bool is_listening(u32 i, const struct bbr_subscriber *sub, const struct bbr_event *e)
{
	if (sub->lease_ns < e->time_ns) { /* its monitor is gone, or stopped */
		__sync_fetch_and_and(&watch.active, ~(1ull << i));
		return false;
	}
	return filter_matches(&sub->filter, e);
}

/* Counts an ACK of such a connection, reported or not. */
static inline void count_ack(struct bbr_subscriber *sub)
{
	__sync_fetch_and_add(&sub->acks, 1);
}

/* True if a subscriber that is listening wants a report of this ACK. */
static inline bool is_sampled(u32 i, const struct bbr_subscriber *sub, struct watched_conn *conn,
			      bool starts_round)
{
	switch (sub->sampling) {
	case BBR_SAMPLE_ACK:
		return true;
	case BBR_SAMPLE_ROUND:
		return starts_round;
	case BBR_SAMPLE_TIME:
		barrier_var(i); /* otherwise the compiler computes the index for each ACK */
		barrier_var(conn);
		if (conn->event.time_ns - conn->sampled_ns[i] < sub->interval_ns)
			return false;
		conn->sampled_ns[i] = conn->event.time_ns;
		return true;
	default:
		return false;
	}
}

/*
 * Begins a record in the ring of a subscriber, for e, which is of this kind. Copies the first
 * `size` bytes of e; the caller sets the others before end_record(). Returns NULL if the ring is
 * full, and counts that.
 */
static inline struct bbr_event *begin_record(u32 i, struct bbr_subscriber *sub,
					     const struct bbr_event *e, u32 size, u8 kind)
{
	void *ring = bpf_map_lookup_elem(&bbr_rings, &ring_key[i]);
	struct bbr_event *record = ring ? bpf_ringbuf_reserve(ring, EVENT_SIZE, 0) : NULL;
	u64 seq = __sync_fetch_and_add(&sub->seq, 1);

	kind &= BBR_EV_MAX - 1;
	if (!record) {
		__sync_fetch_and_add(&sub->drops[kind], 1);
		return NULL;
	}
	__sync_fetch_and_add(&sub->events[kind], 1);
	copy_members(record, e, 0, __builtin_offsetof(struct bbr_event, seq));
	record->seq = seq;
	copy_members(record, e, __builtin_offsetof(struct bbr_event, time_ns), size);
	record->tag = sub->tag;
	return record;
}

static inline void end_record(struct bbr_event *record)
{
	bpf_ringbuf_submit(record, 0);
}

/*
 * No ACK of our own connections comes to these loops over subscribers. They are bpf_loop()s: the
 * verifier explores a body once, and not once for each subscriber. A body returns 1 to stop the
 * loop. The masks are for the verifier, which does not know that a subscriber's number has 3 bits.
 */

static long publish_to(u32 number, struct watched_conn **of)
{
	u32 i = number & (BBR_SUBSCRIBERS - 1);
	struct bbr_subscriber *sub = subscriber(i);
	struct watched_conn *conn = *of;
	struct bbr_event *e = &conn->event, *record;
	u64 left = active_subscribers() >> i;

	if (!(left & 1) || !is_listening(i, sub, e))
		return !left;
	if (e->kind == BBR_EV_ACK) {
		count_ack(sub);
		if (!is_sampled(i, sub, conn, e->flags & BBR_F_ROUND_START))
			return false;
	}
	record = begin_record(i, sub, e, EVENT_SIZE, e->kind);
	if (record)
		end_record(record);
	return false;
}

/*
 * Gives the event to each subscriber that wants it. Not static, so that the verifier explores it
 * once for a program, and not once for each call.
 */
__attribute__((noinline)) int publish(struct watched_conn *conn)
{
	if (!conn) /* the verifier does not know the callers */
		return 0;
	/* One monitor takes the first slot, and needs no loop. */
	if (likely(active_subscribers() == 1))
		publish_to(0, &conn);
	else
		bpf_loop(BBR_SUBSCRIBERS, publish_to, &conn, 0);
	return 0;
}

static long lose_event_of(u32 number, const u8 *kind)
{
	u32 i = number & (BBR_SUBSCRIBERS - 1);
	struct bbr_subscriber *sub = subscriber(i);
	u64 left = active_subscribers() >> i;

	if (!(left & 1))
		return !left;
	__sync_fetch_and_add(&sub->seq, 1);
	__sync_fetch_and_add(&sub->drops[*kind & (BBR_EV_MAX - 1)], 1);
	if (*kind == BBR_EV_ACK)
		count_ack(sub);
	return false;
}

/* There was no memory for a connection: tells each subscriber that it missed an event. */
static inline void lose_event(u8 kind)
{
	bpf_loop(BBR_SUBSCRIBERS, lose_event_of, &kind, 0);
}

static inline void set_kind(struct bbr_event *e, u8 kind, u8 from, u8 to, u8 reason)
{
	e->kind = kind;
	e->from = from;
	e->to = to;
	e->reason = reason;
}

/* Publishes an event of this kind. Afterwards it is an ACK's again, as most are. */
static inline void publish_step(struct watched_conn *conn, u8 kind, u8 from, u8 to, u8 reason)
{
	set_kind(&conn->event, kind, from, to, reason);
	publish(conn);
	set_kind(&conn->event, BBR_EV_ACK, 0, 0, 0);
}

#endif
