/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An experiment gives each new connection of its scope one of several arms, and records the
 * outcome. It is a sockops program EXPERIMENT_PROG in a cgroup, with the maps below. It has no
 * other state, so it continues without any tool, and ends when it is detached. An arm is a
 * congestion control, ours or not, and with one of ours a profile.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds, addresses and ports in network byte order, IPv4 as
 * ::ffff:a.b.c.d.
 */
#ifndef EXPERIMENT_H
#define EXPERIMENT_H

#include <linux/types.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/profiles.h"

#define EXPERIMENT_PROG "bbr_experiment"
#define EXPERIMENT_MAP_CONFIG ".rodata.bbr_exp" /* struct experiment, frozen */
#define EXPERIMENT_MAP_CONTROL ".data.bbr_exp" /* struct experiment_control, which tools map */
#define EXPERIMENT_MAP_OUTCOMES "bbr_outcomes" /* array of experiment_outcome, which tools map */
#define EXPERIMENT_MAP_CONNECTIONS "bbr_exp_conns" /* hash of the open ones, for the program only */
#define EXPERIMENT_MAP_LOG "bbr_exp_log" /* array of experiment_decision, for tools only */
#define EXPERIMENT_MAP_ASSIGNED "bbr_arms" /* array of the maps INSTANCE_MAP_ASSIGNED of each arm */
#define EXPERIMENT_MAGIC 0x65726262 /* "bbre" */
#define EXPERIMENT_VERSION 1 /* rises when an older tool would misread the maps */

#define EXPERIMENT_NAME_LEN 16 /* 15 characters and the closing 0 */
#define EXPERIMENT_ARMS 4
#define EXPERIMENT_SHARES 10000 /* a share is a ten-thousandth of all connections */
#define EXPERIMENT_GUARDS 8
#define EXPERIMENT_STEPS 8
#define EXPERIMENT_NO_PROFILE 0xffffffffu /* the instance's rules choose */
#define EXPERIMENT_RING 65536 /* outcomes that are kept by default */

enum experiment_design {
	EXPERIMENT_AB, /* each connection draws its arm */
	EXPERIMENT_SWITCHBACK, /* all have the same arm, another one in the next block */
	EXPERIMENT_CANARY, /* as AB; `bbrctl experiment watch` changes the shares */
	EXPERIMENT_DESIGNS,
};

/* Which connections share a draw. */
enum experiment_unit {
	EXPERIMENT_BY_CONNECTION,
	EXPERIMENT_BY_PREFIX, /* all connections with one remote prefix have the same arm */
};

struct experiment_arm {
	char label[EXPERIMENT_NAME_LEN];
	char cc[BBR_NAME_LEN];
	char profile_name[BBR_PROFILE_NAME_LEN]; /* "": none */
	__u32 profile; /* index, or EXPERIMENT_NO_PROFILE */
};

/* Which connections. A member that is 0 matches any. All are below the cgroup of the program. */
struct experiment_scope {
	__u32 dst[4]; /* remote prefix */
	__u32 dst_len; /* its bits; IPv4 has 96 more than its own */
	__u32 mark;
	__u32 has_mark;
	__u16 dport; /* remote */
	__u16 sport; /* local */
	__u64 netns; /* cookie of the network namespace */
	char netns_name[64]; /* as it was given, for people */
};

