/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The second part of a connection's state (bpf/more.bpf.h). Without memory for it a connection has no ECN, undoes of a
 * recovery only what it did to cwnd, and estimates more roughly what inputs.h wants to know: it is still BBR
 * version 3, only more careful.
 */
#ifndef BBR_MORE_H
#define BBR_MORE_H

#define BBR_LOSSES 128
#define BBR_SENDS 32

/* Packets were marked lost. What is sent after it knows of them. */
struct bbr_loss {
	u32 delivered, snd_nxt; /* then */
	u32 lost; /* packets so far */
};

/* An ACK was processed. */
struct bbr_send {
	u32 delivered, snd_nxt; /* then */
	u32 inflight; /* packets */
};

struct bbr_more {
	u32 rounds; /* packet-timed round trips since init */
	u16 pacing_gain, cwnd_gain; /* gains in force, from the last ACK: for monitors */

	/* Bounds when recovery began, to go back to if it was a mistake. */
	u32 undo_bw_lo, undo_inflight_lo, undo_inflight_hi;

	/* ECN */
	u32 prior_rcv_nxt; /* receiver: rcv_nxt at the last packet */
	u32 alpha_last_delivered; /* packets delivered, and of them marked, at the last round */
	u32 alpha_last_delivered_ce;
	u16 ecn_alpha; /* average share of marked packets, /256 */
	u8 startup_ecn_rounds; /* rounds of STARTUP with many marks, in a row */
	u8 ce_state : 1, /* receiver: was the last packet marked? */
		ecn_eligible : 1, /* are marks heeded? */
		ecn_in_round : 1, /* was something marked in this loss round? */
		ecn_in_cycle : 1, /* was something marked since DOWN began? */
		is_app_limited : 1; /* of the last ACK: was its packet sent while the application had no more? */

	/* What estimate.h remembers. Of both rings the newest is at the count less 1. */
	u32 tx_in_flight,
		prior_lost; /* of the last ACK, as inputs.h; prior_lost: `lost` when its packet was sent */
	u32 n_losses, n_sends; /* so far */
	u32 lost_before; /* `lost` before the oldest of losses */
	struct bbr_loss losses[BBR_LOSSES];
	struct bbr_send sends[BBR_SENDS];
};

#endif
