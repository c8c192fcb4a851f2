/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the algorithm has to be told and a stock kernel does not know: Google's v3 changed the stack to note, for each
 * packet, how much was in flight when it was sent and how much had been lost by then. All of that enters here and
 * nowhere else, so "is the algorithm right?" and "are its inputs right?" are two questions. A replay fills these structs
 * with what such a kernel recorded; in bpf_bbr3 estimate.h does.
 */
#ifndef BBR_INPUTS_H
#define BBR_INPUTS_H

#include "bbr.h"

/* The flight of a packet: of the newest one that an ACK acknowledges, or of one that was lost. */
struct bbr_flight {
	u32 tx_in_flight; /* packets in flight when it had been sent, itself included; 0: not known */
	s32 lost; /* packets marked lost since it was sent, itself included if it was */
	bool is_app_limited; /* was it sent while the application had no more? */
};

/* What an ACK tells, beside its rate sample. */
struct bbr_ack {
	struct bbr_flight flight;
	s32 delivered_ce; /* of the packets delivered over the sample, those that were marked */
	bool is_ece; /* does it tell of marks? */
	bool acks_tlp; /* does it acknowledge a tail loss probe that was a retransmission? */
};

#endif