/* The configuration, constant while an experiment runs. Arm 0 is the control. */
struct experiment {
	__u32 magic;
	__u16 version;
	__u16 size; /* bytes of this */
	char name[EXPERIMENT_NAME_LEN];
	__u32 design; /* enum experiment_design */
	__u32 unit; /* enum experiment_unit */
	__u32 arms; /* 2 to EXPERIMENT_ARMS */
	__u32 seed; /* for the draws by prefix and the order of the blocks */
	__u32 prefix4, prefix6; /* bits of a remote prefix that is one unit, of 128 */
	__u32 outcomes; /* places in the ring, a power of two */
	__u32 hz; /* the kernel's ticks in a second: unit of experiment_outcome's *_ticks */
	__u64 started; /* block 0 begins */
	__u64 started_realtime; /* the same, ns of CLOCK_REALTIME, for people */
	__u64 block; /* ns, switchback */
	__u64 washout; /* ns at a block's begin that count for no arm */
	struct experiment_scope scope;
	struct experiment_arm arm[EXPERIMENT_ARMS];
	/*
	 * Congestion controls that bbrctl attached to cgroups of the scope. They count as chosen by
	 * nobody: the experiment takes precedence.
	 */
	char attached[EXPERIMENT_ARMS][BBR_NAME_LEN];
	/*
	 * For a canary (`bbrctl experiment watch`): guards as text, and the last arm's shares,
	 * which rise to 10,000.
	 */
	char guard[EXPERIMENT_GUARDS][64];
	__u32 step[EXPERIMENT_STEPS]; /* 0: no more */
	__u32 step_connections; /* that must end in the new arm before the next step */
	__u32 step_seconds; /* at least, before the next step */
};

/* The variables. With any values, a connection gets one of the arms or none. */
struct experiment_control {
	__u32 share[EXPERIMENT_ARMS]; /* sum EXPERIMENT_SHARES; what is missing is arm 0's */
	__u32 paused; /* 1: leaves new connections alone; switchback moves no open ones */
	__u32 step; /* canary: index of the current step */
	__u64 lease; /* canary: new connections get arm 0 after it; watchers renew it; 0: never */
	__u64 step_since; /* canary: when the step began */
	__u64 decisions; /* written to the log so far */
	/* Counted by the program. */
	__u64 assigned[EXPERIMENT_ARMS]; /* connections */
	/*
	 * The kernel did not give them the arm: they are left alone. One that used the arm's own
	 * congestion control, which was unloaded just then, has reno: nothing else gives it back.
	 */
	__u64 refused[EXPERIMENT_ARMS];
	__u64 chosen; /* the application had chosen for itself: left alone */
	__u64 no_memory; /* more were open than the ring has places: left alone */
	__u64 moved; /* open connections that went to another arm, at a seam or by `stop --to` */
	__u64 outcomes; /* begun so far; the ring overwrites those that it cannot hold */
	__u64 lost; /* outcomes whose place was given away before they ended */
	__u32 refused_error[EXPERIMENT_ARMS]; /* errno of the last one; 0 also if not known */
};

/* Programs of before refused_error have this much of it; what follows in the page is 0. */
#define EXPERIMENT_CONTROL_LEAST offsetof(struct experiment_control, refused_error)

/* Why a connection's outcome ended. */
enum experiment_end {
	EXPERIMENT_OPEN, /* it has not */
	EXPERIMENT_CLOSED, /* both sides were done */
	EXPERIMENT_RESET, /* by the peer */
	EXPERIMENT_TIMED_OUT,
	EXPERIMENT_ABORTED, /* by this host, with data unsent or unread, or otherwise */
	EXPERIMENT_SEAM, /* switchback: its block ended; it may go on with another outcome */
	EXPERIMENT_ENDS,
};

/*
 * A histogram of round trips, by how much each is above its connection's least so far. Bucket 0 is
 * below 64 us. Each doubling has four buckets, so bucket i > 0 begins at 64 us * 2^((i-1)/4),
 * rounded as experiment_bucket() does.
 */
#define EXPERIMENT_RTT_BUCKETS 72
#define EXPERIMENT_RTT_FIRST_US 64

/* Bytes after which a transfer's time is noted. */
#define EXPERIMENT_FIRSTS 3
#define EXPERIMENT_FIRST_BYTES { 16384, 65536, 1048576 }

/*
 * The outcome of a connection, or of its part in one block. Times and bytes count from `begin`.
 * Round trips and timeouts are noted as they come. Bytes and ticks are noted at a round trip, once
 * a second at most, and when the connection ends. `version` is odd during a change: then the reader
 * reads again.
 */
