// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cli/err.h"
#include "event/event.h"
#include "kernel/clock.h"
#include "kernel/kernel_types.h"
#include "monitor.h"

#define TICK_NS (500 * NS_PER_MS)
#define SCAN_NS NS_PER_S
/*
 * Events between two looks at the clock. libbpf reads until the ring is empty, which it never is if
 * events come faster than they are printed.
 */
#define BATCH 256
/*
 * To wake a reader that has read everything, the BPF program interrupts its CPU, which takes twice
 * as long as the rest of an event. So such a reader rests until some events have gathered. A small
 * ring has less room for them, so the rest is shorter.
 */
#define REST_NS (10 * NS_PER_MS)
#define REST_RING (1 << 20)

int monitor_take_record(void *ctx, void *record, size_t size)
{
	const enum event_error bad = event_check(record, size);
	struct monitor *m = ctx;
	struct subscription *s = m->subs;
	struct bbr_event e;
	bool wanted, more;

	if (bad == EVENT_OTHER_MAJOR) {
		err("cannot read events: they have ABI %u, this tool has ABI %u\n"
		    "use the tools of the version that loaded the instance",
		    ((const struct bbr_event *)record)->major, BBR_ABI_MAJOR);
	} else if (bad) {
		err("cannot read events: a record of %zu bytes is not an event", size);
	}
	if (bad) {
		m->error = EXIT_REFUSED;
		return -EPROTO;
	}
	event_copy(&e, record);
	while (s < m->subs + m->n_subs && s->origin.id != e.tag)
		s++;
	if (s == m->subs + m->n_subs)
		return 0;
	/* The BPF program has already checked its part of the filter. */
	wanted = !m->config.has_rest || is_wanted(&m->config, &s->origin, &e);
	subscription_note(s, &e, wanted);
	more = !wanted || m->config.handle(m->config.ctx, &s->origin, &e);
	return --m->batch > 0 && more ? 0 : -EAGAIN;
}

/* Reads all that is in the ring by now, but not what comes meanwhile. */
static void drain(struct monitor *m)
{
	int held = m->config.ring_size / BBR_EVENT_BASE + 1; /* no event is shorter */
	int n;

	do {
		m->batch = held;
		n = ring_buffer__consume(m->ring);
		held = m->batch;
	} while (n == -EAGAIN && held > 0);
}

static void end_sub(struct monitor *m, int i)
{
	struct subscription *s = &m->subs[i];

	subscription_stop(s, m->ring_fd);
	drain(m);
	subscription_close(s, &m->total.counters);
	*s = m->subs[--m->n_subs];
}

static int say_cannot_enter(const struct subscription *s, int error)
{
	if (error != -EBUSY)
		return err_bpf(error, "cannot subscribe");
	return err_refused("%s: all %d monitor slots are in use\n"
			   "end another bbrmon; the slot of a killed one is free after %llu s",
			   s->inst.name, BBR_SUBSCRIBERS, LEASE_NS / NS_PER_S);
}

/*
 * Prepares to watch an instance, or the kernel's own bbr as if it were one. What fails now is tried
 * again later.
 */
static int follow(struct monitor *m, const struct instance *inst, bool is_kernel)
{
	struct subscription *s = &m->subs[m->n_subs];
	struct guarded *unused = m->guardian.table; /* there is one: n_subs is below GUARDED_MAX */
	int error;

	while (unused->watch_id)
		unused++;
	error = subscription_open(s, inst, unused, ++m->last_tag);
	if (error == -ENOENT) /* unloaded in the meantime */
		return EXIT_DONE;
	if (error)
		return err_bpf(error, "cannot open the instance's maps");
	s->origin.is_kernel = is_kernel;
	m->n_subs++;
	error = subscription_enter(s, &m->config.request, m->ring_fd);
	return error ? say_cannot_enter(s, error) : EXIT_DONE;
}

static bool is_followed(const struct monitor *m, const struct instance *inst)
{
	for (int i = 0; i < m->n_subs; i++)
		if (m->subs[i].inst.watch_id == inst->watch_id)
			return true;
	return false;
}

