/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every constant of BBR version 1, and every option (bpf_bbr/params.h explains the table).
 *
 * The defaults are exactly those of mainline Linux (net/ipv4/tcp_bbr.c, 5.10 to 7.3). Where
 * mainline uses a constant without a name, the help text has "unnamed". "Round" is a packet-timed
 * round trip. Options do not exist in mainline: 0 turns one off, as in mainline (for cycle_len, 8
 * phases do).
 *
 * Read a constant with PARAM(), an option with OPTION(). The maxima keep the gains within 12 bits,
 * and keep the 7-bit and 5-bit round counters of struct bbr and all 64-bit products from
 * overflowing. The minima keep a connection moving.
 */
#ifndef BBR_PARAMS_H
#define BBR_PARAMS_H

#include "bpf_bbr/params.h"

/* clang-format off */
#define BBR_PARAMS(C, O) \
	C(high_gain, 1, GAIN, BBR_V(739), 256, 4095, \
	  "STARTUP's pacing and cwnd gain: 2/ln(2), the lowest that doubles the rate each round") \
	C(drain_gain, 1, GAIN, BBR_V(88), 16, 256, \
	  "DRAIN's pacing gain: 1/high_gain, drains STARTUP's queue in about one round") \
	C(cwnd_gain, 1, GAIN, BBR_V(512), 256, 4095, \
	  "PROBE_BW's cwnd gain: 2 BDP tolerate delayed and stretched ACKs") \
	C(probe_bw_gains, 8, GAIN, BBR_V(320, 192, 256, 256, 256, 256, 256, 256), 64, 4095, \
	  "PROBE_BW's cycle of pacing gains: probe, drain, six times cruise") \
	C(idle_restart_gain, 1, GAIN, BBR_V(256), 64, 4095, \
	  "pacing gain when PROBE_BW restarts from idle (mainline: 1.0, unnamed)") \
	C(pacing_margin, 1, PERCENT, BBR_V(1), 0, 50, \
	  "pace this much below the estimated bandwidth, so that queues shrink") \
	C(bw_win, 1, ROUNDS, BBR_V(10), 2, 1000, \
	  "window of the maximum filter of bandwidth") \
	C(min_rtt_win, 1, MSEC, BBR_V(10000), 100, 3600000, \
	  "window of the minimum filter of RTT; PROBE_RTT follows when it expires") \
	C(probe_rtt_duration, 1, MSEC, BBR_V(200), 0, 10000, \
	  "minimum time at probe_rtt_cwnd in PROBE_RTT; 0 turns PROBE_RTT off") \
	C(probe_rtt_cwnd, 1, PACKETS, BBR_V(4), 2, 65535, \
	  "cwnd in PROBE_RTT (mainline: bbr_cwnd_min_target)") \
	C(cwnd_min_target, 1, PACKETS, BBR_V(4), 2, 65535, \
	  "floor of cwnd outside recovery: two packets in flight, two being ACKed") \
	C(init_cwnd, 1, PACKETS, BBR_V(10), 2, 65535, \
	  "BDP while min_rtt is unknown; cwnd grows freely until this much is delivered (TCP_INIT_CWND)") \
	C(init_rtt, 1, USEC, BBR_V(1000), 1, 10000000, \
	  "RTT for the first pacing rate, before one is measured (mainline: 1 ms)") \
	C(min_tso_rate, 1, BITRATE, BBR_V(1200000), 0, 1000000000, \
	  "below this pacing rate TCP sends one packet at a time") \
	C(min_tso_segs, 1, PACKETS, BBR_V(2), 1, 127, \
	  "minimum segments of a TSO burst from min_tso_rate on (mainline: 2, unnamed)") \
	C(tso_segs_max, 1, PACKETS, BBR_V(127), 1, 127, \
	  "maximum segments counted as one TSO burst (mainline: 0x7F, unnamed)") \
	C(tso_budget, 1, COUNT, BBR_V(3), 0, 16, \
	  "TSO bursts added to the cwnd target: one each in qdisc, sender's NIC, receiver's GRO") \
	C(probe_bw_extra, 1, PACKETS, BBR_V(2), 0, 1000, \
	  "packets added to the target in the probing phase, to exceed small BDPs") \
	C(full_bw_thresh, 1, GAIN, BBR_V(320), 256, 1024, \
	  "STARTUP goes on while the bandwidth grows by this factor") \
	C(full_bw_rounds, 1, ROUNDS, BBR_V(3), 1, 31, \
	  "rounds without such growth after which the pipe counts as full (bbr_full_bw_cnt)") \
	C(lt_intvl_min_rtts, 1, ROUNDS, BBR_V(4), 1, 126, \
	  "policer: shortest sampling interval") \
	C(lt_intvl_max_rtts, 1, ROUNDS, BBR_V(16), 1, 126, \
	  "policer: longest sampling interval (mainline: 4 x lt_intvl_min_rtts)") \
	C(lt_intvl_min_time, 1, MSEC, BBR_V(1), 1, 10000, \
	  "policer: minimum length of an interval (mainline: 1 ms, unnamed)") \
	C(lt_loss_thresh, 1, GAIN, BBR_V(50), 1, 256, \
	  "policer: minimum lost/delivered of a lossy interval") \
	C(lt_bw_ratio, 1, GAIN, BBR_V(32), 0, 256, \
	  "policer: intervals are consistent if their rates differ by at most this share") \
	C(lt_bw_diff, 1, BITRATE, BBR_V(4000), 0, 1000000000, \
	  "policer: intervals are consistent if their rates differ by at most this") \
	C(lt_bw_max_rtts, 1, ROUNDS, BBR_V(48), 1, 127, \
	  "policer: use the policed rate for this long, then probe again") \
	C(lt_gain, 1, GAIN, BBR_V(256), 64, 4095, \
	  "policer: pacing gain in PROBE_BW while policed (mainline: 1.0, unnamed)") \
	C(extra_acked_gain, 1, GAIN, BBR_V(256), 0, 4095, \
	  "share of the measured ACK aggregation to add to cwnd; 0: none") \
	C(extra_acked_win, 1, ROUNDS, BBR_V(5), 1, 31, \
	  "length of each of the two slots of the filter of ACK aggregation") \
	C(extra_acked_max, 1, USEC, BBR_V(100000), 0, 1000000, \
	  "cwnd for ACK aggregation is at most bw times this") \
	C(ack_epoch_max, 1, PACKETS, BBR_V(1048576), 1, 1048576, \
	  "an epoch of ACK aggregation ends after this many ACKed packets") \
	C(sndbuf_expand, 1, COUNT, BBR_V(3), 2, 16, \
	  "send buffer in multiples of cwnd: BBR may slow-start even in recovery") \
	O(pin_bw, 1, KBITRATE, BBR_V(0), 0, 500000000, \
	  "use this bandwidth instead of measuring it, without policer detection; 0: measure") \
	O(pin_min_rtt, 1, USEC, BBR_V(0), 0, 10000000, \
	  "use this min_rtt instead of measuring it, without PROBE_RTT; 0: measure") \
	O(pacing_rate, 1, KBITRATE, BBR_V(0), 0, 4000000000, \
	  "pace at this rate, with a window that allows it; 0: the model's rate") \
	O(min_pacing_rate, 1, KBITRATE, BBR_V(0), 0, 4000000000, \
	  "lower bound of the pacing rate; 0: none") \
	O(max_pacing_rate, 1, KBITRATE, BBR_V(0), 0, 4000000000, \
	  "upper bound of the pacing rate, whatever other parameters say; 0: none") \
	O(min_cwnd, 1, PACKETS, BBR_V(0), 0, 1048576, \
	  "lower bound of cwnd in any state; 0: none") \
	O(max_cwnd, 1, PACKETS, BBR_V(0), 0, 1048576, \
	  "upper bound of cwnd in any state, whatever other parameters say; 0: none") \
	O(probe_rtt_bdp_gain, 1, GAIN, BBR_V(0), 0, 256, \
	  "cwnd in PROBE_RTT as a share of the BDP, at least probe_rtt_cwnd; 0: probe_rtt_cwnd") \
	O(probe_rtt_cwnd_gain, 1, GAIN, BBR_V(0), 0, 256, \
	  "cwnd in PROBE_RTT as a share of the cwnd before it; the largest of the three settings applies; 0: off") \
	O(cycle_len, 1, COUNT, BBR_V(8), 2, 8, \
	  "length of PROBE_BW's cycle: the number of probe_bw_gains that it uses") \
	O(drain_to_target, 1, COUNT, BBR_V(0), 0, 1, \
	  "1: PROBE_BW drains until its queue is gone, in cycles of 2 to cycle_len min_rtts") \
	BBR_START_CWND(C) \
	O(ignore_loss, 1, COUNT, BBR_V(0), 0, 1, \
	  "1: losses and timeouts neither shrink cwnd nor end probing") \
	O(cpu_gain, 1, GAIN, BBR_V(0), 0, 4095, \
	  "pace this many times faster while the sender, short of CPU, keeps inflight below its target; 0: off") \
	O(make_up_loss, 1, PERCENT, BBR_V(0), 0, 50, \
	  "pace above pacing_rate to make up for losses of up to this share, without policer detection; 0: off") \
	BBR_SOCKET_PARAMS(C)
/* clang-format on */

/* One full set of parameters, each in the unit of its line above. */
struct bbr_params {
	BBR_PARAMS(BBR_PARAM_MEMBER, BBR_PARAM_MEMBER)
};

#define BBR_PARAMS_DEFAULT { BBR_PARAMS(BBR_PARAM_DEFAULT, BBR_PARAM_DEFAULT) }

#endif
