/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads outcomes from the ring while the experiment's program writes to it.
 */
#ifndef LIB_OUTCOME_H
#define LIB_OUTCOME_H

#include <stdbool.h>

#include "bpf_bbr/experiment.h"

enum outcome_state {
	OUTCOME_READ,
	OUTCOME_OVERWRITTEN, /* its place has a later one */
	OUTCOME_NOT_YET, /* its place still has an earlier one, or none */
	OUTCOME_TORN, /* it was being written whenever we looked */
};

/*
 * Copies the one with this number (from 1), as it was at one moment. If its place has another one,
 * copies that, unless it is torn.
 */
enum outcome_state outcome_read(const struct experiment_outcome *ring, __u32 places, __u64 number,
				struct experiment_outcome *to);

#endif
