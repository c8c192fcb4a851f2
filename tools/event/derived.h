/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values that follow from an event. Nothing else computes them.
 */
#ifndef TOOLS_DERIVED_H
#define TOOLS_DERIVED_H

#include "descriptor.h"

/*
 * Is there BBR state? The stack reports losses of the SYN before there is: gains are 0 then, and
 * never later.
 */
bool event_has_state(const struct bbr_event *e);

/* One of the event's bandwidths, in bits per second. */
__u64 event_bps(const struct bbr_event *e, __u32 bw);

/* The same in bytes per second, and not rounded. */
double event_bytes_per_s(const struct bbr_event *e, __u32 bw);

bool event_has_rate(const struct bbr_event *e);
/* The delivery rate sample in bits per second, if there is one. */
__u64 event_delivery_bps(const struct bbr_event *e);

/* In bits per second; NAN: there is none. */
double event_pacing_bps(const struct bbr_event *e);

/* The rate in bits per second since since_ns, when event.delivered was `since`. */
double event_delivered_bps(const struct bbr_event *e, __u32 since, __u64 since_ns);

/* Bandwidth-delay product in packets, and in thousandths of them; 0: not known. */
__u32 event_bdp(const struct bbr_event *e);
__u64 event_bdp_milli(const struct bbr_event *e);

/* Packets in flight before or after the ACK, whichever is more. */
__u32 event_inflight(const struct bbr_event *e);

#endif
