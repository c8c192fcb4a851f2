/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who has a slot of struct bbr_watch: monitors take and give back slots. They know nothing of each
 * other, and may be stopped or killed between any two instructions.
 *
 * The owner's number is the lock: it changes only by compare-and-swap. It holds the time at which
 * it was made, so that a new owner is left alone while its lease is not set yet. A monitor whose
 * own lease has run out also changes its number before it touches the slot again: from then on
 * nobody can take the slot over for the time of a lease.
 */
#ifndef TOOLS_SUBSCRIBER_SLOT_H
#define TOOLS_SUBSCRIBER_SLOT_H

#include <stdbool.h>

#include "bpf_bbr/events.h"

#define LEASE_NS 3000000000ull

/* A number that no other owner has: the time in steps of 4 ms, and 22 random bits. */
__u64 slot_new_owner(void);

/* May the slot be taken from `owner`, which has it now? */
bool slot_is_free(const struct bbr_subscriber *sub, __u64 owner, __u64 now);

/* Changes the owner; false if it was not `from` any more. */
bool slot_take(struct bbr_subscriber *sub, __u64 from, __u64 to);

/* Stops events into a slot of ours. Programs that run right now may still write some. */
void slot_mute(struct bbr_watch *watch, int slot);

/* Gives back a slot of ours; the kernel frees the ring when nobody else has it. */
void slot_release(struct bbr_watch *watch, int slot, int rings_fd);

#endif
