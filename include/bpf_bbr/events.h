/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the BPF program reports to monitors, and how a monitor subscribes.
 *
 * A monitor takes a slot of struct bbr_watch (map .data.watch, which it maps into memory), puts a
 * ring buffer of its own into the same slot of bbr_rings, sets the slot's bit in `active`, and
 * renews the lease while it lives. The first callback that finds an expired lease clears the bit.
 * While no bit is set, a callback costs two loads and a branch. tools/watch/monitor.h has
 * the rules between monitors.
 */
#ifndef BPF_BBR_EVENTS_H
#define BPF_BBR_EVENTS_H

#include <linux/types.h>

#define BBR_SUBSCRIBERS 8

/* bbr_event.kind. Values are never given another meaning. */
enum bbr_event_kind {
	BBR_EV_START, /* init: a connection starts to use the instance */
	BBR_EV_END, /* release: it closes, or is switched to something else */
	BBR_EV_ACK, /* an ACK was processed; the state after it */
	BBR_EV_MODE, /* from and to are modes of the algorithm, reason is one of its reasons */
	BBR_EV_RECOVERY, /* from and to are enum tcp_ca_state: Recovery or Loss entered or left */
	BBR_EV_RTO, /* a retransmission timeout */
	BBR_EV_PARAMS, /* the connection's first ACK with changed parameters */
	BBR_EV_KINDS,
	/* Of a snapshot, never in a ring: nothing happened, the state was read. */
	BBR_EV_STATE = 64,
};

#define BBR_EV_MAX 8 /* room for kinds that a later minor adds */

/* bbr_event.flags */
enum bbr_event_flag {
	BBR_F_APP_LIMITED = 1 << 0, /* the rate sample was application-limited */
	BBR_F_ROUND_START = 1 << 1, /* this ACK starts a round */
	BBR_F_FULL_BW = 1 << 2, /* the pipe was filled */
	BBR_F_IDLE_RESTART = 1 << 3, /* restarting after idle */
	BBR_F_CONSERVATION = 1 << 4, /* first round of recovery: a packet out for a packet in */
	BBR_F_ACK_DELAYED = 1 << 7, /* the RTT sample may contain a delayed ACK */
	/* rs_* and rtt_us are of this ACK: set in BBR_EV_ACK of our instances and only there. */
	BBR_F_SAMPLE = 1 << 8,
	/*
	 * The kernel's own bbr, seen from outside. Its events have no rs_*, APP_LIMITED,
	 * ACK_DELAYED, SAMPLE, reason, profile and params_gen.
	 */
	BBR_F_KERNEL = 1 << 9,
};

#define BBR_RTT_NONE 0xffffffffu /* min_rtt_us, rtt_us: never measured */

/* Bytes for the algorithm's own part of an event. */
#define BBR_EVENT_TAIL_MAX 96

/*
 * One event. Addresses and ports are in network byte order, IPv4 as ::ffff:a.b.c.d. All bandwidths
 * are packets per microsecond << 24, as BBR keeps them: times mss gives bytes.
 *
 * A record in a ring ends where the algorithm's tail does (`size`). Readers copy it into a whole
 * struct, with zeros behind it.
 */
struct bbr_event {
	/* Head: the same in each major, up to and including `minor`. */
	__u16 size; /* of this record in bytes; those of a later minor are longer */
	__u8 major; /* BBR_ABI_MAJOR */
	__u8 minor;
	__u8 kind; /* enum bbr_event_kind */
	__u8 from; /* BBR_EV_MODE, BBR_EV_RECOVERY */
	__u8 to;
	__u8 reason; /* BBR_EV_MODE: why; the algorithm's */

	__u64 seq; /* of this subscriber, from 0; a gap is what was lost */
	/*
	 * CLOCK_MONOTONIC. BBR_EV_ACK: when the stack began to process the ACK. Never goes back
	 * within a connection.
	 */
	__u64 time_ns;
	__u64 conn; /* unique within an instance from the first watched event on */
	__u32 tag; /* of the subscription */
	__u32 netns; /* inode number of the network namespace, as lsns(8) shows it */

	/* Endpoints. */
	__u32 laddr[4];
	__u32 raddr[4];
	__u16 lport;
	__u16 rport;
	__u16 family; /* AF_INET or AF_INET6 */
	__u16 flags; /* enum bbr_event_flag */