struct experiment_outcome {
	__u32 version;
	__u8 arm;
	__u8 end; /* enum experiment_end */
	__u8 family;
	__u8 continued; /* switchback: 1 if it did not begin when the connection was established */
	/*
	 * 1 + the number of outcomes begun before. Its place is (number - 1) % outcomes; another
	 * number there means that it was overwritten.
	 */
	__u64 number;
	__u64 connection; /* socket cookie */
	__u64 begin; /* established, or the end of the washout */
	__u64 last; /* when bytes and ticks were last noted */
	__u32 block; /* switchback: number of the block, from 0 */
	__u32 netns; /* inode number */
	__u32 raddr[4];
	__u32 laddr[4];
	__u16 rport, lport;
	__u32 timeouts; /* of retransmission */
	__u64 acked; /* bytes */
	__u64 sent; /* bytes, retransmissions included */
	__u64 retransmitted; /* bytes */
	__u32 busy_ticks; /* something was unsent or not ACKed; includes the two below */
	__u32 rwnd_ticks; /* the receiver's window was the limit */
	__u32 sndbuf_ticks; /* the send buffer was */
	__u32 rtt_min_us; /* 0: no round trip yet */
	__u64 rtt_sum_us; /* the sum of one RTT for each round trip */
	__u32 rtts; /* how many */
	/* Since begin; noted once a round trip; 0: not reached. */
	__u32 first_us[EXPERIMENT_FIRSTS];
	__u16 rtt_above[EXPERIMENT_RTT_BUCKETS]; /* stops at 65535 */
};

/* A line of the log: what a tool decided, and why. */
struct experiment_decision {
	__u64 time; /* ns of CLOCK_REALTIME; 0: none */
	char text[184];
};

#define EXPERIMENT_LOG 256

_Static_assert(sizeof(struct experiment_outcome) == 296, "has no gaps");
_Static_assert(sizeof(struct experiment_decision) == 192, "is ABI");

/* The bucket of a round trip this much above the least. */
static inline __u32 experiment_bucket(__u32 above_us)
{
	__u32 v = above_us / (EXPERIMENT_RTT_FIRST_US / 4), doublings = 0, bucket;

	if (v < 4)
		return 0;
	/* v is 4 to 2^28; count how often it can be halved before it is below 8 */
	for (__u32 shift = 16; shift; shift /= 2)
		if (v >> (shift + 2)) {
			v >>= shift;
			doublings += shift;
		}
	bucket = 1 + 4 * doublings + (v & 3);
	return bucket < EXPERIMENT_RTT_BUCKETS ? bucket : EXPERIMENT_RTT_BUCKETS - 1;
}

/* The lower bound of a bucket, in us. */
static inline __u32 experiment_bucket_us(__u32 bucket)
{
	if (!bucket)
		return 0;
	return (4 + (bucket - 1) % 4) * (EXPERIMENT_RTT_FIRST_US / 4) << (bucket - 1) / 4;
}

/* Mixes 32 bits, so that neighbours get unrelated numbers: the finisher of MurmurHash3. */
static inline __u32 experiment_mix(__u32 h)
{
	h ^= h >> 16;
	h *= 0x85ebca6b;
	h ^= h >> 13;
	h *= 0xc2b2ae35;
	return h ^ h >> 16;
}

/* Switchback: the arm of a block. Every `arms` blocks have each arm once, in a drawn order. */
static inline __u32 experiment_block_arm(__u32 seed, __u32 arms, __u32 block)
{
	__u32 draw, at;

	if (!arms)
		return 0;
	draw = experiment_mix(seed ^ experiment_mix(block / arms));
	at = draw & 0x10000 ? arms - 1 - block % arms : block % arms;
	return (at + (draw & 0xffff) % arms) % arms;
}

#endif
