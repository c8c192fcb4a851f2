// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "kernel/clock.h"
#include "judge.h"

#define NS_PER_US 1000

/* enum tcp_ca_state of linux/tcp.h: Recovery and Loss. */
#define CA_RECOVERY 3

/* A queue: half of the minimum RTT, and more than a timer or a scheduler adds. */
#define QUEUE_RATIO 1.5
#define QUEUE_LEAST_US 2000

/*
 * The receiver's window is full from here on. BBR paces at the rate that the window gave it, and its
 * probes for more are what meets the window, so the data in flight stays a little below it.
 */
#define WINDOW_FULL 0.9

/*
 * A bound on pacing is reached from here on. BBR paces 1 % below its estimate, and fq(8) counts
 * headers of 66 bytes to a segment of 1448.
 */
#define BOUND_REACHED 0.94

bool why_is_queue(double rtt_us, double min_rtt_us)
{
	return min_rtt_us > 0 && rtt_us >= QUEUE_RATIO * min_rtt_us &&
	       rtt_us >= min_rtt_us + QUEUE_LEAST_US;
}

void why_window_begin(struct why_window *w)
{
	memset(w, 0, sizeof(*w));
	w->least_window = ~0u;
}

static bool has_nothing_to_send(const struct why_reading *r)
{
	if (!r->has_socket)
		return r->is_app_limited || !r->inflight;
	/* As tcp_rate_check_app_limited() has it, which also lets less than a segment wait. */
	return r->unsent < r->mss && r->inflight < r->cwnd && !r->no_space;
}

/*
 * The buffer is locked, or cannot grow: nearly all that is in it is in flight. One that grows with
 * the window holds as much again that was not sent.
 */
static bool is_send_buffer_empty(const struct why_reading *r)
{
	return r->has_socket && r->no_space && r->inflight < r->cwnd && r->unsent <= r->unacked / 4;
}

static bool is_receiver_full(const struct why_reading *r)
{
	return r->has_socket && r->unsent &&
	       (r->unacked >= WINDOW_FULL * r->snd_wnd || r->snd_wnd - r->unacked < r->mss);
}

__u64 why_bound(const struct why_reading *r)
{
	return r->socket_bound < r->profile_bound ? r->socket_bound : r->profile_bound;
}

/*
 * A BBR that is bounded also measures the bound as its bandwidth, so this holds while it paces
 * below it, too, to drain what its probe queued.
 */
static bool is_bounded(const struct why_reading *r)
{
	__u64 bound = why_bound(r);

	if (!r->has_socket || bound == WHY_NO_RATE)
		return false;
	if (r->bw)
		return r->bw >= BOUND_REACHED * bound;
	return r->pacing_rate != WHY_NO_RATE && r->pacing_rate >= BOUND_REACHED * bound;
}

/* In slow start a window grows only while more than half of it is in flight (tcp_is_cwnd_limited()). */
static bool is_starting(const struct why_reading *r)
{
	if (r->mode != WHY_MODE_NONE)
		return r->mode == WHY_MODE_STARTUP;
	return r->cwnd < r->ssthresh && r->cwnd < r->cwnd_clamp && 2 * r->inflight >= r->cwnd &&
	       r->ca_state < CA_RECOVERY;
}

/*
 * A congestion control that goes by its window has it full. With TSO a little of it is free while
 * the stack waits until it is worth a burst; the stack says so. BBR version 1 goes by its pacing
 * rate, and is only now and then in that state.
 */
static bool is_window_full(const struct why_reading *r)
{
	return r->inflight >= r->cwnd || (r->reacts_to_losses && r->is_cwnd_limited);
}

enum why_cause why_cause_now(const struct why_reading *r)
{
	bool has_queue = why_is_queue(r->srtt_us, r->min_rtt_us);

