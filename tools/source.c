// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "err.h"
#include "source.h"

int source_open(struct source *s, const struct source_config *config)
{
	int status;

	memset(s, 0, sizeof(*s));
	s->config = *config;
	s->monitor = malloc(sizeof(*s->monitor));
	if (!s->monitor) {
		err("cannot start: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	status = monitor_open(s->monitor, &s->config.watch);
	if (status)
		free(s->monitor);
	return status;
}

int source_poll(struct source *s, int wait_ms, bool *idle)
{
	return monitor_poll(s->monitor, wait_ms, idle);
}

bool source_is_over(const struct source *s)
{
	(void)s;
	return false;
}

__u64 source_now_ns(const struct source *s)
{
	(void)s;
	return now_ns();
}

__s64 source_epoch_ns(const struct source *s)
{
	(void)s;
	return realtime_ns() - now_ns();
}

__u64 source_drops(const struct source *s)
{
	return monitor_drops(s->monitor);
}

void source_stop(struct source *s)
{
	monitor_stop(s->monitor);
}

const struct watch_totals *source_totals(const struct source *s)
{
	return &s->monitor->total;
}

void source_close(struct source *s)
{
	monitor_close(s->monitor);
	free(s->monitor);
}
