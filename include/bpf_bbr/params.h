/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How an algorithm says what there is to set: one table, its folder's params.h. The struct, its defaults, the clamps
 * of the BPF program, bbrctl's parser, `bbrctl show` and the man page all come from it.
 *
 *	#define BBR_PARAMS(CONSTANT, OPTION) \
 *		CONSTANT(key, n, unit, default, lowest, highest, meaning) \
 *		OPTION(key, n, unit, default, lowest, highest, meaning)
 *
 * n is the count of values (1, or the length of a list), all of them with the same unit and range. What an algorithm
 * computes with is a CONSTANT; an OPTION is off by default, and a connection that uses none pays nothing for it.
 * The order is that of the struct and so ABI: a new parameter goes to the end, whichever it is.
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

/* Uses of the table: every line, or only those of one kind. */
#define BBR_NO_PARAM(key, n, unit, dflt, lo, hi, help)
#define BBR_PARAM_MEMBER(key, n, unit, dflt, lo, hi, help) __u32 key[n];
#define BBR_PARAM_DEFAULT(key, n, unit, dflt, lo, hi, help) .key = dflt,

#endif
