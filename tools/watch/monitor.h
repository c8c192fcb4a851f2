/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches instances and the kernel's own bbr, all of them or those named, including ones that are
 * loaded later, and hands on each event. One ring buffer serves all of them.
 */
#ifndef TOOLS_MONITOR_H
#define TOOLS_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "event/event.h"
#include "filter/filter.h"
#include "kernel/instance.h"
#include "subscription.h"

struct ring_buffer;

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
