// SPDX-License-Identifier: GPL-2.0-only
/*
 * All conversions between Google's BBR version 3 and ours:
 *
 * - Ours has 24 bits for counts of packets, Google's 32; all ones mean "none" in both.
 * - Google's keeps stamps in jiffies, ours in milliseconds. The algorithm only compares and adds
 *   them. So here it gets the kernel's clock as it is, and the parameters that are counted by it
 *   in jiffies as well.
 * - Google's keeps both gains in force. The algorithm only needs to know whether the pacing gain
 *   is above 1.0.
 * - The random number of a probe's wait follows from what the kernel drew.
 */
#include <stdlib.h>
#include <string.h>

#include "../replayer.h"
#include "replay.h"
#include "v3r.h"

static const char *const kinds[] = KIND_NAMES;

#define MAX_TCP_HEADER 192 /* in the kernel that was recorded */
#define ECN_OK 1 /* TCP_ECN_OK */
#define ECN_DEMAND_CWR 4 /* TCP_ECN_DEMAND_CWR */
#define ECN_LOW 16 /* TCP_ECN_LOW: the route's marks mean a short queue */
#define ECN_ECT_PERMANENT 32 /* TCP_ECN_ECT_PERMANENT */

/* X(first bit in Google's struct bbr, bits, ours) */
#define FIELDS(X)                              \
	X(0, 32, b.min_rtt_us)                 \
	X(32, 32, b.min_rtt_stamp)             \
	X(64, 32, b.probe_rtt_done_stamp)      \
	X(96, 32, b.probe_rtt_min_us)          \
	X(128, 32, b.probe_rtt_min_stamp)      \
	X(160, 32, b.next_round_delivered)     \
	X(192, 64, b.cycle_mstamp)             \
	X(256, 2, b.mode)                      \
	X(258, 3, b.prev_ca_state)             \
	X(261, 1, b.round_start)               \
	X(262, 1, more.ce_state)               \
	X(263, 5, b.probe_up_rounds)           \
	X(268, 1, b.try_fast_path)             \
	X(269, 1, b.idle_restart)              \
	X(270, 1, b.round_done)                \
	X(271, 7, b.init_cwnd)                 \
	X(288, 10, more.pacing_gain)           \
	X(298, 10, more.cwnd_gain)             \
	X(308, 1, b.full_bw_reached)           \
	X(309, 2, b.full_bw_cnt)               \
	X(311, 2, b.cycle_idx)                 \
	X(313, 1, b.has_seen_rtt)              \
	X(320, 32, b.prior_cwnd)               \
	X(352, 32, b.full_bw)                  \
	X(384, 64, b.ack_epoch_mstamp)         \
	X(480, 20, b.ack_epoch_acked)          \
	X(500, 5, b.extra_acked_win_rtts)      \
	X(506, 1, b.full_bw_now)               \
	X(507, 2, more.startup_ecn_rounds)     \
	X(509, 1, b.loss_in_cycle)             \
	X(510, 1, more.ecn_in_cycle)           \
	X(512, 32, b.loss_round_delivered)     \
	X(544, 32, more.undo_bw_lo)            \
	X(640, 32, b.bw_latest)                \
	X(672, 32, b.bw_lo)                    \
	X(704, 32, b.bw_hi[0])                 \
	X(736, 32, b.bw_hi[1])                 \
	X(928, 32, b.probe_wait_us)            \
	X(960, 32, more.prior_rcv_nxt)         \
	X(992, 1, more.ecn_eligible)           \
	X(993, 9, more.ecn_alpha)              \
	X(1002, 1, b.probe_samples)            \
	X(1003, 1, b.prev_probe_too_high)      \
	X(1004, 1, b.stopped_risky_probe)      \
	X(1005, 8, b.rounds_since_probe)       \
	X(1013, 1, b.loss_round_start)         \
	X(1014, 1, b.loss_in_round)            \
	X(1015, 1, more.ecn_in_round)          \
	X(1016, 3, b.acks)                     \
	X(1019, 4, b.loss_events_in_round)     \
	X(1023, 1, b.initialized)              \
	X(1024, 32, more.alpha_last_delivered) \
	X(1056, 32, more.alpha_last_delivered_ce)

