/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recordings of ABI 2, the format of major 1. It was made for one algorithm, BBR version 1, whose
 * events all had the same members, so there are no descriptions. What differs from format.h:
 *
 * RECORDING_ORIGIN	without the number of an algorithm
 * RECORDING_EVENT	has the members of ABI 2's struct bbr_event, in the order of abi2.c; after
 *			them come the bytes of an event beyond the first 216
 */
#ifndef TOOLS_RECORDING_ABI2_H
#define TOOLS_RECORDING_ABI2_H

#include "layout.h"

/* NULL: the tools no longer know the algorithm, or a member has changed. */
const struct layout *abi2_layout(void);

/*
 * Converts an event with these members, and `rest` bytes after them, to one of today. Its major
 * becomes today's, unless it is older than ABI 2. False: there never was such an event.
 */
bool abi2_event(const union recording_event *coded, size_t rest, struct bbr_event *e);

#endif
