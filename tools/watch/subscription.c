// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "cli/err.h"
#include "cli/privileges.h"
#include "kernel/clock.h"
#include "monitor.h"

#define OWNER_RANDOM ((1ull << 22) - 1)

/* A number that no other owner has: the time in steps of 4 ms, and 22 random bits. */
static __u64 slot_new_owner(void)
{
	__u64 random = 0;

	/* At worst the number is not unique among monitors that start in the same 4 ms. */
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = now_ns();
	return (now_ns() & ~OWNER_RANDOM) | (random & OWNER_RANDOM);
}

/* May the slot be taken from `owner`, which has it now? */
static bool slot_is_free(const struct bbr_subscriber *sub, __u64 owner, __u64 now)
{
	__u64 made = owner & ~OWNER_RANDOM;

	if (!owner)
		return true;
	if (made <= now && now - made < LEASE_NS)
		return false;
	return __atomic_load_n(&sub->lease_ns, __ATOMIC_ACQUIRE) < now;
}

/* Changes the owner; false if it was not `from` any more. */
static bool slot_take(struct bbr_subscriber *sub, __u64 from, __u64 to)
{
	return __atomic_compare_exchange_n(&sub->owner, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* Stops events into a slot of ours. Programs that run right now may still write some. */
static void slot_mute(struct bbr_watch *watch, int slot)
{
	__atomic_fetch_and(&watch->active, ~(1ull << slot), __ATOMIC_SEQ_CST);
}

/* Gives back a slot of ours; the kernel frees the ring when nobody else has it. */
static void slot_release(struct bbr_watch *watch, int slot, int rings_fd)
{
	slot_mute(watch, slot);
	/* Returns when no program uses the ring any more; see ring_put(). */
	bpf_map_delete_elem(rings_fd, &slot);
	__atomic_store_n(&watch->sub[slot].lease_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&watch->sub[slot].owner, 0, __ATOMIC_RELEASE);
}

static struct bbr_subscriber *slot_of(const struct subscription *s)
{
	return &s->watch->sub[s->slot];
}

int subscription_open(struct subscription *s, const struct instance *inst, struct guarded *guarded,
		      __u32 tag)
{
	int error;

	memset(s, 0, sizeof(*s));
	s->inst = *inst;
	s->guarded = guarded;
	s->origin.id = tag;
	s->origin.algorithm = inst->algorithm;
	memcpy(s->origin.name, inst->name, sizeof(s->origin.name));
	s->slot = -1;
	s->renewed_ns = now_ns();
	s->rings_fd = instance_map(inst->rings_id);
	if (s->rings_fd < 0)
		return s->rings_fd;
	s->watch = instance_watch_map(inst);
	if (!s->watch) {
		error = errno;
		close(s->rings_fd);
		return -error;
	}
	/* Without them there are only numbers. */
	s->origin.profiles = instance_profile_names_map(inst);
	guarded->watch_id = inst->watch_id;
	guarded->rings_id = inst->rings_id;
	return 0;
}

/* Takes the slot with a new number, which the guardian knows before the slot has it. */
static bool take(struct subscription *s, int slot, __u64 from)
{
	__u64 owner = slot_new_owner();

	__atomic_store_n(&s->guarded->next_owner, owner, __ATOMIC_SEQ_CST);
	if (!slot_take(&s->watch->sub[slot], from, owner))
		return false;
	__atomic_store_n(&s->guarded->owner, owner, __ATOMIC_SEQ_CST);
	return true;
}

static int take_any(struct subscription *s, __u64 now)
{
	for (int i = 0; i < BBR_SUBSCRIBERS; i++) {
		const struct bbr_subscriber *sub = &s->watch->sub[i];
		__u64 owner = __atomic_load_n(&sub->owner, __ATOMIC_ACQUIRE);

		if (slot_is_free(sub, owner, now) && take(s, i, owner))
			return i;
	}
	return -1;
}

/*
 * Puts our ring into the slot. An update or delete in a map of maps returns after an RCU grace
 * period (maybe_wait_bpf_programs() in the kernel's syscall.c): every program that began before has
 * ended. Unlike membarrier(2) this also works with one CPU, where a program may be preempted.
 */
static int ring_put(const struct subscription *s, int slot, int ring_fd)
{
	return bpf_map_update_elem(s->rings_fd, &slot, &ring_fd, BPF_ANY) ? -errno : 0;
}

static void write_request(const struct subscription *s, struct bbr_subscriber *sub,
			  const struct watch_request *request)
{
	static const struct bbr_filter all;

	sub->interval_ns = request->interval_ns;
	sub->sampling = request->sampling;
	sub->tag = s->origin.id;
	sub->filter = request->filter;
	sub->filter.matches_all = !memcmp(&request->filter, &all, sizeof(all));
	sub->seq = 0;
	sub->acks = 0;
	memset(sub->events, 0, sizeof(sub->events));
	memset(sub->drops, 0, sizeof(sub->drops));
}

int subscription_enter(struct subscription *s, const struct watch_request *request, int ring_fd)
{
	__u64 now = now_ns();
	int slot = take_any(s, now), error;

	if (slot < 0)
		return -EBUSY;
	/* A dead monitor may have left bit and ring: no program may use them with our counters. */
	slot_mute(s->watch, slot);
	bpf_map_delete_elem(s->rings_fd, &slot);
	write_request(s, &s->watch->sub[slot], request);
	s->lease_ns = now + LEASE_NS;
	__atomic_store_n(&s->watch->sub[slot].lease_ns, s->lease_ns, __ATOMIC_RELEASE);
	/* Programs that began before this have ended when the ring is there. */
	s->since_ns = now_ns();
	error = ring_put(s, slot, ring_fd);
	if (error) {
		slot_release(s->watch, slot, s->rings_fd);
		return error;
	}
	s->slot = slot;
	s->next_seq = 0;
	return 0;
}

void subscription_begin(struct subscription *s)
{
	if (s->slot < 0)
		return;
	s->renewed_ns = now_ns();
	__atomic_fetch_or(&s->watch->active, 1ull << s->slot, __ATOMIC_SEQ_CST);
}

static bool is_ours(const struct subscription *s)
{
	return __atomic_load_n(&slot_of(s)->owner, __ATOMIC_ACQUIRE) == s->guarded->owner;
}

/* Reads the counters, unless they are another monitor's by now. */
static void read_counters(struct subscription *s)
{
	const struct bbr_subscriber *sub = slot_of(s);
	__u64 seq = __atomic_load_n(&sub->seq, __ATOMIC_RELAXED);
	__u64 acks = __atomic_load_n(&sub->acks, __ATOMIC_RELAXED);
	__u64 drops[BBR_EV_MAX];

	for (int i = 0; i < BBR_EV_MAX; i++)
		drops[i] = __atomic_load_n(&sub->drops[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!is_ours(s))
		return;
	s->now.seq = seq;
	s->now.acks = acks;
	memcpy(s->now.drops, drops, sizeof(drops));
}

/* Extends the lease, if it is still the one that we wrote: we may have been stopped since `now`. */
static bool extend_lease(struct subscription *s, __u64 now)
{
	__u64 lease = s->lease_ns;

	s->lease_ns = now + LEASE_NS;
	return __atomic_compare_exchange_n(&slot_of(s)->lease_ns, &lease, s->lease_ns, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool subscription_renew(struct subscription *s, __u64 now, __u64 *lapse_ns)
{
	__u64 since = s->renewed_ns, bit;

	s->renewed_ns = now;
	*lapse_ns = now - since;
	if (s->slot < 0)
		return true;

	bit = 1ull << s->slot;
	if (now > s->lease_ns) {
		*lapse_ns = now - s->lease_ns;
		if (!take(s, s->slot, s->guarded->owner))
			return false;
		since = now;
	}
	if (!extend_lease(s, now))
		return false;
	/* A program that saw the old lease may clear the bit after the new one was set. */
	if (__atomic_fetch_or(&s->watch->active, bit, __ATOMIC_SEQ_CST) & bit && since != now)
		*lapse_ns = 0;
	read_counters(s);
	return true;
}

static void raise_to(__u64 *value, __u64 least)
{
	if (*value < least)
		*value = least;
}

void subscription_lost(struct subscription *s)
{
	__u64 seen = counters_received(&s->now) + counters_drops(&s->now) + s->now.not_matched;

	/* The counters are from our last look at them: more has happened since. */
	raise_to(&s->now.acks, s->now.received[BBR_EV_ACK] + s->now.drops[BBR_EV_ACK]);
	raise_to(&s->now.seq, s->next_seq);
	raise_to(&s->now.seq, seen);
	s->now.drops_unknown = s->now.seq - seen;
	counters_add(&s->before, &s->now);
	memset(&s->now, 0, sizeof(s->now));
	s->slot = -1;
}

bool subscription_is_over(const struct subscription *s)
{
	int fd AUTO_CLOSE = bpf_prog_get_fd_by_id(s->inst.prog_id);

	return fd < 0 && errno == ENOENT;
}

void subscription_note(struct subscription *s, const struct bbr_event *e, bool is_wanted)
{
	if (is_wanted)
		s->now.received[e->kind & (BBR_EV_MAX - 1)]++;
	else
		s->now.not_matched++;
	if (s->next_seq <= e->seq)
		s->next_seq = e->seq + 1;
}

void subscription_counters(const struct subscription *s, struct counters *sum)
{
	struct counters c = {};

	counters_add(&c, &s->before);
	counters_add(&c, &s->now);
	/* We may have read more than the program had counted at the last renewal. */
	c.seq -= c.not_matched < c.seq ? c.not_matched : c.seq;
	counters_add(sum, &c);
}

void subscription_stop(struct subscription *s, int ring_fd)
{
	if (s->slot < 0)
		return;
	/* The new number keeps others away from a slot whose lease has run out, or is about to. */
	if (!take(s, s->slot, s->guarded->owner))
		return;
	slot_mute(s->watch, s->slot);
	ring_put(s, s->slot, ring_fd);
}

void subscription_close(struct subscription *s, struct counters *total)
{
	if (s->slot >= 0 && is_ours(s)) {
		read_counters(s);
		slot_release(s->watch, s->slot, s->rings_fd);
	} else if (s->slot >= 0) {
		subscription_lost(s);
	}
	subscription_counters(s, total);
	memset(s->guarded, 0, sizeof(*s->guarded));
	instance_profile_names_unmap(s->origin.profiles);
	instance_watch_unmap(s->watch);
	close(s->rings_fd);
}

/* ---- the guardian */

#define TABLE_SIZE (GUARDED_MAX * sizeof(struct guarded))

/* Opens the maps by id, only now: if they are gone, there is nothing to give back. */
static void release(const struct guarded *g)
{
	struct instance inst = { .watch_id = g->watch_id };
	int rings_fd AUTO_CLOSE = instance_map(g->rings_id);
	struct bbr_watch *watch = rings_fd < 0 ? NULL : instance_watch_map(&inst);

	for (int slot = 0; watch && slot < BBR_SUBSCRIBERS; slot++) {
		struct bbr_subscriber *sub = &watch->sub[slot];
		__u64 owner = __atomic_load_n(&sub->owner, __ATOMIC_ACQUIRE);

		if (!owner || (owner != g->owner && owner != g->next_owner))
			continue;
		/* Its lease may have run out: take it, as another monitor would. */
		if (slot_take(sub, owner, slot_new_owner()))
			slot_release(watch, slot, rings_fd);
	}
	if (watch)
		instance_watch_unmap(watch);
}

static void guard(const struct guarded *table, int pipe)
{
	char byte;

	/* A signal meant for the monitor, from its terminal or when its job ends, must not end both. */
	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	privileges_narrow(CAP(SYS_ADMIN)); /* to open the maps */
	prctl(PR_SET_NAME, "bbrmon-guard");
	/* Keep no file of the parent open: a reader of its output waits until all are closed. */
	if (pipe != 0)
		dup2(pipe, 0);
	close_range(1, ~0u, 0);

	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < GUARDED_MAX; i++)
		if (table[i].owner || table[i].next_owner)
			release(&table[i]);
}

int guardian_start(struct guardian *g)
{
	int fds[2] = { -1, -1 }, error = 0;

	g->table =
		mmap(NULL, TABLE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (g->table == MAP_FAILED)
		return -errno;
	g->pid = pipe2(fds, O_CLOEXEC) ? -1 : fork();
	if (g->pid < 0)
		error = -errno;
	if (!g->pid) {
		close(fds[1]);
		guard(g->table, fds[0]);
		_exit(0);
	}
	close(fds[0]);
	g->pipe = fds[1];
	if (error) {
		close(g->pipe);
		munmap(g->table, TABLE_SIZE);
	}
	return error;
}

void guardian_end(struct guardian *g)
{
	close(g->pipe);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(g->table, TABLE_SIZE);
}