	if (r->mode == WHY_MODE_PROBE_RTT && (!r->has_socket || r->unsent))
		return WHY_PROBE_RTT;
	if (has_nothing_to_send(r))
		return WHY_APPLICATION;
	if (is_send_buffer_empty(r))
		return WHY_SEND_BUFFER;
	if (is_receiver_full(r))
		return WHY_RECEIVER;
	if (r->is_policed)
		return WHY_POLICER;
	if (is_bounded(r))
		return WHY_PACING;
	if (is_starting(r))
		return WHY_STARTUP;
	if (r->ca_state >= CA_RECOVERY)
		return WHY_LOSSES;
	if (has_queue)
		return WHY_QUEUE;
	if (is_window_full(r))
		return WHY_CWND;
	return r->has_socket ? WHY_PATH : WHY_UNKNOWN;
}

/* Microseconds by which a count of the kernel grew, as nanoseconds within [0, most]. */
static double grown_ns(__u64 from, __u64 to, double most)
{
	double ns = to > from ? (double)(to - from) * NS_PER_US : 0;

	return ns < most ? ns : most;
}

/* Divides a stretch of time: what the kernel counted, and the rest by the states at both ends. */
static void add_time(struct why_window *w, const struct why_reading *from,
		     const struct why_reading *to)
{
	double time = to->time_ns - from->time_ns, busy = time, rwnd = 0, sndbuf = 0, rest;
	enum why_cause before = why_cause_now(from), after = why_cause_now(to);

	if (from->has_socket && to->has_socket) {
		busy = grown_ns(from->busy_us, to->busy_us, time);
		rwnd = grown_ns(from->rwnd_us, to->rwnd_us, busy);
		sndbuf = grown_ns(from->sndbuf_us, to->sndbuf_us, busy - rwnd);
		w->busy_ns += busy;
		w->rwnd_ns += rwnd;
		w->sndbuf_ns += sndbuf;
	} else if (!from->inflight) {
		busy = 0; /* nothing was sent until the next event */
	}
	rest = busy - rwnd - sndbuf;
	w->idle_ns += time - busy;
	w->ns[WHY_APPLICATION] += time - busy;
	w->ns[WHY_RECEIVER] += rwnd;
	w->ns[WHY_SEND_BUFFER] += sndbuf;
	w->ns[before] += rest / 2;
	w->ns[after] += rest / 2;
}

static void note_state(struct why_window *w, const struct why_reading *r)
{
	if (r->srtt_us) {
		w->rtt_sum += r->srtt_us;
		w->rtts++;
	}
	if (r->min_rtt_us && (!w->min_rtt_us || r->min_rtt_us < w->min_rtt_us))
		w->min_rtt_us = r->min_rtt_us;
	if (r->has_socket && r->snd_wnd < w->least_window)
		w->least_window = r->snd_wnd;
	if (r->has_socket && r->snd_wnd > w->most_window)
		w->most_window = r->snd_wnd;
	if (r->bw)
		w->bw = r->bw;
	if (r->is_policed)
		w->policer_rate = r->policer_rate;
	if (r->inflight > w->most_inflight)
		w->most_inflight = r->inflight;
}

void why_window_add(struct why_window *w, const struct why_reading *r)
{
	if (!w->readings) {
		w->first = *r;
	} else {
		if (r->time_ns <= w->last.time_ns)
			return;
		add_time(w, &w->last, r);
		if (w->last.is_policed && r->is_policed) {
			w->policed_lost += r->lost - w->last.lost;
			w->policed_delivered += r->delivered - w->last.delivered;
		}
	}
	note_state(w, r);
	w->last = *r;
	w->readings++;
}

double why_window_ns(const struct why_window *w)
{
	return w->last.time_ns - w->first.time_ns;
}

double why_window_rate(const struct why_window *w)
{
	double ns = why_window_ns(w);

	return ns > 0 ? (w->last.bytes_acked - w->first.bytes_acked) * (double)NS_PER_S / ns : 0;
}

double why_window_loss(const struct why_window *w)
{
	double lost = w->last.lost - w->first.lost;
	double delivered = w->last.delivered - w->first.delivered;

	return lost + delivered > 0 ? lost / (lost + delivered) : 0;
}

double why_window_rtt(const struct why_window *w)
{
	return w->rtts ? w->rtt_sum / w->rtts : 0;
}

bool why_window_is_idle(const struct why_window *w)
{
	return w->first.bytes_sent == w->last.bytes_sent && !w->last.unsent && !w->last.unacked &&
	       !w->last.inflight;
}
