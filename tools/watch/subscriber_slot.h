/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who has a slot of struct bbr_watch: taking and giving back, between monitors that know nothing of
 * each other and may be stopped or killed between any two instructions.
 *
 * The owner's number is the lock: it changes by compare-and-swap only. It holds the time at which it
 * was made, so that whoever has just come is left alone while its lease is not set yet. A monitor
 * that finds its own lease run out changes its number as well before it touches the slot again: from
 * then on nobody can take it over for the time of a lease.
 */
#ifndef TOOLS_SUBSCRIBER_SLOT_H
#define TOOLS_SUBSCRIBER_SLOT_H

#include <stdbool.h>

#include "bpf_bbr/events.h"

#define LEASE_NS 3000000000ull

/* A number that no other owner has: the time in steps of 4 ms, and 22 bits by chance. */
__u64 slot_new_owner(void);

/* May the slot be taken from this owner, which it has now? */
bool slot_is_free(const struct bbr_subscriber *sub, __u64 owner, __u64 now);

/* Changes the owner; false if it was not `from` any more. */
bool slot_take(struct bbr_subscriber *sub, __u64 from, __u64 to);

/* Stops events into a slot that is ours. Programs that run right now may still write some. */
void slot_mute(struct bbr_watch *watch, int slot);

/* Gives back a slot that is ours; the kernel frees the ring when nobody else has it. */
void slot_release(struct bbr_watch *watch, int slot, int rings_fd);

#endif
