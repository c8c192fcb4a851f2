/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches instances and the kernel's own bbr, all of them or those named, including ones that are
 * loaded later, and hands on each event. One ring buffer serves all of them.
 */
#ifndef TOOLS_MONITOR_H
#define TOOLS_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>
#include <sys/types.h>

#include "bpf_bbr/events.h"
#include "event/event.h"
#include "filter/filter.h"
#include "kernel/instance.h"

struct ring_buffer;

/*
 * A child process that gives back our slots when we cannot: after SIGKILL, or a crash. Without it
 * an instance would keep our ring buffer, megabytes of kernel memory, until the next monitor comes.
 */
#define GUARDED_MAX 64 /* instances watched at once */

/*
 * A slot of ours, in memory shared with the guardian. Its owner is one of two numbers, because we
 * write a new number here before the slot gets it. All 0: unused.
 */
struct guarded {
	__u32 watch_id, rings_id; /* maps of the instance */
	__u64 owner, next_owner;
};

struct guardian {
	pid_t pid;
	int pipe; /* the kernel closes it when we end, however that happens */
	struct guarded *table; /* GUARDED_MAX */
};

/*
 * Call this before there is anything to guard: the child must not inherit a map or ring of ours,
 * which it would keep alive. Returns 0 or -errno.
 */
int guardian_start(struct guardian *g);

/* Ends and reaps the child. */
void guardian_end(struct guardian *g);

/* A subscription of ours: a slot of an instance's struct bbr_watch, our ring in it, the lease. */
struct subscription {
	struct instance inst;
	struct origin origin;
	struct bbr_watch *watch;
	int rings_fd;
	struct guarded *guarded;

	int slot; /* -1: none */
	__u64 lease_ns; /* as last written */
	__u64 renewed_ns;
	__u64 since_ns; /* no event of this slot is older */
	__u64 next_seq; /* after the highest seen */
	struct counters now; /* of this slot */
	struct counters before; /* of slots that were taken from us */
};

/*
 * Opens the maps of an instance that these tools support; its events will have the tag. Returns 0
 * or -errno. Until it has a slot, renewing counts the time as not watched.
 */
int subscription_open(struct subscription *s, const struct instance *inst, struct guarded *guarded,
		      __u32 tag);

/* Takes a slot and prepares it. Returns 0; -EBUSY if all slots are taken; or another -errno. */
int subscription_enter(struct subscription *s, const struct watch_request *request, int ring_fd);

/* Lets events into the ring, if there is a slot. */
void subscription_begin(struct subscription *s);

/*
 * Extends the lease and reads the counters. *lapse_ns is for how long nothing was watched since the
 * last time. False: the slot was taken from us. The caller then reads what is left of it in the
 * ring and calls subscription_lost().
 */
bool subscription_renew(struct subscription *s, __u64 now, __u64 *lapse_ns);
void subscription_lost(struct subscription *s);

/* True if every connection of the instance has ended, and its programs are free. */
bool subscription_is_over(const struct subscription *s);

/* Notes an event from the ring, and whether it is one that was asked for. */
void subscription_note(struct subscription *s, const struct bbr_event *e, bool is_wanted);

/* Adds the counters so far to *sum; seq is as of the last renewal. */
void subscription_counters(const struct subscription *s, struct counters *sum);

/*
 * The end, in two steps. When subscription_stop() returns, no program writes to our ring any more.
 * After the caller has read the ring to its end, subscription_close() adds the final counters to
 * *total and releases everything.
 */
void subscription_stop(struct subscription *s, int ring_fd);
void subscription_close(struct subscription *s, struct counters *total);

/*
 * Who has a slot of struct bbr_watch: monitors take and give back slots. They know nothing of each
 * other, and may be stopped or killed between any two instructions.
 *
 * The owner's number is the lock: it changes only by compare-and-swap. It holds the time at which
 * it was made, so that a new owner is left alone while its lease is not set yet. A monitor whose
 * own lease has run out also changes its number before it touches the slot again: from then on
 * nobody can take the slot over for the time of a lease.
 */
#define LEASE_NS 3000000000ull

/*
 * The BPF program that reports the kernel's own bbr from outside (bpf/probe.bpf.c). It has those
 * maps of an instance that a subscription needs, and lives no longer than this process.
 */
#define PROBE_PROGRAMS 3

struct bpf_object;

struct probe {
	struct bpf_object *obj; /* NULL: not attached */
	int links[PROBE_PROGRAMS];
	bool built_in; /* is the kernel's bbr built in, not a module? */
	bool refused; /* this kernel cannot attach it; that was reported */
};

void probe_init(struct probe *p);

/* True if the kernel has its own bbr now, built in or as a loaded module. */
bool probe_is_possible(const struct probe *p);

/*
 * Attaches the program; subscribe to *inst then. Returns 0; -EPROTONOSUPPORT if it is not a known
 * BBR; or another -errno after printing, with -v, what failed.
 */
int probe_attach(struct probe *p, struct instance *inst);

/* Call this after the subscription has ended. */
void probe_detach(struct probe *p);

struct monitor {
	struct watch_config config;
	struct guardian guardian;
	int ring_fd;
	struct ring_buffer *ring;
	int batch; /* events that may still be read in this call */
	int error; /* exit status for a record that we cannot read, or 0 */

	struct probe probe; /* of the kernel's own bbr, if it is watched and exists */
	struct subscription subs[GUARDED_MAX];
	int n_subs;
	__u32 last_tag;
	__u32 warned_id; /* highest map id of an instance that we reported as not watched */
	bool said_waiting;

	__u64 began_ns; /* no event is older */
	__u64 ticked_ns, scanned_ns;
	__u64 rest_until_ns; /* after reading everything, so that some events gather */
	/* Totals. Those of a running subscription are added when it ends. */
	struct watch_totals total;
};

/* Returns an exit status; has printed what failed unless it is EXIT_DONE. */
int monitor_open(struct monitor *m, const struct watch_config *config);

/*
 * Waits for events, hands them on, keeps the leases alive and looks for new instances. Waits at
 * most for wait_ms, and not longer than half a second. *idle: there is nothing more to read.
 * Returns an exit status.
 */
int monitor_poll(struct monitor *m, int wait_ms, bool *idle);

/*
 * How long monitor_poll() still rests before it reads, so that reading is worth it; 0: not at all.
 */
int monitor_rest_ms(const struct monitor *m);

/*
 * Takes a record from the ring, as libbpf hands it over; ctx is the monitor. Returns 0; -EAGAIN for
 * no more now; -EPROTO if the record cannot be read: it has printed why, and set m->error.
 */
int monitor_take_record(void *ctx, void *record, size_t size);

/* The totals so far; what the BPF program counts may be half a second old. */
struct watch_totals monitor_totals(const struct monitor *m);

/* A descriptor that is readable when monitor_poll() has something to read. */
int monitor_fd(const struct monitor *m);

/* Ends all subscriptions and hands on what is in the ring. Then `total` is final and exact. */
void monitor_stop(struct monitor *m);
void monitor_close(struct monitor *m);

#endif
