/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of our connections for monitors. While nobody subscribes, is_watched() is all that runs.
 */
#ifndef TELEMETRY_BPF_H
#define TELEMETRY_BPF_H

#include "event.bpf.h"
#include "defaults.bpf.h"
#include "more.bpf.h"
#include "outside.bpf.h"
#include "params.bpf.h"
#include "subscribers.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct watched_conn);
} bbr_conns SEC(".maps");

static inline bool somebody_watches(void)
{
#ifdef BBR_NO_TELEMETRY /* a build to measure what the check costs */
	return false;
#endif
	return unlikely(active_subscribers());
}

/* True if there is anything to do for monitors, such as to free what the mark in b stands for. */
static inline bool is_watched(const struct bbr *b)
{
	return somebody_watches() || unlikely(b->watched);
}

/* Sets the rate sample. Returns the flags that belong to it. */
static inline u16 fill_sample(struct bbr_event *e, const struct rate_sample *rs, struct sock *sk)
{
	struct shell_sock s = { .sk = sk, .finds_late = true };

	e->rtt_us = rs->rtt_us; /* -1 if there is none, which is BBR_RTT_NONE */
	e->rs_delivered = rs->delivered;
	e->rs_interval_us = rs->interval_us;
	e->rs_losses = rs->losses;
	e->rs_acked = rs->acked_sacked;
	e->rs_prior_inflight = rs->prior_in_flight;
	return BBR_F_SAMPLE | shell_is_app_limited(state_of(sk), &s, rs) * BBR_F_APP_LIMITED |
	       rs->is_ack_delayed * BBR_F_ACK_DELAYED;
}

/* The last monitor has left, or the connection ends: frees what was allocated for monitors. */
static inline void forget_conn(struct sock *sk, struct bbr *b)
{
	bpf_sk_storage_delete(&bbr_conns, sk);
	b->watched = false;
}

/*
 * tcp_disconnect() also ends an aborted connection (SO_LINGER of 0). It clears ports, addresses,
 * window and counts before it calls release. The event still has them as of the last callback.
 */
static inline void fill_from_last(struct bbr_event *e, struct sock *sk)
{
	fill_tcp_lasting(e, sk);
	e->inflight = 0;
}

/*
 * The connection as monitors know it. Returns NULL if there is no memory; then subscribers learn
 * that they lost an event of this kind.
 */
