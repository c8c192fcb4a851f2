/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A path to run BBR on: a sender, a link with a queue in front of it, and a receiver that ACKs each
 * packet. The sender is a stack that knows all that Google's stack knows (algorithm.h) and calls
 * BBR in the same order: packets marked lost, recovery, ACK. It sends retransmissions as new
 * packets, so no ACK is ambiguous. Nothing is random, and the clock advances in ticks.
 *
 * Packets have 1000 bytes. Unless a test says otherwise, the link takes 400 us per packet, 20
 * Mbit/s, and the RTT is 40 ms: a BDP of 100 packets. The queue is unlimited, and the application
 * always has data.
 */
#ifndef BBR3_TEST_MODEL_PATH_H
#define BBR3_TEST_MODEL_PATH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "algorithm.h"

#define TICK_US 100
#define MSEC 1000ull
#define SEC 1000000ull
#define NEVER (~0ull)
#define QUEUED (NEVER - 1)
#define MSS 1000
#define SLOT_US 400
#define RTT_US 40000
#define BDP 100
#define REORDERING 3 /* a packet is lost once one sent this many later is ACKed */
#define MAX_PACKETS 2048 /* outstanding */
#define BEGIN_US (100 * SEC)
#define END_US (160 * SEC) /* no test takes so long, unless it waits in vain */

enum place {
	STARTUP,
	DRAIN,
	UP,
	DOWN,
	CRUISE,
	REFILL,
	PROBE_RTT
};

struct packet {
	u64 sent_us, late_us;
	u64 arrives_us; /* when its ACK arrives; NEVER: dropped; QUEUED: not known yet */
	u64 first_sent_us, delivered_us; /* of the flight, when the packet was sent */
	u32 delivered, lost, tx_in_flight; /* likewise */
	bool is_app_limited, is_gone, is_marked;
};

struct path {
	struct bbr b;
	struct bbr_more more;
	struct bbr_history history;
	struct shell_sock sk;
	struct bbr_params p;

	/* What a test may change at any time. */
	u32 slot_us; /* the link's time per packet */
	u32 buffer; /* packets before the link; 0: unlimited */
	u32 ack_every_us; /* ACKs are held back to multiples of this; 0: no ACK is */
	u32 drop_every; /* every n-th packet is lost; 0: none is */
	u32 late_us; /* what is sent now arrives this much late, and others overtake it */
	u32 app_slot_us; /* the application writes a packet this often; 0: it always has enough */
	u32 token_us; /* a policer passes one packet this often, plus a bucket; 0: none */
	bool is_app_paused;

	/* The place where BBR is, since when, and all the steps of that moment that led there. */
	enum place place;
	u64 entered_us;
	u32 rounds; /* begun there */
	u32 steps;

	/* The sender. */
	u64 now_us, next_send_ns, app_next_us, first_sent_us, last_progress_us;
	u64 sent, oldest, newest_acked; /* packets by number, from 1 */
	u64 limited_at; /* the last packet sent when the window was full */
	u64 recovery_from, recovery_until; /* packets */
	u32 pending; /* written, not yet sent */
	u32 episode_lost; /* marked since recovery began, less those that arrived after all */
	u32 timeouts, undone;

	/* The link. */
	u64 carried; /* the last packet that it took */
	u64 link_free_us, tokens_us;
	u32 prop_us, queued, dropped;
	struct packet packets[MAX_PACKETS];
};

#define TOKENS 50 /* the policer's bucket */

static inline struct packet *path_packet(struct path *p, u64 number)
{
	return &p->packets[number % MAX_PACKETS];
}

/* ---- the algorithm */

static inline enum place path_place(const struct bbr *b)
{
	static const enum place of_phase[] = {
		[BBR_UP] = UP,
		[BBR_DOWN] = DOWN,
		[BBR_CRUISE] = CRUISE,
		[BBR_REFILL] = REFILL,
	};

	if (b->mode == BBR_PROBE_BW)
		return of_phase[b->cycle_idx];
	return b->mode == BBR_STARTUP ? STARTUP : b->mode == BBR_DRAIN ? DRAIN : PROBE_RTT;
}

/* Called after each callback: notes where BBR is. */
static inline void path_look(struct path *p)
{
	enum place place = path_place(&p->b);

	if (place != p->place) {
		p->steps = p->b.steps | (p->entered_us == p->now_us ? p->steps : 0);
		p->place = place;
		p->entered_us = p->now_us;
		p->rounds = 0;
	}
	p->b.steps = 0;
}

