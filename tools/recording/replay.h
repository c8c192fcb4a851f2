/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording as a source of events: hands on those that were asked for, at the requested speed. */
#ifndef TOOLS_RECORDING_REPLAY_H
#define TOOLS_RECORDING_REPLAY_H

#include <stdbool.h>

#include "descriptor.h"
#include "event/conn_map.h"
#include "filter/filter.h"
#include "reader.h"

/* Connections whose last sample is remembered, of a hundred bytes each. */
#define REPLAY_SAMPLED_MAX (1u << 17)

struct replay {
	const struct watch_config *config;
	struct recording_reader reader;
	bool has_event; /* the reader's, not handed on yet */
	bool is_over;
	bool said_coarse;

	__u64 run; /* of the last event */
	__u64 first_ns; /* its first event, and when this was due here */
	__u64 started_ns;
	__u64 newest_ns; /* of the events handed on */
	__s64 first_epoch_ns; /* of the first run */
	__u8 boot_id[16]; /* of the last run */
	__s64 shift_ns; /* leads from the clock of its boot to that of the first run */

	struct conn_map sampled; /* BBR_SAMPLE_TIME: connections and their last sample */
	bool said_many;
	__u64 acks; /* recorded, of the connections asked for */
	__u64 received[BBR_EV_MAX]; /* handed on */
};

/* Reads up to the first event, unless there is none yet. Returns an exit status. */
int replay_open(struct replay *p, const struct watch_config *config);
void replay_close(struct replay *p);

int replay_poll(struct replay *p, int wait_ms, bool *idle);
__u64 replay_now_ns(const struct replay *p);
struct recording_run replay_run(const struct replay *p);
struct watch_totals replay_totals(const struct replay *p);

/* The algorithms that a recording describes, and that these tools may not know. */
/*
 * For struct known. Reads the whole file when it is first asked for it: an algorithm may come late.
 * A pipe can be read only once, so of a pipe it has what was read so far.
 */
const struct algorithm *recording_described(const char *file, size_t i);

/*
 * Puts the events of a recording's runs on one clock, the time of day. It may be set within a run,
 * so its offset at the first event of a run holds for the whole run. It may be set back between two
 * runs of the same boot, whose own clock goes on: then the later run keeps the offset of the
 * earlier.
 */
struct run_clocks {
	void *runs, *boots; /* trees: tsearch(3) */
	const struct run_clock *last; /* of the last event */
};

/* What to add to the time of an event of this run to get nanoseconds since 1970. */
__s64 run_clocks_epoch_ns(struct run_clocks *c, const struct recording_run *run);

void run_clocks_free(struct run_clocks *c);

#endif
