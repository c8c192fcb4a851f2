/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every constant of BBR, and what else there is to set, in one table.
 *
 * The struct, its defaults, the clamps of the BPF program, bbrctl's parser and `bbrctl show` all
 * come from BBR_PARAMS. A new parameter is one line here and its use in bpf/bbr/, by PARAM() if it is
 * one of BBR_CONSTANTS, by OPTION() if it is one of BBR_OPTIONS.
 *
 *	X(key, n, unit, default, lowest, highest, meaning)
 *
 * n is the count of values (1, or the length of a list), all of them with the same unit and range.
 * The defaults are those of mainline Linux (net/ipv4/tcp_bbr.c, 5.10 to 7.3), exactly; where mainline
 * has no name for a constant that it uses, the meaning says so. "Round" is a packet-timed round trip.
 *
 * The highest values keep the 12-bit gains, 7-bit and 5-bit round counters of struct bbr and all
 * 64-bit products from overflowing; the lowest ones keep a connection moving.
 */
#ifndef BPF_BBR_PARAMS_H
#define BPF_BBR_PARAMS_H

#include <linux/types.h>

#define BBR_SCALE 8 /* gains and ratios are fixed point: 256 = 1.0 */
#define BBR_UNIT (1 << BBR_SCALE)

/* How a parameter is stored; the command line reads and prints it in the unit's own notation. */
enum bbr_param_unit {
	BBR_U_GAIN, /* BBR_UNIT = 1.0; a decimal: 2.885 */
	BBR_U_PERCENT, /* 0 to 100: 1% */
	BBR_U_COUNT, /* a bare number of what the meaning says */
	BBR_U_PACKETS, /* packets of one MSS: a bare number */
	BBR_U_ROUNDS, /* packet-timed round trips: a bare number */
	BBR_U_USEC, /* microseconds: 100ms */
	BBR_U_MSEC, /* milliseconds: 10s */
	BBR_U_BITRATE, /* bits per second: 1.2mbit */
	BBR_U_KBITRATE, /* kilobits per second, for what 32 bits of the former cannot hold: 10gbit */
};

#define BBR_V(...) { __VA_ARGS__ }

/* clang-format off */
#define BBR_CONSTANTS(X) \
	X(high_gain, 1, GAIN, BBR_V(739), 256, 4095, \
	  "STARTUP's pacing and cwnd gain: 2/ln(2), the least that doubles the rate each round") \
	X(drain_gain, 1, GAIN, BBR_V(88), 16, 256, \
	  "DRAIN's pacing gain: 1/high_gain, drains STARTUP's queue in about one round") \
	X(cwnd_gain, 1, GAIN, BBR_V(512), 256, 4095, \
	  "PROBE_BW's cwnd gain: 2 BDP tolerate delayed and stretched ACKs") \
	X(probe_bw_gains, 8, GAIN, BBR_V(320, 192, 256, 256, 256, 256, 256, 256), 64, 4095, \
	  "PROBE_BW's cycle of pacing gains: probe, drain, six times cruise") \
	X(idle_restart_gain, 1, GAIN, BBR_V(256), 64, 4095, \
	  "pacing gain when PROBE_BW restarts from idle (mainline: 1.0, unnamed)") \
	X(pacing_margin, 1, PERCENT, BBR_V(1), 0, 50, \
	  "pace this much below the estimated bandwidth, so that queues shrink") \
	X(bw_win, 1, ROUNDS, BBR_V(10), 2, 1000, \
	  "window of the maximum filter of bandwidth") \
	X(min_rtt_win, 1, MSEC, BBR_V(10000), 100, 3600000, \
	  "window of the minimum filter of RTT; PROBE_RTT follows when it ran out") \
	X(probe_rtt_duration, 1, MSEC, BBR_V(200), 0, 10000, \
	  "least time at probe_rtt_cwnd in PROBE_RTT; 0 turns PROBE_RTT off") \
	X(probe_rtt_cwnd, 1, PACKETS, BBR_V(4), 2, 65535, \
	  "cwnd in PROBE_RTT (mainline: bbr_cwnd_min_target)") \
	X(cwnd_min_target, 1, PACKETS, BBR_V(4), 2, 65535, \
	  "floor of cwnd outside recovery: two packets in flight, two being ACKed") \
	X(init_cwnd, 1, PACKETS, BBR_V(10), 2, 65535, \
	  "BDP while min_rtt is unknown; cwnd grows freely until so much is delivered (TCP_INIT_CWND)") \
	X(init_rtt, 1, USEC, BBR_V(1000), 1, 10000000, \
	  "RTT from which the first pacing rate is taken while none was measured (mainline: 1 ms)") \
	X(min_tso_rate, 1, BITRATE, BBR_V(1200000), 0, 1000000000, \
	  "below this pacing rate packets are sent one at a time") \
	X(min_tso_segs, 1, PACKETS, BBR_V(2), 1, 127, \
	  "least segments of a TSO burst from min_tso_rate on (mainline: 2, unnamed)") \
	X(tso_segs_max, 1, PACKETS, BBR_V(127), 1, 127, \
	  "most segments counted as one TSO burst (mainline: 0x7F, unnamed)") \
	X(tso_budget, 1, COUNT, BBR_V(3), 0, 16, \
	  "TSO bursts added to the cwnd target: one each in qdisc, sender's NIC, receiver's GRO") \
	X(probe_bw_extra, 1, PACKETS, BBR_V(2), 0, 1000, \
	  "packets added to the target in the probing phase, to exceed small BDPs") \
	X(full_bw_thresh, 1, GAIN, BBR_V(320), 256, 1024, \
	  "STARTUP goes on while the bandwidth grows by this factor") \
	X(full_bw_rounds, 1, ROUNDS, BBR_V(3), 1, 31, \
	  "rounds without such growth after which the pipe counts as full (bbr_full_bw_cnt)") \
	X(lt_intvl_min_rtts, 1, ROUNDS, BBR_V(4), 1, 126, \
	  "policer: shortest sampling interval") \
	X(lt_intvl_max_rtts, 1, ROUNDS, BBR_V(16), 1, 126, \
	  "policer: longest sampling interval (mainline: 4 x lt_intvl_min_rtts)") \
	X(lt_intvl_min_time, 1, MSEC, BBR_V(1), 1, 10000, \
	  "policer: least time that an interval lasts (mainline: 1 ms, unnamed)") \
	X(lt_loss_thresh, 1, GAIN, BBR_V(50), 1, 256, \
	  "policer: lost/delivered from which an interval is lossy") \
	X(lt_bw_ratio, 1, GAIN, BBR_V(32), 0, 256, \
	  "policer: intervals whose rates differ by this share are consistent") \
	X(lt_bw_diff, 1, BITRATE, BBR_V(4000), 0, 1000000000, \
	  "policer: intervals whose rates differ by so much are consistent") \
	X(lt_bw_max_rtts, 1, ROUNDS, BBR_V(48), 1, 127, \
	  "policer: use the policed rate for so long, then probe again") \
	X(lt_gain, 1, GAIN, BBR_V(256), 64, 4095, \
	  "policer: pacing gain in PROBE_BW while policed (mainline: 1.0, unnamed)") \
	X(extra_acked_gain, 1, GAIN, BBR_V(256), 0, 4095, \
	  "share of the measured ACK aggregation that is added to cwnd; 0 turns it off") \
	X(extra_acked_win, 1, ROUNDS, BBR_V(5), 1, 31, \
	  "length of each of the two slots of the filter of ACK aggregation") \
	X(extra_acked_max, 1, USEC, BBR_V(100000), 0, 1000000, \
	  "cwnd for ACK aggregation is at most bw times this") \
	X(ack_epoch_max, 1, PACKETS, BBR_V(1048576), 1, 1048576, \
	  "an epoch of ACK aggregation ends when so much was ACKed in it") \
	X(sndbuf_expand, 1, COUNT, BBR_V(3), 2, 16, \
	  "send buffer in multiples of cwnd: BBR may slow-start even in recovery")

