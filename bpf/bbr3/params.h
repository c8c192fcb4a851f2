/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every constant of BBR version 3, and every option (bpf_bbr/params.h explains the table).
 *
 * The defaults are those of Google's v3 (branch v3 of github.com/google/bbr); "the draft" is
 * draft-ietf-ccwg-bbr. "Unnamed" marks a constant without a name in Google's code. "Round"
 * is a packet-timed round trip. Options do not exist in Google's code: 0 turns one off, as in
 * Google's.
 *
 * The maxima keep the counters of struct bbr and all 64-bit products from overflowing. The minima
 * keep a connection moving.
 */
#ifndef BBR_PARAMS_H
#define BBR_PARAMS_H

#include "bpf_bbr/params.h"

/* clang-format off */
#define BBR_PARAMS(C, O) \
	C(startup_pacing_gain, 1, GAIN, BBR_V(710), 256, 4095, \
	  "STARTUP's pacing gain: 4 ln 2, the lowest that doubles the rate each round") \
	C(startup_cwnd_gain, 1, GAIN, BBR_V(512), 256, 4095, \
	  "cwnd gain in STARTUP and DRAIN") \
	C(startup_cwnd, 1, GAIN, BBR_V(512), 256, 4095, \
	  "until the pipe is full cwnd grows at least to this times the initial one (Google: 2, unnamed)") \
	C(drain_gain, 1, GAIN, BBR_V(88), 16, 256, \
	  "DRAIN's pacing gain: 1/2.885 (the draft: 0.5)") \
	C(probe_bw_gains, 4, GAIN, BBR_V(320, 232, 256, 256), 64, 4095, \
	  "PROBE_BW's pacing gains: UP, DOWN (the draft: 0.9), CRUISE, REFILL") \
	C(cwnd_gain, 1, GAIN, BBR_V(512), 256, 4095, \
	  "PROBE_BW's cwnd gain: 2 BDP tolerate delayed and stretched ACKs") \
	C(probe_up_cwnd_gain, 1, GAIN, BBR_V(64), 0, 4095, \
	  "added to cwnd_gain in UP, so that cwnd does not limit the probe (Google: 1/4 x bw_probe_cwnd_gain)") \
	C(probe_rtt_gain, 1, GAIN, BBR_V(256), 64, 4095, \
	  "PROBE_RTT's pacing and cwnd gain (Google: 1.0, unnamed)") \
	C(idle_restart_gain, 1, GAIN, BBR_V(256), 64, 4095, \
	  "pacing gain when PROBE_BW restarts from idle (Google: 1.0, unnamed)") \
	C(pacing_margin, 1, PERCENT, BBR_V(1), 0, 50, \
	  "pace this much below the estimated bandwidth, so that queues shrink") \
	C(cwnd_min_target, 1, PACKETS, BBR_V(4), 2, 65535, \
	  "floor of cwnd: two packets in flight, two being ACKed") \
	C(init_rtt, 1, USEC, BBR_V(1000), 1, 10000000, \
	  "RTT for the first pacing rate, before one is measured (Google: 1 ms)") \
	C(tso_rtt, 1, USEC, BBR_V(512), 0, 1000000, \
	  "a burst may have 64 KB, halved for each multiple of this in min_rtt (2^bbr_tso_rtt_shift); 0: only the rate counts") \
	C(tso_budget, 1, COUNT, BBR_V(3), 0, 16, \
	  "minimum cwnd target in TSO bursts: one each in qdisc, sender's NIC, receiver's GRO") \
	C(probe_up_extra, 1, PACKETS, BBR_V(2), 0, 1000, \
	  "packets added to the target in UP, to exceed small BDPs") \
	C(min_rtt_win, 1, MSEC, BBR_V(10000), 100, 3600000, \
	  "window of the minimum filter of RTT") \
	C(probe_rtt_win, 1, MSEC, BBR_V(5000), 100, 3600000, \
	  "PROBE_RTT follows after this time without a lower RTT; at most min_rtt_win") \
	C(probe_rtt_duration, 1, MSEC, BBR_V(200), 0, 10000, \
	  "minimum time at the low window in PROBE_RTT; 0 turns PROBE_RTT off") \
	C(probe_rtt_cwnd_gain, 1, GAIN, BBR_V(128), 0, 256, \
	  "window in PROBE_RTT as a share of the BDP") \
	C(full_bw_thresh, 1, GAIN, BBR_V(320), 256, 1024, \
	  "the pipe is not full while the bandwidth grows by this factor") \
	C(full_bw_rounds, 1, ROUNDS, BBR_V(3), 1, 3, \
	  "rounds without such growth after which the pipe counts as full (bbr_full_bw_cnt)") \
	C(full_loss_cnt, 1, COUNT, BBR_V(6), 0, 15, \
	  "STARTUP ends after this many loss events in a round; 0: never") \
	C(full_ecn_cnt, 1, ROUNDS, BBR_V(2), 0, 15, \
	  "STARTUP ends after this many rounds in a row with ecn_thresh of the packets marked; 0: never") \
	C(loss_thresh, 1, GAIN, BBR_V(5), 1, 255, \
	  "inflight is too high if more of it is lost than this share: 2 %") \
	C(beta, 1, GAIN, BBR_V(76), 0, 256, \
	  "share by which a loss cuts the bounds: 0.3") \
	C(inflight_headroom, 1, GAIN, BBR_V(38), 0, 256, \
	  "share of inflight_hi left to other flows while not probing: 0.15") \
	C(probe_max_rounds, 1, ROUNDS, BBR_V(63), 1, 255, \
	  "maximum rounds between probes: as for Reno at 25 Mbit/s and 30 ms (bbr_bw_probe_max_rounds)") \
	C(probe_rand_rounds, 1, ROUNDS, BBR_V(2), 1, 255, \
	  "the count of these rounds starts at random below this (bbr_bw_probe_rand_rounds)") \
	C(probe_wait, 1, USEC, BBR_V(2000000), 0, 10000000, \
	  "minimum time from one probe to the next (bbr_bw_probe_base_us)") \
	C(probe_wait_rand, 1, USEC, BBR_V(1000000), 1, 6000000, \
	  "upper limit of a random addition, so that flows do not probe together (bbr_bw_probe_rand_us)") \
	C(extra_acked_gain, 1, GAIN, BBR_V(256), 0, 4095, \
	  "share of the measured ACK aggregation to add to cwnd; 0: none") \
	C(extra_acked_win, 1, ROUNDS, BBR_V(5), 1, 31, \
	  "length of each of the two slots of the filter of ACK aggregation") \
	C(extra_acked_startup_win, 1, ROUNDS, BBR_V(1), 1, 31, \
	  "the same until the pipe is full (Google: 1, unnamed)") \
	C(extra_acked_max, 1, USEC, BBR_V(100000), 0, 10000000, \
	  "cwnd for ACK aggregation is at most bw times this (the draft: no bound)") \
	C(ack_epoch_max, 1, PACKETS, BBR_V(1048576), 1, 1048576, \
	  "an epoch of ACK aggregation ends after this many ACKed packets") \
	C(ecn_max_rtt, 1, USEC, BBR_V(5000), 0, 10000000, \
	  "respond to ECN only if min_rtt is at most this; 0: always") \
	C(ecn_alpha_gain, 1, GAIN, BBR_V(16), 0, 256, \
	  "weight of a round in the average share of marked packets, alpha: 1/16") \
	C(ecn_alpha_init, 1, GAIN, BBR_V(256), 0, 256, \
	  "initial alpha: high, so that a flow yields at once") \
	C(ecn_factor, 1, GAIN, BBR_V(85), 0, 256, \
	  "marks cut inflight_lo by this times alpha: 1/3; 0: no response to ECN") \
	C(ecn_thresh, 1, GAIN, BBR_V(128), 0, 256, \
	  "inflight is too high if more than this share is marked; 0: never") \
	C(ecn_reprobe_gain, 1, GAIN, BBR_V(128), 0, 256, \
	  "after marks without losses the next probe begins with this share of inflight_hi; 0: as any probe") \
	C(ecn_precise_ack, 1, COUNT, BBR_V(1), 0, 1, \
	  "1: as a receiver, ACK at once when marks begin or end (bbr_precise_ece_ack)") \
	C(tail_loss, 1, COUNT, BBR_V(1), 0, 1, \
	  "1: a loss that a tail loss probe repaired counts as a loss (bbr_loss_probe_recovery)") \
	C(fast_path, 1, COUNT, BBR_V(1), 0, 1, \
	  "1: ACKs of an application-limited flow that carry no new information skip most of the work") \
	C(sndbuf_expand, 1, COUNT, BBR_V(3), 2, 16, \
	  "send buffer in multiples of cwnd: BBR may slow-start even in recovery") \
	O(drain_max_rounds, 1, ROUNDS, BBR_V(0), 0, 3, \
	  "DRAIN ends after this many rounds (the draft: 3); 0: only when the queue is empty") \
	O(full_bw_by_round, 1, COUNT, BBR_V(0), 0, 1, \
	  "1: growth of bandwidth counts at the start of a round only (the draft); 0: on each ACK") \
	O(cruise_above_hi, 1, COUNT, BBR_V(0), 0, 1, \
	  "1: CRUISE leaves inflight_lo unchanged (the draft); 0: lowers it to inflight_hi") \
	O(cpu_gain, 1, GAIN, BBR_V(0), 0, 4095, \
	  "pace this many times faster while the sender, short of CPU, keeps inflight below its target; 0: off") \
	O(max_pacing_rate, 1, KBITRATE, BBR_V(0), 0, 4000000000, \
	  "upper bound of the pacing rate, whatever other parameters say; 0: none") \
	BBR_START_CWND(C) \
	BBR_SOCKET_PARAMS(C)
/* clang-format on */

/* One full set of parameters, each in the unit of its line above. */
struct bbr_params {
	BBR_PARAMS(BBR_PARAM_MEMBER, BBR_PARAM_MEMBER)
};

#define BBR_PARAMS_DEFAULT { BBR_PARAMS(BBR_PARAM_DEFAULT, BBR_PARAM_DEFAULT) }

#endif
