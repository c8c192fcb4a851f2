// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "outcome.h"

#define TRIES 1000 /* an update takes less than a microsecond, but may be preempted */

/* Copies it like a reader of the kernel's seqcount. */
static bool copy(const struct experiment_outcome *place, struct experiment_outcome *to)
{
	__u32 version = __atomic_load_n(&place->version, __ATOMIC_ACQUIRE);

	if (version & 1)
		return false;
	memcpy(to, place, sizeof(*to));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&place->version, __ATOMIC_RELAXED) == version;
}

enum outcome_state outcome_read(const struct experiment_outcome *ring, __u32 places, __u64 number,
				struct experiment_outcome *to)
{
	const struct experiment_outcome *place = &ring[(number - 1) & (places - 1)];

	for (int i = 0; i < TRIES; i++) {
		if (!copy(place, to))
			continue;
		if (to->number == number)
			return OUTCOME_READ;
		return to->number > number ? OUTCOME_OVERWRITTEN : OUTCOME_NOT_YET;
	}
	return OUTCOME_TORN;
}