/* What mainline does not have: 0 is off, and mainline (8 phases are, for cycle_len). */
#define BBR_OPTIONS(X) \
	X(pin_bw, 1, KBITRATE, BBR_V(0), 0, 500000000, \
	  "the bandwidth is this and not measured, nor is a policer looked for; 0: measure") \
	X(pin_min_rtt, 1, USEC, BBR_V(0), 0, 10000000, \
	  "min_rtt is this and not measured, and PROBE_RTT never comes; 0: measure") \
	X(pacing_rate, 1, KBITRATE, BBR_V(0), 0, 4000000000, \
	  "pace at this whatever the model says, with a window that permits it; 0: the model's rate") \
	X(min_pacing_rate, 1, KBITRATE, BBR_V(0), 0, 4000000000, \
	  "pace at least at this; 0: no bound") \
	X(max_pacing_rate, 1, KBITRATE, BBR_V(0), 0, 4000000000, \
	  "pace at most at this, also if other parameters say more; 0: no bound") \
	X(min_cwnd, 1, PACKETS, BBR_V(0), 0, 1048576, \
	  "least cwnd in any state; 0: no bound") \
	X(max_cwnd, 1, PACKETS, BBR_V(0), 0, 1048576, \
	  "most cwnd in any state, also if other parameters say more; 0: no bound") \
	X(probe_rtt_bdp_gain, 1, GAIN, BBR_V(0), 0, 256, \
	  "cwnd in PROBE_RTT as a share of the BDP, at least probe_rtt_cwnd; 0: probe_rtt_cwnd") \
	X(probe_rtt_cwnd_gain, 1, GAIN, BBR_V(0), 0, 256, \
	  "cwnd in PROBE_RTT as a share of the one before it, at least the former; 0: the former") \
	X(cycle_len, 1, COUNT, BBR_V(8), 2, 8, \
	  "phases of PROBE_BW's cycle: so many of the first probe_bw_gains are used") \
	X(drain_to_target, 1, COUNT, BBR_V(0), 0, 1, \
	  "1: PROBE_BW drains until its queue is gone, in cycles of 2 to cycle_len min_rtts") \
	X(start_cwnd, 1, PACKETS, BBR_V(0), 0, 65535, \
	  "cwnd that a connection begins with; 0: the stack's") \
	X(ignore_loss, 1, COUNT, BBR_V(0), 0, 1, \
	  "1: losses and timeouts neither shrink cwnd nor end probing")

#define BBR_PARAMS(X) \
	BBR_CONSTANTS(X) \
	BBR_OPTIONS(X)
/* clang-format on */

/* One full set of parameters, each in the unit of its line above. */
struct bbr_params {
#define X(key, n, unit, dflt, lo, hi, help) __u32 key[n];
	BBR_PARAMS(X)
#undef X
};

#define BBR_PARAM_DEFAULT(key, n, unit, dflt, lo, hi, help) .key = dflt,
#define BBR_PARAMS_DEFAULT { BBR_PARAMS(BBR_PARAM_DEFAULT) }

#endif
