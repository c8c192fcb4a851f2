// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "recorded_sockets.h"

struct connection {
	struct conn_key key; /* the first member: a key in the map is its connection */
	const struct origin *origin;
	struct bbr_event last;
};

/* A copy: the source may move its own. */
struct known_origin {
	struct origin origin;
	struct known_origin *next;
};

struct walk {
	recorded_handler handle;
	void *ctx;
	bool stopped;
};

static const struct origin *keep_origin(struct recorded *r, const struct origin *origin)
{
	struct known_origin *k;

	for (k = r->origins; k; k = k->next) {
		if (k->origin.id == origin->id) {
			k->origin = *origin;
			return &k->origin;
		}
	}
	k = malloc(sizeof(*k));
	if (!k)
		return NULL;
	k->origin = *origin;
	k->next = r->origins;
	r->origins = k;
	return &k->origin;
}

static struct connection *find_or_add(struct recorded *r, const struct conn_key *key)
{
	struct connection *found = (struct connection *)conn_map_find(&r->live, key), *added;

	if (found)
		return found;
	added = calloc(1, sizeof(*added));
	if (!added)
		return NULL;
	added->key = *key;
	if (!conn_map_add(&r->live, &added->key)) {
		free(added);
		return NULL;
	}
	return added;
}

static void forget(struct recorded *r, const struct conn_key *key)
{
	struct conn_key *gone = conn_map_find(&r->live, key);

	if (!gone)
		return;
	conn_map_remove(&r->live, gone);
	free(gone);
}

static bool note_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct recorded *r = ctx;
	struct recording_run run;
	struct conn_key key;
	struct connection *c;
	__u64 time_ns = e->time_ns;

	event_source_run(&r->source, &run);
	if (!run_clocks_date(&r->clocks, &run, &time_ns))
		r->no_memory = true;
	if (!r->until_ns) /* the first one */
		r->until_ns = r->after_ns < ~time_ns ? time_ns + r->after_ns : ~0ull;
	if (time_ns > r->until_ns)
		r->is_past = true;
	if (r->is_past || r->no_memory)
		return false;
	if (r->run != run.id) {
		conn_map_free(&r->live, free);
		r->run = run.id;
	}
	key = conn_key_of(origin, e);
	if (e->kind == BBR_EV_END) {
		forget(r, &key);
		return true;
	}
	c = find_or_add(r, &key);
	if (c)
		c->origin = keep_origin(r, origin);
	if (!c || !c->origin) {
		r->no_memory = true;
		return false;
	}
	memcpy(&c->last, e, sizeof(c->last));
	return true;
}

static int read_all(struct recorded *r)
{
	int ret = EXIT_DONE;
	bool idle;

	while (!ret && !r->is_past && !r->no_memory && !event_source_is_over(&r->source))
		ret = event_source_poll(&r->source, 0, &idle);
	if (r->no_memory) {
		err("cannot read the recording: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	return ret;
}

int recorded_open(struct recorded *r, const char *file, __u64 at_ns)
{
	const struct watch_config config = {
		.request.sampling = BBR_SAMPLE_ACK,
		.handle = note_event,
		.ctx = r,
		.read = file,
	};
	int ret;

	memset(r, 0, sizeof(*r));
	r->after_ns = at_ns;
	ret = event_source_open(&r->source, &config);
	if (ret)
		return ret;
	ret = read_all(r);
	if (ret)
		recorded_close(r);
	return ret;
}

static void hand_on(const struct conn_key *key, void *ctx)
{
	const struct connection *found = (const struct connection *)key;
	struct bbr_snapshot state = { .event = found->last };
	const struct snapshot c = { found->origin, &state, true };
	struct walk *walk = ctx;

	if (walk->stopped)
		return;
	state.event.kind = BBR_EV_STATE;
	walk->stopped = !walk->handle(walk->ctx, &c);
}

void recorded_for_each(const struct recorded *r, recorded_handler handle, void *ctx)
{
	struct walk walk = { .handle = handle, .ctx = ctx };

	conn_map_for_each(&r->live, hand_on, &walk);
}

void recorded_close(struct recorded *r)
{
	conn_map_free(&r->live, free);
	for (struct known_origin *k = r->origins, *next; k; k = next) {
		next = k->next;
		free(k);
	}
	run_clocks_free(&r->clocks);
	event_source_close(&r->source);
}
