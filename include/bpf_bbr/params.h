/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How an algorithm declares what can be set: one table, in its folder's params.h. The struct, its
 * defaults, the clamps of the BPF program, bbrctl's parser, `bbrctl show` and the man page all come
 * from it.
 *
 *	#define BBR_PARAMS(CONSTANT, OPTION) \
 *		CONSTANT(key, n, unit, default, lowest, highest, meaning) \
 *		OPTION(key, n, unit, default, lowest, highest, meaning)
 *
 * n is the number of values (1, or the length of a list), which share unit and range. The algorithm
 * computes with a CONSTANT. An OPTION is off by default, and costs nothing for a connection that
 * uses no option. The order is that of the struct and therefore ABI: a new parameter of either kind
 * goes to the end.
 *
 * The shell adds lines of its own, by BBR_SOCKET_PARAMS(CONSTANT) at the end of the table.
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
	BBR_U_KBITRATE, /* kilobits per second, for what 32 bits of the above cannot hold: 10gbit */
	BBR_U_BYTES, /* 64k, 1m; a bare number is bytes */
};

#define BBR_V(...) { __VA_ARGS__ }

/* clang-format off */
/* The initial window, which each version of BBR has in its own place of the table. */
#define BBR_START_CWND(C) \
	C(start_cwnd, 1, PACKETS, BBR_V(0), 0, 65535, \
	  "initial cwnd of a connection that has sent nothing yet; 0: the kernel's (10, or the route's initcwnd)")

/*
 * What the shell sets once, when a connection begins or is moved to the instance. 0 leaves what the
 * socket has. The list is ABI: a later line is another list behind this one.
 */
#define BBR_SOCKET_PARAMS(C) \
	C(notsent_lowat, 1, BYTES, BBR_V(0), 0, 1073741824, \
	  "TCP_NOTSENT_LOWAT of a connection that begins, unless the application has set it; 0: unchanged") \
	C(rto_min, 1, MSEC, BBR_V(0), 0, 200, \
	  "lowest retransmission timeout of a connection that begins, at least two of the kernel's ticks; 0: unchanged") \
	C(delack_max, 1, MSEC, BBR_V(0), 0, 200, \
	  "longest delay of ACKs that a connection that begins sends, at least two of the kernel's ticks; 0: unchanged")
/* clang-format on */

/* Uses of the table: every line, or only those of one kind. */
#define BBR_NO_PARAM(key, n, unit, dflt, lo, hi, help)
#define BBR_PARAM_MEMBER(key, n, unit, dflt, lo, hi, help) __u32 key[n];
#define BBR_PARAM_DEFAULT(key, n, unit, dflt, lo, hi, help) .key = dflt,

#endif
