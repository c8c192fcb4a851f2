// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/err.h"
#include "kernel/clock.h"
#include "connection.h"
#include "verbs.h"

/*
 * The window has this many readings, but readings take no more than a tenth of the time, and a
 * connection's state is not read more often than a round trip of some length changes it.
 */
#define READINGS 50
#define PAUSE_LEAST_NS (20 * NS_PER_MS)
#define SHARE 10

static struct why_connection *find_or_add(struct live *l, __u64 cookie)
{
	struct conn_key key = conn_key_of_id(0, cookie);
	struct why_connection *c = why_connection_get(l->connections, &key, ~0ul);

	c->cookie = cookie;
	return c;
}

/* What BBR knows of a connection. What the kernel counts of it comes next. */
static bool take_bbr(void *ctx, const struct origin *origin, const struct bbr_snapshot *snap)
{
	struct live *l = ctx;
	struct why_connection *c = find_or_add(l, snap->cookie);
	const char *profile;

	why_reading_of_event(&c->of_bbr, origin->algorithm, &snap->event);
	profile = origin_profile(origin, &snap->event);
	if (profile) {
		strcpy(c->profile, profile);
		c->of_bbr.profile_bound =
			profile_bound(&l->bounds, snap->event.tag, snap->event.profile);
	}
	c->round = l->round;
	c->is_wanted |= filter_matches(l->filter, origin, &snap->event, snap);
	return !is_interrupted();
}

static bool wants_socket(struct live *l, const struct why_socket *s)
{
	const struct bbr_snapshot snap = why_snapshot_of_socket(s);
	struct origin origin = { .algorithm = &why_no_bbr };

	memcpy(origin.name, s->name, sizeof(origin.name));
	return filter_matches(l->filter, &origin, &snap.event, &snap);
}

static bool take_counts(void *ctx, const struct why_socket *s)
{
	struct live *l = ctx;
	struct why_connection *c = find_or_add(l, s->cookie);
	const struct bbr_snapshot snap = why_snapshot_of_socket(s);
	struct why_reading r;

	why_connection_note(c, s->name, &snap.event);
	c->cgroup = s->cgroup;
	if (s->inode) /* a closed socket still sends for the process that had it */
		c->inode = s->inode;
	why_reading_of_socket(&r, s, l->hz);
	if (c->round == l->round)
		why_reading_merge(&r, &c->of_bbr);
	else
		c->is_wanted |= wants_socket(l, s);
	why_window_add(&c->window, &r);
	return !is_interrupted();
}

static int read_once(struct live *l)
{
	int ret;

	l->round++;
	ret = sockets_read(&l->sockets, l->netns, take_bbr, l);
	if (!ret && !is_interrupted())
		ret = kernel_counts_read(&l->counts, l->netns, take_counts, l);
	return ret;
}

/*
 * Pauses of different lengths: an application that does the same ten times a second would otherwise
 * be seen at the same moment each time.
 */
static __u64 next_pause(const struct live *l, __u64 took_ns)
{
	__u64 pause = l->for_ns / READINGS;

	if (pause < PAUSE_LEAST_NS)
		pause = PAUSE_LEAST_NS;
	if (pause < SHARE * took_ns)
		pause = SHARE * took_ns;
	return pause / 2 + random() % (pause + 1);
}

static int follow(struct live *l)
{
	__u64 end = now_ns() + l->for_ns, began, now, pause;
	bool is_last = false;
	int ret = EXIT_DONE;

	while (!ret) {
		began = now_ns();
		ret = read_once(l);
		now = now_ns();
		if (ret || is_last || is_interrupted())
			break;
		pause = next_pause(l, now - began);
		is_last = now + pause >= end;
		if (is_last)
			pause = end > now ? end - now : 0;
		nanosleep(&(struct timespec){ pause / NS_PER_S, pause % NS_PER_S }, NULL);
	}
	return ret;
}

/* Has an instance connections that were not seen? */
static bool find_unseen(const struct live *l)
{
	for (int i = 0; i < l->sockets.n_instances; i++) {
		const struct sockets_instance *inst = &l->sockets.instances[i];

		if (inst->unseen && names_have(l->names, inst->origin.name))
			return true;
	}
	return false;
}

int live_read(struct live *l)
{
	int ret = sockets_open(&l->sockets);

	if (ret)
		return ret;
	l->hz = kernel_hz();
	srandom(now_ns());
	ret = kernel_counts_open(&l->counts);
	if (!ret) {
		cpus_read(l->cpus);
		ret = follow(l);
	}
	if (!ret)
		cpus_read(l->cpus);
	l->has_unseen = !l->netns && l->sockets.has_unseen_netns && find_unseen(l);
	kernel_counts_close(&l->counts);
	sockets_close(&l->sockets);
	profile_bounds_free(&l->bounds);
	return ret;
}
