// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "event_source.h"
#include "kernel/clock.h"

int event_source_open(struct event_source *s, const struct watch_config *config)
{
	memset(s, 0, sizeof(*s));
	s->config = *config;
	if (config->read)
		return replay_open(&s->replay, &s->config);
	recording_run_init(&s->run, &s->config.request);
	return monitor_open(&s->monitor, &s->config);
}

int event_source_poll(struct event_source *s, int wait_ms, bool *idle)
{
	return s->config.read ? replay_poll(&s->replay, wait_ms, idle) :
				monitor_poll(&s->monitor, wait_ms, idle);
}

bool event_source_is_over(const struct event_source *s)
{
	return s->config.read && s->replay.is_over && !s->replay.has_event;
}

__u64 event_source_now_ns(const struct event_source *s)
{
	return s->config.read ? replay_now_ns(&s->replay) : now_ns();
}

__u64 event_source_start_ns(const struct event_source *s)
{
	return s->config.read ? replay_now_ns(&s->replay) : s->monitor.began_ns;
}

struct recording_run event_source_run(const struct event_source *s)
{
	struct recording_run run = s->run;

	if (s->config.read)
		return replay_run(&s->replay);
	run.epoch_ns = realtime_ns() - now_ns();
	return run;
}

struct watch_totals event_source_totals(const struct event_source *s)
{
	return s->config.read ? replay_totals(&s->replay) : monitor_totals(&s->monitor);
}

__u64 event_source_drops(const struct event_source *s)
{
	const struct watch_totals totals = event_source_totals(s);

	return counters_drops(&totals.counters);
}

void event_source_stop(struct event_source *s)
{
	if (!s->config.read)
		monitor_stop(&s->monitor);
}

void event_source_close(struct event_source *s)
{
	if (s->config.read)
		replay_close(&s->replay);
	else
		monitor_close(&s->monitor);
}
