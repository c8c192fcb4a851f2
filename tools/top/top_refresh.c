// SPDX-License-Identifier: GPL-2.0-only
/*
 * Updates what is shown, on each event and at the end of each interval.
 */
#include <stdio.h>

#include "stream/interrupt.h"
#include "top.h"

bool top_is_done(const struct top *t)
{
	return is_interrupted() || (t->count && t->blocks >= t->count) ||
	       (t->batch && ferror(stdout));
}

void top_refresh(struct top *t, __u64 now)
{
	if (t->sockets.is_open)
		quiet_sockets_read(&t->sockets);
	conn_table_tick(&t->table, now);
	t->style.now_ns = now;
	view_build(&t->view, &t->table);
	if (t->batch)
		top_print_block(t);
	t->next_ns = now + t->interval_ns;
	t->has_news = false;
}

/*
 * Intervals are in the time of events, so a recording shows the same however fast it is read. In a
 * long time without events, only the first interval is shown.
 */
static void refresh_until(struct top *t, __u64 time_ns)
{
	/* The first one, or of another boot. */
	if (!t->next_ns || time_ns + 2 * t->interval_ns < t->next_ns)
		t->next_ns = time_ns + t->interval_ns;
	if (time_ns < t->next_ns)
		return;
	top_refresh(t, t->config.read ? t->next_ns : time_ns);
	if (time_ns >= t->next_ns)
		t->next_ns +=
			(time_ns - t->next_ns) / t->interval_ns * t->interval_ns + t->interval_ns;
}

bool top_handle_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct top *t = ctx;
	bool wanted = is_wanted(&t->config, origin, e);

	t->events += wanted;
	t->last_ns = e->time_ns;
	if (t->paused) {
		t->unseen += wanted;
		conn_table_note_unseen(&t->table, origin, e);
		return true;
	}
	if (top_is_done(t))
		return false;
	refresh_until(t, e->time_ns);
	if (wanted)
		conn_table_note(&t->table, origin, e);
	else if (filter_knows(t->config.filter, e))
		conn_table_leave_out(&t->table, origin, e);
	t->has_news = true;
	return true;
}

void top_follow_now(struct top *t)
{
	if (t->paused || !t->next_ns || t->is_over)
		return;
	if (event_source_is_over(&t->source)) { /* what came after the last whole interval */
		t->is_over = true;
		if (t->has_news)
			top_refresh(t, t->last_ns);
	} else {
		refresh_until(t, event_source_now_ns(&t->source));
	}
}

int top_wait_ms(const struct top *t, int most)
{
	__u64 now = event_source_now_ns(&t->source);

	if (t->config.read || t->paused || t->next_ns <= now)
		return most;
	if (t->next_ns - now >= most * NS_PER_MS)
		return most;
	return (t->next_ns - now) / NS_PER_MS + 1;
}