/* X(first bit, ours): counts of packets that may be "none". */
#define COUNTS(X)                     \
	X(576, more.undo_inflight_lo) \
	X(608, more.undo_inflight_hi) \
	X(768, b.inflight_latest)     \
	X(800, b.inflight_lo)         \
	X(832, b.inflight_hi)         \
	X(864, b.probe_up_cnt)        \
	X(896, b.probe_up_acks)

static u64 bits_of(const u8 *state, unsigned int at, unsigned int bits)
{
	u64 value;

	memcpy(&value, state + at / 64 * 8, sizeof(value)); /* no member is in two words */
	value >>= at % 64;
	return bits < 64 ? value & ((1ull << bits) - 1) : value;
}

static u32 count_of(const u8 *state, unsigned int at)
{
	u32 count = bits_of(state, at, 32);

	return count == ~0u ? BBR_COUNT_NONE : count;
}

/*
 * The value of the current slot of ACK aggregation, or of the other one. The current one is the
 * first in ours.
 */
static u16 slot_of(const u8 *state, bool other)
{
	return bits_of(state, 448 + 16 * (bits_of(state, 505, 1) ^ other), 16);
}

static void load_state(const u8 *state, struct replay *r)
{
	static const struct bbr_params params = BBR_PARAMS_DEFAULT;
	const struct shell_sock sk = { .param = &params };

	r->b = (struct bbr){};
	r->more = (struct bbr_more){};
#define X(at, bits, ours) r->ours = bits_of(state, at, bits);
	FIELDS(X)
#undef X
#define X(at, ours) r->ours = count_of(state, at);
	COUNTS(X)
#undef X
	r->b.extra_acked[0] = slot_of(state, false);
	r->b.extra_acked[1] = slot_of(state, true);
	r->b.raising = r->more.pacing_gain > BBR_UNIT;
	r->b.new_gains = r->more.pacing_gain != bbr_pacing_gain(&r->b, &sk) ||
			 r->more.cwnd_gain != bbr_cwnd_gain(&r->b, &sk);
}

/* Google's constants, with those that are counted in jiffies converted for hz. */
static struct bbr_params google_params(unsigned int hz)
{
	struct bbr_params p = BBR_PARAMS_DEFAULT, clamped;

	p.min_rtt_win[0] = p.min_rtt_win[0] / 1000 * hz; /* bbr_min_rtt_win_sec * HZ */
	p.probe_rtt_win[0] = (p.probe_rtt_win[0] * hz + 999) / 1000; /* msecs_to_jiffies() */
	p.probe_rtt_duration[0] = (p.probe_rtt_duration[0] * hz + 999) / 1000;
	bbr_clamp_params(&clamped, &p); /* as for all parameters */
	return clamped;
}

/*
 * A number that leads to the random values in the state after the callback (bbr_pick_probe_wait()):
 * its highest bit is the count of rounds, 0 or 1; its other 31 bits are the wait as a fraction. If
 * the callback drew no number, any will do.
 */
static u32 random_of(const u8 *state)
{
	const struct bbr_params p = BBR_PARAMS_DEFAULT;
	u32 rounds = bits_of(state, 1005, 8), rand = p.probe_wait_rand[0];
	u64 wait = (u32)(bits_of(state, 928, 32) - p.probe_wait[0]);
	/* The lowest 32-bit one that gives the wait. */
	u64 fraction = ((wait << 32) + rand - 1) / rand;

	return rounds << 31 | (u32)((fraction + 1) / 2);
}

