/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TOY_EVENT_H
#define TOY_EVENT_H

#include "bpf_bbr/events.h"

#define BBR_ALGORITHM "toy"

enum bbr_mode {
	BBR_FIXED, /* the only one */
	BBR_MODES,
};

struct bbr_tail {
	__u32 acks; /* since the start */
	__u32 worst_rtt_us; /* of the last TOY_RTTS; BBR_RTT_NONE: not known */
};

#endif
