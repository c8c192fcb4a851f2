// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/err.h"
#include "event/event.h"
#include "connection.h"
#include "verbs.h"

struct reading {
	struct recorded_why *to;
	struct event_source source;
};

/* A run of the recorder did not see the connections of the one before. */
static void begin_run(struct reading *r, const struct bbr_event *e)
{
	struct recorded_why *to = r->to;
	struct recording_run run = event_source_run(&r->source);

	if (to->has_run && to->run == run.id)
		return;
	why_connections_cut(to->connections);
	to->has_run = true;
	to->run = run.id;
	to->start_ns = e->time_ns;
}

static bool is_in_time(const struct recorded_why *to, const struct bbr_event *e)
{
	__u64 since = e->time_ns > to->start_ns ? e->time_ns - to->start_ns : 0;

	return since >= to->part.from_ns && (!to->part.until_ns || since <= to->part.until_ns);
}

static bool note_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct reading *r = ctx;
	struct why_connection *c;
	struct why_reading reading;
	struct conn_key key;
	const char *profile;

	begin_run(r, e);
	if (!is_in_time(r->to, e))
		return !is_interrupted();
	r->to->has_time = true;
	/* At its end a connection has forgotten its state. */
	if (e->kind == BBR_EV_END || !event_has_state(e))
		return !is_interrupted();
	key = conn_key_of(origin, e);
	c = why_connection_get(r->to->connections, &key, WHY_CONNECTIONS_MAX);
	if (!c) {
		r->to->left_out++;
		return true;
	}
	why_connection_note(c, origin->name, e);
	profile = origin_profile(origin, e);
	if (profile)
		strcpy(c->profile, profile);
	c->is_recorded = true;
	c->is_wanted |= filter_matches(r->to->filter, origin, e, NULL);
	why_reading_of_event(&reading, origin->algorithm, e);
	why_window_add(&c->window, &reading);
	return !is_interrupted();
}

int recorded_why_read(struct recorded_why *to)
{
	struct reading r = { .to = to };
	const struct watch_config config = {
		.request.sampling = BBR_SAMPLE_ACK,
		.handle = note_event,
		.ctx = &r,
		.read = to->file,
	};
	int ret = event_source_open(&r.source, &config);
	bool idle;

	if (ret)
		return ret;
	while (!ret && !is_interrupted() && !event_source_is_over(&r.source))
		ret = event_source_poll(&r.source, 0, &idle);
	event_source_close(&r.source);
	if (to->left_out)
		err("%llu events are left out: the recording has more than %u connections",
		    to->left_out, WHY_CONNECTIONS_MAX);
	return ret;
}