static void load_sock(const struct record *rec, u32 clock, struct shell_sock *sk)
{
	*sk = (struct shell_sock){
		.tcp_mstamp = rec->tcp_mstamp,
		.delivered_mstamp = rec->delivered_mstamp,
		.tcp_clock_cache = rec->tcp_clock_cache,
		.tcp_wstamp_ns = rec->tcp_wstamp_ns,
		.max_pacing_rate = rec->sk_max_pacing_rate,
		.now_ms = clock,
		.random = random_of(rec->state_after),
		.delivered = rec->delivered,
		.lost = rec->lost,
		.inflight = rec->packets_out - (rec->sacked_out + rec->lost_out) + rec->retrans_out,
		.mss = rec->kind == KIND_TSO_SEGS ? rec->arg : rec->mss_cache,
		.srtt_us = rec->srtt_us,
		.min_rtt_us = rec->rtt_min_us,
		.snd_cwnd_clamp = rec->snd_cwnd_clamp,
		.pacing_shift = rec->sk_pacing_shift,
		.ca_state = rec->ca_state,
		.delivered_ce = rec->delivered_ce,
		.stack_prior_cwnd = rec->tp_prior_cwnd,
		.rcv_nxt = rec->rcv_nxt,
		.snd_una = rec->snd_una,
		.snd_nxt = rec->snd_nxt,
		.sacked_out = rec->sacked_out,
		.lost_out = rec->lost_out,
		.retrans_out = rec->retrans_out,
		.write_seq = rec->write_seq,
		.queued = rec->sk_wmem_alloc - 1,
		.reord_seen = rec->reord_seen,
		.tlp_high_seq = rec->tlp_high_seq,
		.tlp_retrans = rec->tlp_retrans,
		.gso_max_size = rec->sk_gso_max_size,
		.max_tcp_header = MAX_TCP_HEADER,
		.min_tso_segs = rec->sysctl_tcp_min_tso_segs,
		.is_cwnd_limited = rec->is_cwnd_limited,
		.uses_ecn = rec->ecn_flags & ECN_OK && rec->ecn_flags & ECN_LOW,
		.pacing_rate = rec->sk_pacing_rate,
		.cwnd = rec->snd_cwnd,
		.ssthresh = rec->snd_ssthresh,
		.app_limited = rec->app_limited,
		.ack_pending = rec->ack_pending,
		.demand_cwr = rec->ecn_flags & ECN_DEMAND_CWR,
		.ect_permanent = rec->ecn_flags & ECN_ECT_PERMANENT,
		.fast_ack_mode = rec->fast_ack_mode,
	};
}

static void load_sample(const struct record *rec, struct shell_rs *rs)
{
	*rs = (struct shell_rs){
		.delivered = rec->rs_delivered,
		.losses = rec->rs_losses,
		.interval_us = rec->rs_interval_us,
		.rtt_us = rec->rs_rtt_us,
		.prior_delivered = rec->rs_prior_delivered,
		.prior_in_flight = rec->rs_prior_in_flight,
		.acked_sacked = rec->rs_acked_sacked,
		.last_end_seq = rec->rs_last_end_seq,
		.is_retrans = rec->rs_is_retrans,
		.is_app_limited = rec->rs_is_app_limited,
		.is_ack_delayed = rec->rs_is_ack_delayed,
	};
}

static struct bbr_flight flight_of_acked(const struct record *rec)
{
	return (struct bbr_flight){
		.tx_in_flight = rec->rs_tx_in_flight,
		.lost = rec->rs_lost,
		.is_app_limited = rec->rs_is_app_limited,
	};
}

/* Nothing is known about a packet that was SACKed before. */
static struct bbr_flight flight_of_lost(const struct record *rec)
{
	return (struct bbr_flight){
		.tx_in_flight = rec->skb_tx_delivered_mstamp ? rec->skb_tx_in_flight : 0,
		.lost = rec->lost - rec->skb_tx_lost,
		.is_app_limited = rec->skb_tx_is_app_limited,
	};
}

static void load(void *recording, const void *callback, bool after, void *replay)
{
	const struct record *rec = callback;
	struct replay *r = replay;

	(void)recording;
	load_state(rec->state_before, r);
	load_sock(rec, after ? rec->jiffies_after : rec->jiffies_before, &r->sk);
	load_sample(rec, &r->rs);
	r->ack = (struct bbr_ack){
		.flight = rec->kind == KIND_LOST ? flight_of_lost(rec) : flight_of_acked(rec),
		.delivered_ce = rec->rs_delivered_ce,
		.is_ece = rec->rs_is_ece,
		.acks_tlp = rec->rs_is_acking_tlp_retrans_seq,
	};
	if (rec->kind == KIND_EVENT)
		r->ack.flight.is_app_limited = rec->tlp_orig_data_app_limited;
	r->packets = rec->skb_gso_segs;
	r->returned = 0;
	r->kind = rec->kind;
	r->arg = rec->arg;
}