static bool can_follow(struct monitor *m, const struct instance *inst)
{
	if (inst->supported && m->n_subs < GUARDED_MAX)
		return true;
	if (inst->map_id <= m->warned_id)
		return false;
	m->warned_id = inst->map_id;
	if (inst->supported)
		err("%s: not watched: %d instances are watched already", inst->name, GUARDED_MAX);
	else
		origin_refuse(inst, "not watched");
	return false;
}

static int compare_map_id(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;

	return x->map_id < y->map_id ? -1 : x->map_id > y->map_id;
}

/*
 * Follows the kernel's own bbr as soon as there is one. If that is impossible, only a user who
 * named it gets an error.
 */
static int follow_kernel(struct monitor *m)
{
	struct instance inst;
	int error;

	if (m->probe.obj || !names_have(&m->config.names, KERNEL_BBR) ||
	    !probe_is_possible(&m->probe) || m->n_subs == GUARDED_MAX)
		return EXIT_DONE;
	error = probe_attach(&m->probe, &inst);
	if (!error)
		return follow(m, &inst, true);
	if (!m->config.names.n)
		return EXIT_DONE;
	if (error == -EPROTONOSUPPORT)
		return kernel_bbr_refuse();
	return err_bpf(error, "cannot watch the kernel's own bbr");
}

/*
 * Follows new instances. Returns the first error. Attaching to the kernel's own bbr takes longer
 * than all else, so events begin when everything is ready: at one moment for all.
 */
static int scan(struct monitor *m)
{
	struct instance *list AUTO_FREE = NULL;
	int n, kernel, n_before = m->n_subs, ret = EXIT_DONE;
	bool has_instance;

	m->scanned_ns = now_ns();
	n = instance_list(&list);
	if (n < 0)
		return err_bpf(n, "cannot list instances");
	if (n) /* oldest first: warned_id needs it */
		qsort(list, n, sizeof(*list), compare_map_id);
	for (int i = 0; i < n; i++) {
		int failed = EXIT_DONE;

		if (names_have(&m->config.names, list[i].name) && !is_followed(m, &list[i]) &&
		    can_follow(m, &list[i]))
			failed = follow(m, &list[i], false);
		if (!ret)
			ret = failed;
	}
	kernel = follow_kernel(m);
	for (int i = n_before; i < m->n_subs; i++)
		subscription_begin(&m->subs[i]);
	has_instance = m->n_subs > (m->probe.obj != NULL);
	if (!has_instance && !m->config.names.n && !m->said_waiting)
		err("no instance is loaded: waiting for one");
	m->said_waiting = !has_instance;
	kernel_types_forget(); /* they are large, and most scans find nothing new */
	return ret ? ret : kernel;
}

/* Keeps one subscription alive. Returns for how long the instance was not watched. */
static __u64 keep(struct monitor *m, struct subscription *s, __u64 now)
{
	__u64 lapse;
	int error;

	if (!subscription_renew(s, now, &lapse)) {
		drain(m);
		subscription_lost(s);
		error = subscription_enter(s, &m->config.request, m->ring_fd);
		if (error)
			say_cannot_enter(s, error);
		subscription_begin(s);
	} else if (s->slot < 0) { /* this was said when it happened */
		subscription_enter(s, &m->config.request, m->ring_fd);
		subscription_begin(s);
	}
	return lapse;
}

static void keep_all(struct monitor *m)
{
	__u64 now = now_ns(), since = m->ticked_ns, longest = 0;

	for (int i = 0; i < m->n_subs; i++) {
		__u64 lapse = keep(m, &m->subs[i], now);

		if (longest < lapse)
			longest = lapse;
	}
	m->ticked_ns = now;
	if (!m->n_subs)
		return;
	if (longest > now - since)
		longest = now - since;
	m->total.unwatched_ns += longest;
	m->total.watched_ns += now - since - longest;
}

static void tick(struct monitor *m)
{
	keep_all(m);
	if (m->ticked_ns - m->scanned_ns < SCAN_NS)
		return;
	/* Ends subscriptions to unloaded instances whose last connection has ended. */
	for (int i = m->n_subs - 1; i >= 0; i--)
		if (subscription_is_over(&m->subs[i]))
			end_sub(m, i);
	scan(m); /* errors have been printed, and what we watch goes on */
}

