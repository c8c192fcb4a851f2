// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy() */
#include <poll.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "cli/err.h"
#include "filter/filter.h"
#include "kernel/clock.h"
#include "layout/layout.h"
#include "reader.h"
#include "replay.h"

#define OPEN_WAIT_MS 500
#define BATCH 256 /* events handed on in a call, */
#define READ_BATCH 16384 /* and looked at */
#define LONGEST_NS 1e18

struct sampled {
	struct conn_key key; /* the first member: a key in the map is what was sampled */
	__u64 time_ns; /* of the last ACK that was handed on */
};

/* A connection has at most one ACK due in each interval. */
static bool is_due(struct replay *p, const struct origin *origin, const struct bbr_event *e)
{
	struct conn_key key = conn_key_of(origin, e);
	struct sampled *s = (struct sampled *)conn_map_find(&p->sampled, &key);

	if (s && e->time_ns - s->time_ns < p->config->request.interval_ns)
		return false;
	/* With too many, forgets all: each then shows one ACK more, and none one less. */
	if (!s && p->sampled.n == REPLAY_SAMPLED_MAX) {
		conn_map_free(&p->sampled);
		if (!p->said_many)
			err("%s: more than %u connections: some show more ACKs than --every asks "
			    "for",
			    p->reader.name, REPLAY_SAMPLED_MAX);
		p->said_many = true;
	}
	if (!s)
		s = mem_need(conn_map_new(&p->sampled, &key, sizeof(*s)));
	s->time_ns = e->time_ns;
	return true;
}

static bool is_ack_wanted(struct replay *p, const struct origin *origin, const struct bbr_event *e)
{
	const struct watch_request *request = &p->config->request;

	if (!request->is_sampling_given)
		return true;
	switch (request->sampling) {
	case BBR_SAMPLE_ROUND:
		return e->flags & BBR_F_ROUND_START;
	case BBR_SAMPLE_TIME:
		return is_due(p, origin, e);
	case BBR_SAMPLE_NONE:
		return false;
	default:
		return true;
	}
}

static bool is_shown(struct replay *p, const struct origin *origin, const struct bbr_event *e)
{
	struct conn_key key;

	if (!is_wanted(p->config, origin, e))
		return false;
	if (e->kind == BBR_EV_END) {
		key = conn_key_of(origin, e);
		conn_map_drop(&p->sampled, &key);
	}
	if (e->kind != BBR_EV_ACK)
		return true;
	p->acks++;
	return is_ack_wanted(p, origin, e);
}

/* True if the recorded ACKs contain all that the request wants. */
static bool is_fine_enough(const struct recording_run *run, const struct watch_request *request)
{
	if (run->sampling == BBR_SAMPLE_ACK || request->sampling == BBR_SAMPLE_NONE)
		return true;
	return run->sampling == request->sampling &&
	       (run->sampling != BBR_SAMPLE_TIME || run->interval_ns <= request->interval_ns);
}

static bool is_boot_known(const __u8 boot_id[16])
{
	static const __u8 unknown[16];

	return memcmp(boot_id, unknown, sizeof(unknown));
}

static void begin_run(struct replay *p)
{
	const struct recording_run *run = &p->reader.run;
	const struct watch_request *request = &p->config->request;

	if (!p->run)
		p->first_epoch_ns = run->epoch_ns;
	/* The clock of a boot goes on from run to run. Only the time of day tells how boots lie. */
	if (!is_boot_known(run->boot_id) || memcmp(p->boot_id, run->boot_id, sizeof(p->boot_id)))
		p->shift_ns = (__u64)run->epoch_ns - (__u64)p->first_epoch_ns;
	memcpy(p->boot_id, run->boot_id, sizeof(p->boot_id));
	p->run = run->id;
	p->first_ns = p->reader.event.time_ns;
	p->started_ns = now_ns();
	p->newest_ns = p->first_ns;
	conn_map_free(&p->sampled);
	if (p->said_coarse || !request->is_sampling_given || is_fine_enough(run, request))
		return;
	err("%s: has fewer ACKs than --every requests: showing all of them", p->reader.name);
	p->said_coarse = true;
}

/* Reads up to the next wanted event, within the budget. Returns an exit status. */
static int look(struct replay *p, int wait_ms, int *budget)
{
	while (!p->has_event && !p->is_over && (*budget)-- > 0) {
		switch (recording_next(&p->reader, wait_ms)) {
		case RECORDING_NEXT_EVENT:
			if (!p->run || p->run != p->reader.run.id)
				begin_run(p);
			p->has_event = is_shown(p, p->reader.origin, &p->reader.event);
			break;
		case RECORDING_NEXT_NONE:
			*budget = 0;
			break;
		case RECORDING_NEXT_OVER:
			p->is_over = true;
			break;
		case RECORDING_NEXT_FAILED:
			return EXIT_USAGE;
		}
	}
	return EXIT_DONE;
}

int replay_open(struct replay *p, const struct watch_config *config)
{
	int ret, budget = READ_BATCH;

	memset(p, 0, sizeof(*p));
	p->config = config;
	ret = recording_open(&p->reader, config->read);
	if (ret)
		return ret;
	ret = look(p, OPEN_WAIT_MS, &budget);
	if (ret)
		replay_close(p);
	return ret;
}

