// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/clock.h"
#include "cli/err.h"
#include "recording/replay.h"
#include "event_source.h"

static int open_replay(struct event_source *s)
{
	int ret;

	s->replay = malloc(sizeof(*s->replay));
	if (!s->replay) {
		err("cannot start: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	ret = replay_open(s->replay, &s->config);
	if (ret)
		free(s->replay);
	return ret;
}

static int open_monitor(struct event_source *s)
{
	int ret;

	s->monitor = malloc(sizeof(*s->monitor));
	if (!s->monitor) {
		err("cannot start: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	recording_run_init(&s->run, &s->config.request);
	ret = monitor_open(s->monitor, &s->config);
	if (ret)
		free(s->monitor);
	return ret;
}

int event_source_open(struct event_source *s, const struct watch_config *config)
{
	memset(s, 0, sizeof(*s));
	s->config = *config;
	return config->read ? open_replay(s) : open_monitor(s);
}

int event_source_poll(struct event_source *s, int wait_ms, bool *idle)
{
	return s->replay ? replay_poll(s->replay, wait_ms, idle) :
			   monitor_poll(s->monitor, wait_ms, idle);
}

bool event_source_is_over(const struct event_source *s)
{
	return s->replay && s->replay->is_over && !s->replay->has_event;
}

__u64 event_source_now_ns(const struct event_source *s)
{
	return s->replay ? replay_now_ns(s->replay) : now_ns();
}

__u64 event_source_start_ns(const struct event_source *s)
{
	return s->replay ? replay_now_ns(s->replay) : s->monitor->began_ns;
}

void event_source_run(const struct event_source *s, struct recording_run *run)
{
	if (s->replay) {
		replay_run(s->replay, run);
		return;
	}
	*run = s->run;
	run->epoch_ns = realtime_ns() - now_ns();
}

__s64 event_source_epoch_ns(const struct event_source *s)
{
	struct recording_run run;

	event_source_run(s, &run);
	return run.epoch_ns;
}

void event_source_totals_now(const struct event_source *s, struct watch_totals *totals)
{
	if (s->replay)
		replay_totals(s->replay, totals);
	else
		monitor_totals(s->monitor, totals);
}

__u64 event_source_drops(const struct event_source *s)
{
	struct watch_totals totals;

	event_source_totals_now(s, &totals);
	return counters_drops(&totals.counters);
}

void event_source_stop(struct event_source *s)
{
	if (s->monitor)
		monitor_stop(s->monitor);
	event_source_totals_now(s, &s->totals);
}

const struct watch_totals *event_source_totals(const struct event_source *s)
{
	return &s->totals;
}

void event_source_close(struct event_source *s)
{
	if (s->replay) {
		replay_close(s->replay);
	} else {
		monitor_close(s->monitor);
	}
	free(s->replay);
	free(s->monitor);
}
