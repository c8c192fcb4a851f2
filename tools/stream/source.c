// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "err.h"
#include "recording/replay.h"
#include "source.h"

static int open_replay(struct source *s)
{
	int status;

	s->replay = malloc(sizeof(*s->replay));
	if (!s->replay) {
		err("cannot start: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	status = replay_open(s->replay, &s->config);
	if (status)
		free(s->replay);
	return status;
}

static int open_monitor(struct source *s)
{
	int status;

	s->monitor = malloc(sizeof(*s->monitor));
	if (!s->monitor) {
		err("cannot start: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	recording_run_init(&s->run, &s->config.watch.request);
	status = monitor_open(s->monitor, &s->config.watch);
	if (status)
		free(s->monitor);
	return status;
}

int source_open(struct source *s, const struct watch_config *config)
{
	memset(s, 0, sizeof(*s));
	s->config = *config;
	return config->read ? open_replay(s) : open_monitor(s);
}

int source_poll(struct source *s, int wait_ms, bool *idle)
{
	return s->replay ? replay_poll(s->replay, wait_ms, idle) :
			   monitor_poll(s->monitor, wait_ms, idle);
}

bool source_is_over(const struct source *s)
{
	return s->replay && s->replay->is_over && !s->replay->has_event;
}

__u64 source_now_ns(const struct source *s)
{
	return s->replay ? replay_now_ns(s->replay) : now_ns();
}

void source_run(const struct source *s, struct recording_run *run)
{
	if (s->replay) {
		replay_run(s->replay, run);
		return;
	}
	*run = s->run;
	run->epoch_ns = realtime_ns() - now_ns();
}

__s64 source_epoch_ns(const struct source *s)
{
	struct recording_run run;

	source_run(s, &run);
	return run.epoch_ns;
}

void source_totals_now(const struct source *s, struct watch_totals *totals)
{
	if (s->replay)
		replay_totals(s->replay, totals);
	else
		monitor_totals(s->monitor, totals);
}

__u64 source_drops(const struct source *s)
{
	struct watch_totals totals;

	source_totals_now(s, &totals);
	return counters_drops(&totals.counters);
}

void source_stop(struct source *s)
{
	if (s->monitor)
		monitor_stop(s->monitor);
	source_totals_now(s, &s->totals);
}

const struct watch_totals *source_totals(const struct source *s)
{
	return &s->totals;
}

void source_close(struct source *s)
{
	if (s->replay) {
		replay_close(s->replay);
	} else {
		monitor_close(s->monitor);
	}
	free(s->replay);
	free(s->monitor);
}