static __attribute__((noinline)) struct watched_conn *watch_conn(struct sock *sk, u8 kind, u32 gen)
{
	struct watched_conn *conn =
		bpf_sk_storage_get(&bbr_conns, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (!conn) {
		lose_event(kind);
		return NULL;
	}
	state_of(sk)->watched = true;
	if (unlikely(!conn->id)) {
		conn->id = __sync_fetch_and_add(&watch.next_conn, 1) + 1;
		conn->params_gen = gen;
		fill_connection(&conn->event, sk, &abi);
		conn->event.conn = conn->id;
		conn->event.params_gen = event_gen(gen);
		set_kind(&conn->event, BBR_EV_ACK, 0, 0, 0);
	}
	return conn;
}

/*
 * Begins an event about sk that is no ACK. Returns NULL if nobody watches, if there is nothing to
 * report, or if there is no memory.
 */
static __attribute__((noinline)) struct watched_conn *begin_event(struct sock *sk, u8 kind)
{
	u32 gen = params_gen(profile_of(state_of(sk)));
	struct watched_conn *conn;
	struct bbr_event *e;

	if (!active_subscribers()) {
		forget_conn(sk, state_of(sk));
		return NULL;
	}
	if (kind != BBR_EV_START && !has_state(sk)) /* a lost SYN, or after tcp_disconnect() */
		return NULL;
	conn = watch_conn(sk, kind, gen);
	if (!conn)
		return NULL;
	e = &conn->event;
	e->time_ns = bpf_ktime_get_ns();
	fill_no_sample(e);
	if (!sk->__sk_common.skc_dport && e->rport)
		fill_from_last(e, sk);
	else
		fill_tcp(e, sk);
	fill_model(e, state_of(sk), more_of(sk), ca_state_of(sk), event_gen(gen), 0);
	return conn;
}

/* Publishes the transitions of this callback, which began in mode `from`. */
static inline void publish_steps(const struct bbr *b, struct watched_conn *conn, u8 from)
{
	for (u32 i = 0; i < BBR_STEPS; i++) {
		u8 to, reason;

		if (!bbr_step(b, i, &to, &reason))
			continue;
		publish_step(conn, BBR_EV_MODE, from, to, reason);
		from = to;
	}
}

static __attribute__((noinline)) void report(struct sock *sk, u8 kind)
{
	struct watched_conn *conn = begin_event(sk, kind);

	if (conn)
		publish_step(conn, kind, 0, 0, 0);
}

static __attribute__((noinline)) void report_modes(struct sock *sk, u8 from)
{
	struct watched_conn *conn = begin_event(sk, BBR_EV_MODE);

	if (conn)
		publish_steps(state_of(sk), conn, from);
}

/*
 * The stack goes from one congestion state to another. This is an event if either is Recovery or
 * Loss.
 */
static __attribute__((noinline)) void report_ca_state(struct sock *sk, u8 from, u8 to)
{
	struct watched_conn *conn;

	if (from < TCP_CA_Recovery && to < TCP_CA_Recovery)
		return;
	conn = begin_event(sk, to == TCP_CA_Loss ? BBR_EV_RTO : BBR_EV_RECOVERY);
	if (!conn)
		return;
	if (to == TCP_CA_Loss)
		publish_step(conn, BBR_EV_RTO, from, to, 0);
	if (from != to)
		publish_step(conn, BBR_EV_RECOVERY, from, to, 0);
}

/* Reports what else an ACK caused: the use of changed parameters, and transitions. */
static __attribute__((noinline)) void report_with_ack(struct watched_conn *conn, struct sock *sk,
						      u8 from, u32 gen)
{
	fill_tcp(&conn->event, sk);
	fill_no_sample(&conn->event);
	fill_model(&conn->event, state_of(sk), more_of(sk), ca_state_of(sk), event_gen(gen), 0);
	if (conn->params_gen != gen) {
		conn->params_gen = gen;
		publish_step(conn, BBR_EV_PARAMS, 0, 0, 0);
	}
	publish_steps(state_of(sk), conn, from);
}

/*
 * The time when the stack began to process this ACK. The stack reads the clock for each ACK, and
 * bpf_ktime_get_ns() would take 64 instructions to read it again. It is never before the
 * connection's last event, which may belong to this ACK as well, and has the time when it happened.
 */
static inline u64 ack_time_ns(const struct bbr_event *last, struct sock *sk)
{
	return max_u64(last->time_ns, tcp_sk(sk)->tcp_clock_cache);
}

/* Sets the rest of an ACK's record, after the part that all events of the connection have. */
static inline void fill_ack(struct bbr_event *record, const struct watched_conn *conn,
			    struct sock *sk, struct bbr *b, unsigned long long *ctx)
{
	u8 ca_state = ca_state_of(sk);
	u16 flags;

	fill_noted(record, &conn->event);
	fill_tcp_lasting(record, sk);
	record->inflight = packets_in_flight(tcp_sk(sk));
	flags = fill_sample(record, ctx_rate_sample(ctx), sk);
	fill_model(record, b, more_of(sk), ca_state, conn->event.params_gen, flags);
}

/* The barrier keeps the compiler from computing for each ACK what only a reported ACK needs. */
static inline void tell_ack(u32 i, struct bbr_subscriber *sub, const struct watched_conn *conn,
			    struct sock *sk, struct bbr *b, unsigned long long *ctx)
{
	struct bbr_event *record;

	barrier_var(conn);
	record = begin_record(i, sub, &conn->event, EVENT_CONNECTION_SIZE, BBR_EV_ACK);
	if (!record)
		return;
	fill_ack(record, conn, sk, b, ctx);
	end_record(record);
}

/* Reports an ACK to a subscriber that wants it. conn has noted the ACK already. */
static inline void report_ack_to(u32 i, struct watched_conn *conn, struct sock *sk, struct bbr *b,
				 unsigned long long *ctx)
{
	struct bbr_subscriber *sub = subscriber(i);

	if (!is_listening(i, sub, &conn->event))
		return;
	count_ack(sub);
	if (is_sampled(i, sub, conn, bbr_round_start(b)))
		tell_ack(i, sub, conn, sk, b, ctx);
}

static __attribute__((noinline)) void report_ack_to_all(struct watched_conn *conn, struct sock *sk,
							unsigned long long *ctx, u64 active)
{
	for (u64 left = active, i = 0; left && i < BBR_SUBSCRIBERS; left >>= 1, i++)
		if (left & 1)
			report_ack_to(i, conn, sk, state_of(sk), ctx);
	if (active >> BBR_SUBSCRIBERS) /* no monitor's, so no lease ends them */
		__sync_fetch_and_and(&watch.active, (1ull << BBR_SUBSCRIBERS) - 1);
}

/*
 * Runs after the algorithm, with the raw context of cong_control. Most ACKs are reported to nobody,
 * or to one subscriber. So what changes from one ACK to the next is written straight into a
 * subscriber's ring, and conn notes only what the connection's end may need.
 */
static inline void report_ack(unsigned long long *ctx, struct sock *sk, struct bbr *b, u8 from,
			      u32 gen)
{
	struct watched_conn *conn = bpf_sk_storage_get(&bbr_conns, sk, NULL, 0);
	struct bbr_event *e;
	u64 active;

	if (unlikely(!conn)) {
		if (!has_state(sk)) /* the ACK of the SYN */
			return;
		conn = watch_conn(sk, BBR_EV_ACK, gen);
		if (!conn)
			return;
	}
	e = &conn->event;
	e->time_ns = ack_time_ns(e, sk);
	fill_tcp_passing(e, sk);
	if (unlikely(conn->params_gen != gen || bbr_has_steps(b)))
		report_with_ack(conn, sk, from, gen);
	active = active_subscribers();
	if (likely(active == 1)) /* one monitor takes the first slot, and needs no loop */
		report_ack_to(0, conn, sk, b, ctx);
	else
		report_ack_to_all(conn, sk, ctx, active);
}

#endif
