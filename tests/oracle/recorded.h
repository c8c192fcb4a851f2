/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the recorder and its programs in the kernel exchange, for any algorithm. A callback comes
 * through the ring buffer as struct recorded of record.bpf.c: its socket's address, and the
 * algorithm's record.
 */
#ifndef ORACLE_RECORDED_H
#define ORACLE_RECORDED_H

#include <linux/types.h>

#define MAX_KINDS 16 /* of callbacks */
#define BATCH 1024 /* callbacks that the BPF program of replay.c replays at once */
#define COPIES 3 /* of each program that records half of a callback */

/* The recorder's counters in the kernel, by kind of callback. */
struct counts {
	__u64 recorded[MAX_KINDS];
	__u64 omitted[MAX_KINDS]; /* only counted, because enough of their kind were recorded */
	__u64 dropped; /* lost because the ring buffer was full */
};

struct clocks {
	__u64 jiffies;
	__u64 ns;
};

#endif