	/* Socket. */
	__u64 pacing_rate; /* bytes per second */
	__u64 bytes_sent; /* payload, retransmissions included */
	__u64 bytes_acked;
	__u64 bytes_retrans;
	__u32 srtt_us;
	__u32 cwnd; /* packets, as everything below unless it says otherwise */
	__u32 ssthresh;
	__u32 inflight;
	__u32 mss; /* bytes */
	__u32 delivered; /* since the start */
	__u32 lost; /* since the start */

	/*
	 * Sample. rtt_us is BBR_RTT_NONE if there is none. In BBR_EV_STATE and with BBR_F_KERNEL it
	 * is the stack's latest, from any ACK.
	 */
	__u32 rtt_us;
	__s32 rs_delivered; /* delivery rate sample: packets in rs_interval_us; < 0: not valid */
	__s32 rs_interval_us;
	__u32 rs_losses; /* marked lost by this ACK */
	__u32 rs_acked; /* newly ACKed or SACKed by this ACK */
	__u32 rs_prior_inflight; /* before this ACK */

	/* The model that every BBR has. */
	__u32 bw; /* the estimate in use */
	__u32 min_rtt_us;
	__u32 rounds; /* packet-timed round trips since the start */
	__u32 params_gen; /* generation of the parameters in use, its low 8 bits */
	__u16 pacing_gain; /* 256 = 1.0 */
	__u16 cwnd_gain;
	__u8 mode; /* the algorithm's, from 0 */
	__u8 phase; /* of that mode */
	__u8 ca_state; /* enum tcp_ca_state */
	__u8 profile; /* its index */
	__u8 pad[4];

	/* The algorithm's own: bbr_abi.tail_size bytes are written. */
	__u8 tail[BBR_EVENT_TAIL_MAX];
};

#define BBR_EVENT_BASE \
	__builtin_offsetof(struct bbr_event, tail) /* bytes of what all algorithms have */

_Static_assert(BBR_EVENT_BASE == 192, "bbr_event is ABI");
_Static_assert(__builtin_offsetof(struct bbr_event, pacing_rate) == 80, "bbr_event is ABI");
_Static_assert(__builtin_offsetof(struct bbr_event, rtt_us) == 140, "bbr_event is ABI");
_Static_assert(__builtin_offsetof(struct bbr_event, bw) == 164, "bbr_event is ABI");

enum bbr_sampling {
	BBR_SAMPLE_NONE, /* transitions only: everything but BBR_EV_ACK */
	BBR_SAMPLE_ACK, /* every ACK */
	BBR_SAMPLE_ROUND, /* the first ACK of each round */
	BBR_SAMPLE_TIME, /* at most one ACK of each connection in interval_ns */
};

/* Connections whose masked addresses are equal and whose ports are equal or not asked for (0). */
struct bbr_filter {
	__u32 laddr[4], lmask[4];
	__u32 raddr[4], rmask[4];
	__u16 lport, rport; /* network byte order */
	__u32 matches_all; /* not 0: all match, and nothing is compared; 0 is always allowed */
};

struct bbr_subscriber {
	/* Written by the monitor. */
	__u64 owner; /* 0: free; else a number of the monitor's own; by compare-and-swap only */
	__u64 lease_ns; /* CLOCK_MONOTONIC; a slot whose lease has run out may be taken over */
	__u64 interval_ns; /* BBR_SAMPLE_TIME */
	__u32 sampling; /* enum bbr_sampling */
	__u32 tag; /* copied to each event */
	struct bbr_filter filter;

	/*
	 * Written by the BPF program, with atomic additions. The monitor sets them to 0 when it
	 * enters.
	 */
	__u64 seq; /* events and drops so far: the next event's number */
	__u64 acks; /* ACKs of the connections that the filter lets through */
	__u64 events[BBR_EV_MAX]; /* written to the ring, by kind */
	__u64 drops[BBR_EV_MAX]; /* lost for lack of ring space or memory, by kind */
	__u64 pad;
};

_Static_assert(sizeof(struct bbr_subscriber) == 256, "bbr_subscriber is ABI");

struct bbr_watch {
	__u64 active; /* a bit for each slot that is watched; changed by atomic operations only */
	__u64 next_conn; /* the last connection id given out */
	__u64 pad[6];
	struct bbr_subscriber sub[BBR_SUBSCRIBERS];
};

#endif
