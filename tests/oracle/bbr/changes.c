// SPDX-License-Identifier: GPL-2.0-only
/* BBR version 1 for ../kinds.c: reads its recorded ACKs, and changes them. */
#include <stdio.h>
#include <stdlib.h>

#include "../changes.h"
#include "mainline.h"

struct bbr_params recorded_params;

void read_recording(const char *path)
{
	struct callback cb;
	unsigned int socket;
	struct layout layout;
	struct replay *ack;
	struct stream in;
	struct header h;

	stream_open(&in, path, &h);
	if (layout_init(&layout, &h)) {
		fprintf(stderr, "kinds: %s: has another struct bbr\n", path);
		exit(2);
	}
	recorded_params = mainline_params(h.hz);
	while (stream_read(&in, &socket, &cb))
		if (cb.kind == CB_CONG_CONTROL && (ack = next_ack()))
			mainline_load(&layout, &cb, cb.jiffies[0], ack);
	stream_close(&in);
}

/*
 * Changes the filter. Its values fall and its times rise, as in any filter that the algorithm has
 * filled.
 */
static void change_filter(struct bbr *b)
{
	__u32 win = params.bw_win[0], ages[3] = { win, win / 2, win / 4 };
	struct minmax_sample *s = b->bw.s;

	s[0].t = b->round_count - beside(ages[below(3)]);
	for (int i = 1; i < 3; i++) {
		s[i].t =
			below(2) ? s[i - 1].t : s[i - 1].t + below(b->round_count - s[i - 1].t + 1);
		s[i].v = below(2) ? s[i - 1].v : s[i - 1].v - below(s[i - 1].v / 4 + 1);
	}
}

/* Sets the sample's rate to one of the filter's values. */
static void change_rate(struct replay *r)
{
	__u64 v = r->b.bw.s[below(3)].v;

	r->rs.interval_us = 1 + below(1 << (1 + below(20)));
	r->rs.delivered = (v * r->rs.interval_us >> BW_SCALE) + below(2);
	if (below(2) && r->rs.delivered > 0 && v)
		r->rs.interval_us = beside(((__u64)r->rs.delivered << BW_SCALE) / v);
}

static void change_sample(struct replay *r)
{
	static const __s64 intervals[] = { -1, 0, 1, 1ll << 32, (1ll << 32) + 1, (1ll << 40) + 77 };

	switch (below(8)) {
	case 0:
		r->rs.interval_us = intervals[below(6)];
		break;
	case 1:
		r->rs.delivered = below(2) ? (int)below(4) - 1 : (int)of_any_size();
		break;
	case 2:
		r->rs.losses = below(3);
		break;
	case 3:
		r->rs.acked_sacked = below(2) ? below(3) : of_any_size();
		break;
	case 4:
		r->rs.is_app_limited = below(2);
		r->rs.is_ack_delayed = below(2);
		break;
	case 5:
		r->rs.prior_delivered = beside(r->b.next_round_delivered);
		break;
	case 6:
		r->rs.rtt_us = below(4) ? (__s64)beside(r->b.min_rtt_us) : -(__s64)of_any_size();
		break;
	default:
		change_rate(r);
	}
}

static void change_flags(struct bbr *b, struct shell_sock *sk)
{
	switch (below(10)) {
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
		b->packet_conservation ^= 1;
		break;
	case 4:
		b->idle_restart ^= 1;
		break;
	case 5:
		b->has_seen_rtt ^= 1;
		break;
	case 6:
		b->watched ^= 1;
		break;
	case 7:
		b->lt_use_bw ^= 1;
		b->lt_bw = of_any_size();
		break;
	case 8:
		b->lt_is_sampling ^= 1;
		b->lt_rtt_cnt = below(128);
		break;
	default:
		b->full_bw_reached ^= 1;
		b->full_bw_cnt = below(32);
	}
}

static void change_clock(struct bbr *b, struct shell_sock *sk)
{
	switch (below(5)) {
	case 0:
		sk->now_ms = beside(b->min_rtt_stamp + params.min_rtt_win[0]);
		break;
	case 1:
		sk->delivered_mstamp = beside(b->cycle_mstamp + b->min_rtt_us);
		break;
	case 2:
		sk->tcp_wstamp_ns = beside(sk->tcp_clock_cache) + below(2) * below(10000000);
		break;
	case 3:
		b->ack_epoch_mstamp = beside(sk->delivered_mstamp - below(100000));
		break;
	default:
		*(below(2) ? &sk->delivered_mstamp : &b->ack_epoch_mstamp) = of_any_size();
	}
}

static void change_phase(struct bbr *b, struct shell_rs *rs)
{
	__u64 bdp = (__u64)b->bw.s[0].v * b->min_rtt_us >> BW_SCALE;

	b->cycle_idx = below(8);
	b->pacing_gain = params.probe_bw_gains[b->cycle_idx];
	rs->prior_in_flight = beside(bdp * b->pacing_gain >> BBR_SCALE) + below(2) * below(20);
}

void change(struct replay *r)
{
	switch (below(8)) {
	case 0:
		change_filter(&r->b);
		break;
	case 1:
	case 2:
		change_sample(r);
		break;
	case 3:
		change_flags(&r->b, &r->sk);
		break;
	case 4:
		change_clock(&r->b, &r->sk);
		break;
	case 5:
		change_phase(&r->b, &r->rs);
		break;
	case 6:
		change_aggregation(&r->b, &r->sk, r->b.bw.s[0].v);
		break;
	default:
		change_socket(&r->b, &r->sk);
	}
}