static u8 ecn_flags_after(const struct record *rec, const struct shell_sock *sk)
{
	return (rec->ecn_flags & ~(ECN_DEMAND_CWR | ECN_ECT_PERMANENT)) |
	       (sk->demand_cwr ? ECN_DEMAND_CWR : 0) | (sk->ect_permanent ? ECN_ECT_PERMANENT : 0);
}

static int compare(void *recording, const void *callback, const void *replay,
		   on_difference_fn *on_difference)
{
	const struct record *rec = callback;
	const struct replay *r = replay;
	int differences = 0;

	(void)recording;
#define COMPARE(name, kernel_has, we_have)                              \
	if ((kernel_has) != (we_have)) {                                \
		differences++;                                          \
		if (on_difference)                                      \
			on_difference((name), (kernel_has), (we_have)); \
	}
#define X(at, bits, ours) COMPARE(#ours, bits_of(rec->state_after, at, bits), r->ours)
	FIELDS(X)
#undef X
#define X(at, ours) COMPARE(#ours, count_of(rec->state_after, at), r->ours)
	COUNTS(X)
#undef X
	COMPARE("extra_acked[0]", slot_of(rec->state_after, false), r->b.extra_acked[0])
	COMPARE("extra_acked[1]", slot_of(rec->state_after, true), r->b.extra_acked[1])
	COMPARE("pacing_rate", rec->after_sk_pacing_rate, r->sk.pacing_rate)
	COMPARE("cwnd", rec->after_snd_cwnd, r->sk.cwnd)
	COMPARE("ssthresh", rec->after_snd_ssthresh, r->sk.ssthresh)
	COMPARE("app_limited", rec->after_app_limited, r->sk.app_limited)
	COMPARE("ecn_flags", rec->after_ecn_flags, ecn_flags_after(rec, &r->sk))
	COMPARE("ack_pending", rec->after_ack_pending, r->sk.ack_pending)
	COMPARE("fast_ack_mode", rec->after_fast_ack_mode, r->sk.fast_ack_mode)
	COMPARE("acks_sent", rec->after_segs_out - rec->segs_out, r->sk.acks_sent)
	COMPARE("return value", rec->returned, r->returned)
#undef COMPARE
	return differences;
}

static void *open_recording(const char *path, void *params)
{
	struct v3r *r = malloc(sizeof(*r));

	if (!r) {
		fprintf(stderr, "%s: no memory\n", path);
		exit(2);
	}
	v3r_open(r, path);
	*(struct bbr_params *)params = google_params(r->hz);
	return r;
}

static bool read_callback(void *recording, void *callback)
{
	return v3r_read(recording, callback);
}

static void close_recording(void *recording, const __u64 *seen)
{
	v3r_close(recording, seen);
	free(recording);
}

static unsigned int kind_of(const void *callback, __u32 *arg)
{
	const struct record *rec = callback;

	*arg = rec->arg;
	return rec->kind;
}

static bool is_ticked(const void *callback)
{
	const struct record *rec = callback;

	return rec->jiffies_before != rec->jiffies_after;
}

static void run(void *replay, const void *params)
{
	replay_callback(replay, params);
}

const struct replayer replayer_bbr3 = {
	.name = "bbr3",
	.kinds = kinds,
	.n_kinds = KINDS,
	.callback_size = sizeof(struct record),
	.replay_size = sizeof(struct replay),
	.params_size = sizeof(struct bbr_params),
	.open = open_recording,
	.read = read_callback,
	.close = close_recording,
	.kind = kind_of,
	.is_ticked = is_ticked,
	.load = load,
	.run = run,
	.compare = compare,
};