static inline void path_change_state(struct path *p, u8 ca_state)
{
	bbr_change_state(&p->b, &p->sk, ca_state);
	p->sk.ca_state = ca_state;
	path_look(p);
}

/* ---- the link */

/* True if the policer drops this packet. Its bucket fills up in the time of TOKENS packets. */
static inline bool path_is_policed(struct path *p)
{
	if (!p->token_us)
		return false;
	p->tokens_us = max_u64(p->tokens_us, p->now_us - (u64)TOKENS * p->token_us);
	if (p->tokens_us + p->token_us > p->now_us)
		return true;
	p->tokens_us += p->token_us;
	return false;
}

/* True if the queue drops a packet that arrives. */
static inline bool path_drops(struct path *p)
{
	if (path_is_policed(p))
		return true;
	return (p->drop_every && p->sent % p->drop_every == 0) ||
	       (p->buffer && p->queued >= p->buffer);
}

/* Takes from the queue what the link has time for. */
static inline void path_carry(struct path *p)
{
	for (; p->carried < p->sent; p->carried++) {
		struct packet *packet = path_packet(p, p->carried + 1);
		u64 starts_us = max_u64(p->link_free_us, packet->sent_us);

		if (packet->arrives_us == NEVER)
			continue;
		if (starts_us > p->now_us)
			return;
		p->queued--;
		p->link_free_us = starts_us + p->slot_us;
		packet->arrives_us = p->link_free_us + p->prop_us + packet->late_us;
		if (p->ack_every_us)
			packet->arrives_us +=
				p->ack_every_us - 1 - (packet->arrives_us - 1) % p->ack_every_us;
	}
}

/* ---- the sender */

static inline void path_send(struct path *p)
{
	struct shell_sock *sk = &p->sk;
	struct packet *packet = path_packet(p, ++p->sent);

	assert_true(p->sent - p->oldest < MAX_PACKETS);
	if (!sk->inflight) {
		bbr_restart(&p->b, sk);
		path_look(p);
		p->first_sent_us = sk->delivered_mstamp = p->last_progress_us = p->now_us;
	}
	sk->inflight++;
	*packet = (struct packet){
		.sent_us = p->now_us,
		.arrives_us = path_drops(p) ? NEVER : QUEUED,
		.first_sent_us = p->first_sent_us,
		.delivered_us = sk->delivered_mstamp,
		.delivered = sk->delivered,
		.lost = sk->lost,
		.tx_in_flight = sk->inflight,
		.is_app_limited = sk->app_limited,
		.late_us = p->late_us,
	};
	p->dropped += packet->arrives_us == NEVER;
	p->queued += packet->arrives_us == QUEUED;
	p->pending--;
	p->next_send_ns = max_u64(p->next_send_ns, (p->now_us - TICK_US) * 1000) +
			  MSS * 1000000000ull / max_u64(sk->pacing_rate, 1);
}

static inline bool path_is_app_limited(const struct path *p)
{
	return p->app_slot_us || p->is_app_paused;
}

/* Lets the application write, and sends what window and rate allow. */
static inline void path_send_all(struct path *p)
{
	struct shell_sock *sk = &p->sk;

	if (p->app_slot_us && !p->is_app_paused && p->app_next_us <= p->now_us) {
		p->pending++;
		p->app_next_us = p->now_us + p->app_slot_us;
	}
	if (!path_is_app_limited(p))
		p->pending = MAX_PACKETS;
	while (p->pending && sk->inflight < sk->cwnd && p->next_send_ns <= p->now_us * 1000)
		path_send(p);
	if (p->pending && sk->inflight >= sk->cwnd)
		p->limited_at = p->sent;
	if (!path_is_app_limited(p))
		p->pending = 0;
	else if (!p->pending && sk->inflight < sk->cwnd)
		sk->app_limited = max_u32(sk->delivered + sk->inflight, 1);
}

static inline void path_mark_lost(struct path *p, struct packet *packet)
{
	struct shell_sock *sk = &p->sk;
	struct bbr_flight flight;

	packet->is_marked = true;
	sk->lost++;
	sk->inflight--;
	p->pending += path_is_app_limited(p);
	p->episode_lost++;
	flight = (struct bbr_flight){ packet->tx_in_flight, sk->lost - packet->lost,
				      packet->is_app_limited };
	bbr_lose(&p->b, sk, &flight, 1);
	path_look(p);
}

