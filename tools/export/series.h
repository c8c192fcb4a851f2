/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is counted for each instance, profile and network namespace that occur together. What was counted
 * once stays, whatever becomes of the connections and of the instance.
 */
#ifndef TOOLS_SERIES_H
#define TOOLS_SERIES_H

#include "bpf_bbr/events.h"
#include "labels.h"
#include "openmetrics.h"

#define SERIES_MAX 256
#define SERIES_INSTANCES 64
#define SERIES_PROFILES 64
#define SERIES_NETNS 32

struct series {
	int instance, profile, netns; /* indexes of labels */
	__u64 started, ended;
	__u64 sent, acked, retrans; /* bytes */
	__u64 lost; /* packets */
	__u64 rtos, recoveries, policed;
	__u64 entered[BBR_MODES];
	__u64 mode_ns[BBR_MODES];
	struct om_histogram rtt, bw, pacing;
};

struct series_table {
	struct labels instances, profiles, netns;
	int n;
	struct series all[SERIES_MAX];
};

extern const struct om_bounds rtt_bounds; /* RTT over min_rtt */
extern const struct om_bounds rate_bounds; /* bytes per second */

void series_init(struct series_table *t);
void series_free(struct series_table *t);

/* Of these labels, or of "other" if there are too many. Valid as long as the table. */
struct series *series_get(struct series_table *t, const char *instance, const char *profile,
			  int netns);

#endif
