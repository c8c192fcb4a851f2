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
};

#define BBR_V(...) { __VA_ARGS__ }

/* Uses of the table: every line, or only those of one kind. */
#define BBR_NO_PARAM(key, n, unit, dflt, lo, hi, help)
#define BBR_PARAM_MEMBER(key, n, unit, dflt, lo, hi, help) __u32 key[n];
#define BBR_PARAM_DEFAULT(key, n, unit, dflt, lo, hi, help) .key = dflt,

#endif