static int open_ring(struct monitor *m)
{
	m->ring_fd =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "bbrmon", 0, 0, m->config.ring_size, NULL);
	if (m->ring_fd < 0)
		return err_bpf(errno, "cannot create the ring buffer");
	m->ring = ring_buffer__new(m->ring_fd, monitor_take_record, m, NULL);
	if (!m->ring) {
		int error = errno;

		close(m->ring_fd);
		return err_bpf(error, "cannot map the ring buffer");
	}
	return EXIT_DONE;
}

/* Instances that were named must be loaded. */
static int check_names(const struct monitor *m)
{
	for (int i = 0; i < m->config.names.n; i++) {
		const char *name = m->config.names.arg[i];
		struct instance inst;
		int ret;

		if (!strcmp(name, KERNEL_BBR) && probe_is_possible(&m->probe))
			continue;
		ret = instance_get(name, &inst);
		if (ret)
			return ret;
	}
	return EXIT_DONE;
}

int monitor_open(struct monitor *m, const struct watch_config *config)
{
	int ret, error;

	memset(m, 0, sizeof(*m));
	m->config = *config;
	probe_init(&m->probe);
	ret = check_names(m);
	if (ret)
		return ret;
	error = guardian_start(&m->guardian);
	if (error)
		return err_bpf(error, "cannot start the guardian process");
	ret = open_ring(m);
	if (ret) {
		guardian_end(&m->guardian);
		return ret;
	}
	m->ticked_ns = m->began_ns = now_ns();
	ret = scan(m);
	for (int i = 0; i < m->n_subs; i++)
		if (m->began_ns < m->subs[i].since_ns)
			m->began_ns = m->subs[i].since_ns;
	if (!ret)
		return EXIT_DONE;
	monitor_stop(m);
	monitor_close(m);
	return ret;
}

static int ms_to_tick(const struct monitor *m, __u64 now)
{
	__u64 due = m->ticked_ns + TICK_NS;

	return due > now ? (due - now) / NS_PER_MS + 1 : 0;
}

int monitor_rest_ms(const struct monitor *m)
{
	__u64 now = now_ns();

	return m->rest_until_ns > now ? (m->rest_until_ns - now) / NS_PER_MS + 1 : 0;
}

int monitor_poll(struct monitor *m, int wait_ms, bool *idle)
{
	size_t size = m->config.ring_size < REST_RING ? m->config.ring_size : REST_RING;
	__u64 now = now_ns(), most = wait_ms * NS_PER_MS;
	__u64 ns = m->rest_until_ns > now ? m->rest_until_ns - now : 0;
	int to_tick, n;

	if (most && ns)
		nanosleep(&(struct timespec){ .tv_nsec = ns < most ? ns : most }, NULL);
	to_tick = ms_to_tick(m, now_ns());
	if (!to_tick) {
		tick(m);
		to_tick = ms_to_tick(m, now_ns());
	}
	m->batch = BATCH;
	n = ring_buffer__poll(m->ring, wait_ms < to_tick ? wait_ms : to_tick);
	*idle = n >= 0;
	if (n > 0)
		m->rest_until_ns = now_ns() + REST_NS * size / REST_RING;
	if (m->error)
		return m->error;
	if (n < 0 && n != -EAGAIN && n != -EINTR)
		return err_bpf(n, "cannot read the ring buffer");
	return EXIT_DONE;
}

struct watch_totals monitor_totals(const struct monitor *m)
{
	struct watch_totals t = m->total;

	for (int i = 0; i < m->n_subs; i++)
		subscription_counters(&m->subs[i], &t.counters);
	return t;
}

int monitor_fd(const struct monitor *m)
{
	return ring_buffer__epoll_fd(m->ring);
}

void monitor_stop(struct monitor *m)
{
	keep_all(m);
	while (m->n_subs)
		end_sub(m, m->n_subs - 1);
}

void monitor_close(struct monitor *m)
{
	probe_detach(&m->probe);
	ring_buffer__free(m->ring);
	close(m->ring_fd);
	guardian_end(&m->guardian);
}