/* Marks packets lost that were overtaken. Returns how many. */
static inline u32 path_find_losses(struct path *p)
{
	u32 losses = 0;

	for (u64 n = p->oldest; n + REORDERING <= p->newest_acked; n++) {
		struct packet *packet = path_packet(p, n);

		if (packet->is_gone || packet->is_marked)
			continue;
		path_mark_lost(p, packet);
		losses++;
		/* The retransmission goes out after all that was sent so far. */
		if (n <= p->recovery_from)
			p->recovery_until = p->sent + 1;
	}
	return losses;
}

static inline void path_recover(struct path *p, u8 ca_state)
{
	p->recovery_from = p->sent;
	p->recovery_until = p->sent + 1;
	if (p->sk.ca_state == TCP_CA_Open)
		bbr_enter_recovery(&p->b, &p->sk);
	if (ca_state == TCP_CA_Loss)
		p->sk.cwnd = p->sk.inflight + 1;
	path_change_state(p, ca_state);
}

/*
 * Packets that were marked lost have arrived: the recovery was a mistake, and nothing counts as
 * lost any more.
 */
static inline void path_undo(struct path *p)
{
	for (u64 n = p->oldest; n <= p->sent; n++) {
		struct packet *packet = path_packet(p, n);

		p->sk.inflight += packet->is_marked && !packet->is_gone;
		packet->is_marked = false;
	}
	p->undone++;
	p->episode_lost = 0;
	p->sk.cwnd = max_u32(p->sk.cwnd, bbr_undo(&p->b, &p->sk));
	path_change_state(p, TCP_CA_Open);
}

static inline void path_update_state(struct path *p, u32 losses, u32 spurious)
{
	u8 ca_state = p->sk.ca_state;

	p->episode_lost -= min_u32(spurious, p->episode_lost);
	if (ca_state == TCP_CA_Open && losses) {
		path_recover(p, TCP_CA_Recovery);
	} else if (ca_state != TCP_CA_Open && spurious &&
		   (!p->episode_lost || ca_state == TCP_CA_Loss)) {
		path_undo(p);
	} else if (ca_state != TCP_CA_Open && p->newest_acked >= p->recovery_until) {
		path_change_state(p, TCP_CA_Open);
	}
	if (p->sk.ca_state == TCP_CA_Open)
		p->episode_lost = 0;
}

/* The timeout: no ACK for 200 ms more than an RTT. */
static inline void path_check_timeout(struct path *p)
{
	if (!p->sk.inflight || p->now_us < p->last_progress_us + (p->sk.srtt_us >> 3) + 200 * MSEC)
		return;
	for (u64 n = p->oldest; n <= p->sent; n++) {
		struct packet *packet = path_packet(p, n);

		if (!packet->is_gone && !packet->is_marked)
			path_mark_lost(p, packet);
	}
	p->last_progress_us = p->now_us;
	p->timeouts++;
	path_recover(p, TCP_CA_Loss);
}

/* The rate sample, as the kernel's tcp_rate.c takes it. */
static inline struct shell_rs path_sample(struct path *p, const struct packet *newest)
{
	u64 send_us = newest->sent_us - newest->first_sent_us;
	u64 ack_us = p->now_us - newest->delivered_us;
	struct shell_rs rs = {
		.delivered = p->sk.delivered - newest->delivered,
		.interval_us = max_u64(send_us, ack_us),
		.rtt_us = p->now_us - newest->sent_us,
		.prior_delivered = newest->delivered,
		.is_app_limited = newest->is_app_limited,
	};

	p->first_sent_us = newest->sent_us;
	p->sk.min_rtt_us = min_u32(p->sk.min_rtt_us, rs.rtt_us);
	p->sk.srtt_us += (s32)(rs.rtt_us - (p->sk.srtt_us >> 3));
	if (rs.interval_us < p->sk.min_rtt_us)
		rs.interval_us = -1;
	return rs;
}

