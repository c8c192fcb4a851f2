/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a policer limit the connection, as far as its algorithm knows?
 */
#ifndef TOOLS_POLICER_H
#define TOOLS_POLICER_H

#include <stdbool.h>

#include "descriptor.h"

enum policer {
	POLICER_OFF, /* none is known */
	POLICER_SAMPLING, /* the algorithm looks for one */
	POLICER_DETECTED,
};

/* What the algorithm's field "policer" says; POLICER_OFF for an algorithm without it. */
enum policer event_policer(const struct algorithm *a, const struct bbr_event *e);

/* Has the algorithm detected one? */
bool event_is_policed(const struct algorithm *a, const struct bbr_event *e);

#endif
