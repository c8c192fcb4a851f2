/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last minute of a connection, in slots of half a second.
 */
#ifndef TOOLS_CONN_HISTORY_H
#define TOOLS_CONN_HISTORY_H

#include <stdbool.h>

#include "bpf_bbr/events.h"
#include "kernel/clock.h"

#define SLOT_NS (500 * NS_PER_MS)
#define HISTORY_SLOTS 120 /* a minute */
#define TRANSITIONS 16

/* The bit of a mode in a slot's modes. Modes without a bit of their own share the last one. */
#define HISTORY_MODES 31
static inline __u32 mode_history_bit(unsigned int mode)
{
	return 1u << (mode < HISTORY_MODES ? mode : HISTORY_MODES);
}

#define SAMPLE_VALUES 7

/*
 * A slot of the history. Bandwidths are in bits per second; inflight, bdp and cwnd are in packets.
 * NAN: unknown.
 */
struct sample {
	union {
		struct {
			float rate, bw, pacing;
			float rtt_us; /* the samples' mean */
			float inflight; /* the maximum */
			float bdp, cwnd;
		};
		float value[SAMPLE_VALUES];
	};
	float min_rtt_us;
	__u32 modes; /* bits of the algorithm's modes; 0: nothing is known about this slot */
	__u16 lost; /* packets, in this slot */
	__u8 ca_states; /* bits of enum tcp_ca_state */
};

struct transition {
	__u64 time_ns;
	__u8 kind, from, to, reason; /* as in struct bbr_event */
	bool has_reason;
};

struct history {
	struct sample slot[HISTORY_SLOTS]; /* slot n of time at n % HISTORY_SLOTS */
	__u64 last; /* the newest slot's number in time */
	__u64 base_ns; /* time of the last event before that slot, */
	__u32 base_delivered; /* and what had been delivered then */
	bool has_base;
	__u32 rtts; /* samples in the newest slot's rtt_us */
	struct transition transitions[TRANSITIONS]; /* number n at n % TRANSITIONS */
	__u32 n_transitions;
};

/* Adds an event. `before` is the connection's previous event; NULL: there is none. */
void history_note(struct history *h, const struct bbr_event *before, const struct bbr_event *e);

/*
 * Summarizes the slots first to first + n - 1 of time: the mean of each value that is known, the
 * lowest min_rtt_us, the sum of losses, and all modes and states. False: nothing is known.
 */
bool history_get(const struct history *h, __u64 first, unsigned int n, struct sample *out);

#endif
