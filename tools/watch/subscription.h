/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Our subscription to one instance: a slot of its struct bbr_watch, our ring buffer in it, and the
 * lease.
 */
#ifndef TOOLS_SUBSCRIPTION_H
#define TOOLS_SUBSCRIPTION_H

#include <stdbool.h>

#include "guardian.h"
#include "kernel/instance.h"
#include "event/origin.h"
#include "filter/request.h"

struct subscription {
	struct instance inst;
	struct origin origin;
	struct bbr_watch *watch;
	int rings_fd;
	struct guarded *guarded;

	int slot; /* -1: none */
	__u64 lease_ns; /* as last written */
	__u64 renewed_ns;
	__u64 since_ns; /* no event of this slot is older */
	__u64 next_seq; /* after the highest seen */
	struct counters now; /* of this slot */
	struct counters before; /* of slots that were taken from us */
};

/*
 * Opens the maps of an instance that these tools support; its events will have the tag. Returns 0
 * or -errno. Until it has a slot, renewing counts the time as not watched.
 */
int subscription_open(struct subscription *s, const struct instance *inst, struct guarded *guarded,
		      __u32 tag);

/* Takes a slot and prepares it. Returns 0; -EBUSY if all slots are taken; or another -errno. */
int subscription_enter(struct subscription *s, const struct watch_request *request, int ring_fd);

/* Lets events into the ring, if there is a slot. */
void subscription_begin(struct subscription *s);

/*
 * Extends the lease and reads the counters. *lapse_ns is for how long nothing was watched since the
 * last time. False: the slot was taken from us. The caller then reads what is left of it in the
 * ring and calls subscription_lost().
 */
bool subscription_renew(struct subscription *s, __u64 now, __u64 *lapse_ns);
void subscription_lost(struct subscription *s);

/* Has every connection of the instance ended, and its programs been freed? */
bool subscription_is_over(const struct subscription *s);

/* Notes an event from the ring, and whether it is one that was asked for. */
void subscription_note(struct subscription *s, const struct bbr_event *e, bool is_wanted);

/* Adds the counters so far to *sum; seq is as of the last renewal. */
void subscription_counters(const struct subscription *s, struct counters *sum);

/*
 * The end, in two steps. When subscription_stop() returns, no program writes to our ring any more.
 * After the caller has read the ring to its end, subscription_close() adds the final counters to
 * *total and releases everything.
 */
void subscription_stop(struct subscription *s, int ring_fd);
void subscription_close(struct subscription *s, struct counters *total);

#endif
