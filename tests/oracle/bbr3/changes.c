// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR version 3 for ../kinds.c: reads recorded ACKs of Google's, and changes them. What estimate.h
 * reads of the socket is as it was recorded, too.
 */
#include "../changes.h"
#include "../replayer.h"
#include "record.h"

struct bbr_params recorded_params;

/*
 * As if before most ACKs nothing had been lost or reordered, where there is no ECN; and in CRUISE
 * and DOWN as if the search for the full bandwidth were over.
 */
static void add_estimate(const struct record *rec, struct replay *r)
{
	r->sk.snd_una = rec->snd_una;
	r->sk.snd_nxt = rec->snd_nxt;
	r->sk.sacked_out = rec->sacked_out;
	r->sk.tlp_high_seq = rec->tlp_high_seq;
	r->rs.last_end_seq = rec->rs_last_end_seq;
	r->rs.is_retrans = rec->rs_is_retrans;
	r->rs.tx_in_flight = r->ack.flight.tx_in_flight;
	r->rs.lost = r->ack.flight.lost;
	r->b.full_bw_now |= r->b.cycle_idx == BBR_CRUISE || r->b.cycle_idx == BBR_DOWN;
	r->b.in_order = r->ack.flight.lost <= 0 && bbr_can_be_in_order(&r->sk);
	r->b.last_lost = rec->lost;
	r->history.lost_before = r->history.prior_lost = rec->lost;
	r->packets = 1;
}

void read_recording(const char *path)
{
	const struct replayer *of = &replayer_bbr3;
	void *recording = of->open(path, &recorded_params);
	struct record rec;
	struct replay *r;
	__u32 arg;

	while (of->read(recording, &rec)) {
		if (of->kind(&rec, &arg) != KIND_MAIN || !(r = next_ack()))
			continue;
		of->load(recording, &rec, false, r);
		add_estimate(&rec, r);
	}
}

static void change_sample(struct replay *r)
{
	static const __s64 intervals[] = { -1, 0, 1, 1ll << 32, (1ll << 32) + 1, (1ll << 40) + 77 };
	__u64 bws[] = { r->b.bw_hi[0], r->b.bw_hi[1], r->b.bw_latest, r->b.full_bw };

	switch (below(9)) {
	case 0:
		r->rs.interval_us = intervals[below(6)];
		break;
	case 1:
		r->rs.delivered = below(2) ? (int)below(4) - 1 : (int)of_any_size();
		break;
	case 2:
		r->rs.acked_sacked = below(2) ? below(3) : of_any_size();
		break;
	case 3:
		r->rs.is_app_limited ^= 1;
		r->b.try_fast_path ^= 1;
		break;
	case 4:
		r->rs.prior_delivered =
			beside(below(2) ? r->b.next_round_delivered : r->b.loss_round_delivered);
		break;
	case 5:
		r->rs.rtt_us =
			below(4) ? (__s64)beside(r->b.probe_rtt_min_us) : -(__s64)of_any_size();
		break;
	case 6:
		r->rs.last_end_seq = r->sk.snd_una + below(2) * below(1 << 20);
		break;
	case 7: /* no recording has these two */
		r->sk.rate_delivered = beside(r->rs.delivered);
		r->sk.rate_app_limited = below(2);
		break;
	default: /* a rate equal to one that it is compared with */
		r->rs.interval_us = 1 + below(1 << (1 + below(20)));
		r->rs.delivered = beside(bws[below(4)] * r->rs.interval_us >> BW_SCALE);
	}
}

/*
 * Makes an ACK one that is not in order, lossless or calm, or one of a kernel that knows the
 * flight. Without ECN nothing is marked.
 */
