/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event does not say but follows from it. Nobody else computes it.
 */
#ifndef TOOLS_DERIVED_H
#define TOOLS_DERIVED_H

#include "descriptor.h"

/* Is there BBR state? The stack tells of losses of the SYN before there is: gains are 0 then, and never later. */
bool event_has_state(const struct bbr_event *e);

/* One of its bandwidths in bits per second. */
__u64 event_bps(const struct bbr_event *e, __u32 bw);

bool event_has_rate(const struct bbr_event *e);
/* The delivery rate sample in bits per second, if there is one. */
__u64 event_delivery_bps(const struct bbr_event *e);

/* In bits per second; NAN: there is none. */
double event_pacing_bps(const struct bbr_event *e);

/* What was delivered since event.delivered was `since`, at since_ns: bits per second. */
double event_delivered_bps(const struct bbr_event *e, __u32 since, __u64 since_ns);

/* Bandwidth-delay product in packets, and in thousandths of them; 0: not known. */
__u32 event_bdp(const struct bbr_event *e);
__u64 event_bdp_milli(const struct bbr_event *e);

/* Packets in flight before and after the ACK: the more of both. */
__u32 event_inflight(const struct bbr_event *e);

#endif