/* All packets that arrive now make one ACK. */
static inline void path_receive(struct path *p)
{
	struct shell_sock *sk = &p->sk;
	u32 inflight = sk->inflight, acked = 0, spurious = 0, losses;
	const struct packet *newest = NULL;
	struct bbr_ack ack = { 0 };
	struct shell_rs rs;

	for (u64 n = p->oldest; n <= p->sent; n++) {
		struct packet *packet = path_packet(p, n);

		if (n == p->oldest &&
		    (packet->is_gone || (packet->is_marked && packet->arrives_us == NEVER)))
			p->oldest++;
		if (packet->is_gone || packet->arrives_us == NEVER)
			continue;
		if (packet->arrives_us > p->now_us) {
			if (packet->late_us)
				continue;
			break;
		}
		packet->is_gone = true;
		acked++;
		spurious += packet->is_marked;
		sk->inflight -= !packet->is_marked;
		newest = packet;
		p->newest_acked = max_u64(p->newest_acked, n);
	}
	if (!acked)
		return;
	sk->delivered += acked;
	sk->delivered_mstamp = p->last_progress_us = p->now_us;
	if (sk->app_limited && after(sk->delivered, sk->app_limited))
		sk->app_limited = 0;
	sk->is_cwnd_limited = p->limited_at >= p->newest_acked;
	losses = path_find_losses(p);
	path_update_state(p, losses, spurious);
	rs = path_sample(p, newest);
	rs.losses = losses;
	rs.acked_sacked = acked;
	rs.prior_in_flight = inflight;
	ack.flight = (struct bbr_flight){ newest->tx_in_flight, sk->lost - newest->lost,
					  newest->is_app_limited };
	bbr_acked(&p->b, sk, &rs, &ack);
	p->rounds += p->b.round_start;
	path_look(p);
}

/* ---- what tests call */

static inline void path_tick(struct path *p)
{
	p->now_us += TICK_US;
	assert_true(p->now_us < END_US);
	p->sk.tcp_mstamp = p->now_us;
	p->sk.tcp_clock_cache = p->now_us * 1000;
	p->sk.now_ms = p->now_us / 1000;
	path_receive(p);
	path_check_timeout(p);
	path_send_all(p);
	path_carry(p);
}

/* The parameters of the profile draft. */
static inline struct bbr_params path_draft(void)
{
	struct bbr_params draft = BBR_PARAMS_DEFAULT;

	draft.drain_gain[0] = 128;
	draft.probe_bw_gains[BBR_DOWN] = 230;
	draft.drain_max_rounds[0] = 3;
	draft.full_bw_by_round[0] = 1;
	draft.cruise_above_hi[0] = 1;
	draft.extra_acked_win[0] = 10;
	draft.extra_acked_max[0] = 10000000;
	return draft;
}

/* A connection after its handshake, which took rtt_us. */
static inline void path_connect(struct path *p, u32 slot_us, u32 prop_us, u32 rtt_us)
{
	*p = (struct path){
		.p = path_draft(),
		.slot_us = slot_us,
		.prop_us = prop_us,
		.oldest = 1,
		.now_us = BEGIN_US,
		.entered_us = BEGIN_US,
	};
	p->sk = (struct shell_sock){
		.param = &p->p,
		.more = &p->more,
		.history = &p->history,
		.tcp_mstamp = p->now_us,
		.delivered_mstamp = p->now_us,
		.max_pacing_rate = ~0ull,
		.now_ms = p->now_us / 1000,
		.mss = MSS,
		.srtt_us = rtt_us << 3,
		.min_rtt_us = rtt_us,
		.snd_cwnd_clamp = 0xffffffff,
		.pacing_shift = 10,
		.ca_state = TCP_CA_Open,
		.gso_max_size = 65536,
		.max_tcp_header = 320,
		.min_tso_segs = 2,
		.cwnd = 10,
	};
	bbr_start(&p->b, &p->sk);
	path_look(p);
}

static inline void path_run(struct path *p, u64 us)
{
	for (u64 end_us = p->now_us + us; p->now_us < end_us;)
		path_tick(p);
}

/* Runs until a round begins or BBR changes its place. */
static inline void path_run_round(struct path *p)
{
	enum place place = p->place;

	for (u32 rounds = p->rounds; p->rounds == rounds && p->place == place;)
		path_tick(p);
}

/* Runs until BBR leaves its place. Returns the new one. */
static inline enum place path_run_on(struct path *p)
{
	enum place place = p->place;

	while (p->place == place)
		path_tick(p);
	return p->place;
}

static inline void path_run_to(struct path *p, enum place place)
{
	while (p->place != place)
		path_run_on(p);
}

/* Time since BBR entered its place. */
static inline u64 path_since(const struct path *p)
{
	return p->now_us - p->entered_us;
}

/* bw in percent of the link's bandwidth. */
static inline u32 path_percent(const struct path *p, u32 bw)
{
	return (u64)bw * p->slot_us * 100 >> BW_SCALE;
}

#endif
