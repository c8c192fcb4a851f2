/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recordings of ABI 2, the format of major 1. It was made for one algorithm, BBR version 1, whose events were of one
 * kind: nothing is described. What is different from format.h:
 *
 * RECORDING_ORIGIN	without the number of an algorithm
 * RECORDING_EVENT	members are those of ABI 2's struct bbr_event, in the order of abi2.c; behind them
 *			come the bytes that the event is longer than 216
 */
#ifndef TOOLS_RECORDING_ABI2_H
#define TOOLS_RECORDING_ABI2_H

#include "layout.h"

/* NULL: there is no memory, or the tools do not know the algorithm any more. */
const struct layout *abi2_layout(void);

/*
 * Makes an event with these members, and so many bytes behind them, one of today. Its major becomes today's, unless it is
 * older than ABI 2. False: there never was such an event.
 */
bool abi2_event(const union recording_event *coded, size_t rest, struct bbr_event *e);

#endif
