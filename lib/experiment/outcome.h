/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Outcomes out of the ring that the experiment's program writes to at the same time.
 */
#ifndef LIB_OUTCOME_H
#define LIB_OUTCOME_H

#include <stdbool.h>

#include "bpf_bbr/experiment.h"

enum outcome_state {
	OUTCOME_READ,
	OUTCOME_OVERWRITTEN, /* its place is another's */
	OUTCOME_NOT_YET, /* its place was not written since the one before in it */
	OUTCOME_TORN, /* it was being written each time that we looked */
};

/* Copies one by its number (from 1), as it was at one moment; or what is in its place, unless it is torn. */
enum outcome_state outcome_read(const struct experiment_outcome *ring, __u32 places, __u64 number,
				struct experiment_outcome *to);

#endif