void replay_close(struct replay *p)
{
	conn_map_free(&p->sampled);
	recording_close(&p->reader);
}

/* How long until the event is due. */
static __u64 ns_to_wait(const struct replay *p)
{
	double at, elapsed;

	if (!p->config->speed || p->reader.event.time_ns <= p->first_ns)
		return 0;
	elapsed = now_ns() - p->started_ns;
	at = (p->reader.event.time_ns - p->first_ns) / p->config->speed;
	if (at - elapsed > LONGEST_NS)
		return LONGEST_NS;
	return at > elapsed ? at - elapsed : 0;
}

int replay_poll(struct replay *p, int wait_ms, bool *idle)
{
	const struct bbr_event *e = &p->reader.event;
	int budget = READ_BATCH;

	*idle = false;
	for (int i = 0; i < BATCH; i++) {
		int ret = look(p, i ? 0 : wait_ms, &budget);
		__u64 wait_ns;

		if (ret)
			return ret;
		if (!p->has_event) {
			*idle = true;
			break;
		}
		wait_ns = ns_to_wait(p);
		if (wait_ns) {
			__u64 ms = wait_ns / NS_PER_MS + 1;

			*idle = true;
			if (!i) /* a signal ends it */
				poll(NULL, 0, ms < (__u64)wait_ms ? (int)ms : wait_ms);
			break;
		}
		p->has_event = false;
		p->received[e->kind & (BBR_EV_MAX - 1)]++;
		if (p->newest_ns < e->time_ns)
			p->newest_ns = e->time_ns;
		if (!p->config->handle(p->config->ctx, p->reader.origin, e))
			break;
	}
	return EXIT_DONE;
}

__u64 replay_now_ns(const struct replay *p)
{
	__u64 now;

	if (!p->config->speed || !p->run)
		return p->newest_ns;
	now = p->first_ns + (now_ns() - p->started_ns) * p->config->speed;
	return now > p->newest_ns ? now : p->newest_ns;
}

struct recording_run replay_run(const struct replay *p)
{
	const struct watch_request *request = &p->config->request;
	struct recording_run run = p->reader.run;

	if (request->is_sampling_given && is_fine_enough(&run, request)) {
		run.sampling = request->sampling;
		run.interval_ns = request->interval_ns;
	}
	return run;
}

struct watch_totals replay_totals(const struct replay *p)
{
	struct watch_totals totals = recording_totals(&p->reader);
	struct counters *n = &totals.counters;
	__u64 recorded = counters_received(n);

	memcpy(n->received, p->received, sizeof(n->received));
	if (p->config->filter) /* there may be connections that were not asked for */
		n->acks = p->acks;
	n->seq -= recorded - counters_received(n);
	return totals;
}

const struct algorithm *recording_described(const char *file, size_t i)
{
	static const char *is_read;
	struct recording_reader r;
	struct stat st;

	if (is_read != file && !stat(file, &st) && S_ISREG(st.st_mode) &&
	    recording_open(&r, file) == EXIT_DONE) {
		r.quiet = true;
		while (recording_next(&r, 0) == RECORDING_NEXT_EVENT)
			;
		recording_close(&r);
	}
	is_read = file;
	return layout_described(i);
}

struct run_clock {
	__u64 id;
	__s64 epoch_ns;
};

struct boot_clock {
	__u8 id[16];
	__s64 epoch_ns; /* the highest of its runs so far */
};

static int by_run(const void *a, const void *b)
{
	const struct run_clock *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_boot(const void *a, const void *b)
{
	const struct boot_clock *x = a, *y = b;

	return memcmp(x->id, y->id, sizeof(x->id));
}

/* It rises if the machine slept or the clock was set forward, it falls if it was set back. */
static __s64 highest_of_boot(struct run_clocks *c, const struct recording_run *run)
{
	struct boot_clock *new, *boot;

	if (!is_boot_known(run->boot_id))
		return run->epoch_ns;
	new = mem_new(1, sizeof(*new));
	memcpy(new->id, run->boot_id, sizeof(new->id));
	new->epoch_ns = run->epoch_ns;
	boot = *(struct boot_clock **)mem_need(tsearch(new, &c->boots, by_boot));
	if (boot != new)
		free(new);
	if (boot->epoch_ns < run->epoch_ns)
		boot->epoch_ns = run->epoch_ns;
	return boot->epoch_ns;
}

__s64 run_clocks_epoch_ns(struct run_clocks *c, const struct recording_run *run)
{
	const struct run_clock like = { .id = run->id };
	struct run_clock **known, *new;

	if (c->last && c->last->id == run->id)
		return c->last->epoch_ns;
	known = tfind(&like, &c->runs, by_run);
	if (!known) {
		new = mem_new(1, sizeof(*new));
		*new = (struct run_clock){ run->id, highest_of_boot(c, run) };
		known = mem_need(tsearch(new, &c->runs, by_run));
	}
	c->last = *known;
	return c->last->epoch_ns;
}

void run_clocks_free(struct run_clocks *c)
{
	tdestroy(c->runs, free);
	tdestroy(c->boots, free);
}