static void change_flags(struct replay *r)
{
	struct bbr *b = &r->b;
	struct shell_sock *sk = &r->sk;

	switch (below(13)) {
	case 0:
		b->mode = below(4);
		break;
	case 1:
		b->prev_ca_state = below(5);
		break;
	case 2:
		sk->ca_state = below(5);
		break;
	case 3:
		b->idle_restart ^= 1;
		break;
	case 4:
		b->has_seen_rtt = b->initialized && below(2); /* bbr_init() comes first */
		break;
	case 5:
		b->watched ^= 1;
		break;
	case 6:
		b->loss_in_round ^= 1;
		break;
	case 7:
		b->full_bw_reached ^= 1;
		break;
	case 8:
		b->in_order = !b->in_order && bbr_can_be_in_order(sk);
		break;
	case 9:
		sk->lost = beside(sk->lost);
		break;
	case 10:
		sk->sacked_out = below(2) * below(5);
		sk->tlp_high_seq = below(2) * beside(sk->snd_una);
		break;
	case 11:
		sk->has_flight = true;
		r->rs.tx_in_flight = beside(r->rs.tx_in_flight);
		r->rs.lost = below(2) * beside(0);
		r->rs.is_acking_tlp_retrans_seq = !below(4);
		break;
	default:
		r->packets ^= 1;
	}
}

static void change_clock(struct bbr *b, struct shell_sock *sk)
{
	switch (below(5)) {
	case 0:
		sk->now_ms = beside(b->probe_rtt_min_stamp + params.probe_rtt_win[0]);
		break;
	case 1:
		sk->now_ms = beside(b->min_rtt_stamp + params.min_rtt_win[0]);
		break;
	case 2:
		sk->tcp_mstamp = beside(b->cycle_mstamp + b->probe_wait_us);
		break;
	case 3:
		sk->tcp_wstamp_ns = beside(sk->tcp_clock_cache) + below(2) * below(10000000);
		break;
	default:
		b->ack_epoch_mstamp = beside(sk->delivered_mstamp - below(100000));
	}
}

static void change_phase(struct replay *r)
{
	struct bbr *b = &r->b;
	__u64 bdp = (__u64)bbr_max_bw(b) * b->min_rtt_us >> BW_SCALE;
	__u64 at_edt_us = (r->sk.tcp_wstamp_ns - r->sk.tcp_clock_cache) / NSEC_PER_USEC;

	b->cycle_idx = below(4);
	b->acks = below(2) ? BBR_ACKS_INIT : below(BBR_ACKS);
	b->probe_samples = below(2);
	b->new_gains = below(2);
	b->raising = below(2);
	b->prev_probe_too_high = below(2);
	b->stopped_risky_probe = below(2);
	b->full_bw_now = below(4) > 0;
	b->full_bw_cnt = below(4);
	if (below(4) == 0) { /* DOWN, which ends by inflight */
		b->cycle_idx = BBR_DOWN;
		b->acks = BBR_ACKS_INIT;
		b->new_gains = 0;
		b->full_bw_now = 1;
	}
	r->rs.prior_in_flight = beside(bdp) + below(2) * below(20);
	if (below(2) && r->sk.tcp_wstamp_ns > r->sk.tcp_clock_cache)
		r->rs.prior_in_flight += bbr_bw(b) * at_edt_us >> BW_SCALE;
	b->rounds_since_probe =
		below(2) ? beside(min_u64(bdp, params.probe_max_rounds[0])) : below(256);
}

static void change_bounds(struct replay *r)
{
	struct bbr *b = &r->b;

	switch (below(5)) {
	case 0:
		b->inflight_hi = below(2) ? BBR_COUNT_NONE : beside(r->rs.delivered);
		break;
	case 1:
		b->inflight_lo = below(2) ? BBR_COUNT_NONE : of_any_size();
		break;
	case 2:
		b->bw_lo = max_u32(below(2) ? BBR_BW_NONE : beside(bbr_max_bw(b)), 1);
		break;
	case 3:
		b->bw_hi[below(2)] = of_any_size();
		break;
	default:
		b->probe_up_cnt = below(2) ? BBR_COUNT_NONE : below(100);
		b->probe_up_acks = below(100);
		b->probe_up_rounds = below(31);
		r->sk.is_cwnd_limited = below(2);
	}
}

void change(struct replay *r)
{
	switch (below(8)) {
	case 0:
		change_bounds(r);
		break;
	case 1:
	case 2:
		change_sample(r);
		break;
	case 3:
		change_flags(r);
		break;
	case 4:
		change_clock(&r->b, &r->sk);
		break;
	case 5:
		change_phase(r);
		break;
	case 6:
		change_aggregation(&r->b, &r->sk, bbr_bw(&r->b));
		break;
	default:
		change_socket(&r->b, &r->sk);
	}
}
