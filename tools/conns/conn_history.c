// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>

#include "conn_table.h"
#include "event/event.h"

/* If two events of a connection are more slots apart, its state between them is unknown. */
#define HOLD_SLOTS 10

static __u8 ca_bit(const struct bbr_event *e)
{
	return 1 << (e->ca_state & 7);
}

static struct sample *slot_of(struct history *h, __u64 n)
{
	return &h->slot[n % HISTORY_SLOTS];
}

/* Fills the slots up to n, which have no event, with the last state unless it is too old. */
static void advance(struct history *h, __u64 n, const struct bbr_event *before)
{
	struct sample held = *slot_of(h, h->last);
	bool hold = n - h->last <= HOLD_SLOTS;

	if (!hold)
		memset(&held, 0, sizeof(held));
	held.modes = hold ? mode_history_bit(before->mode) : 0;
	held.ca_states = hold ? ca_bit(before) : 0;
	held.lost = 0;
	held.inflight = before->inflight;
	if (n - h->last >= HISTORY_SLOTS)
		h->last = n - HISTORY_SLOTS;
	while (h->last < n)
		*slot_of(h, ++h->last) = held;
	slot_of(h, n)->modes = 0; /* the event sets them */
	slot_of(h, n)->ca_states = 0;
	h->has_base &= hold;
	h->rtts = 0;
}

static void note_rtt(struct history *h, struct sample *s, const struct bbr_event *e)
{
	__u32 rtt = e->rtt_us != BBR_RTT_NONE ? e->rtt_us : e->srtt_us;

	if (!h->rtts)
		s->rtt_us = NAN;
	if (!rtt)
		return;
	h->rtts++;
	s->rtt_us = h->rtts == 1 ? rtt : s->rtt_us + (rtt - s->rtt_us) / h->rtts;
}

/* The rate counts from the last event before this slot, so it holds for the slots between, too. */
static void note_rate(struct history *h, __u64 first, const struct bbr_event *e)
{
	float rate = NAN;

	if (h->has_base && e->time_ns > h->base_ns)
		rate = event_delivered_bps(e, h->base_delivered, h->base_ns);
	for (__u64 n = first; n <= h->last; n++)
		slot_of(h, n)->rate = rate;
}

void history_note(struct history *h, const struct bbr_event *before, const struct bbr_event *e)
{
	__u64 n = e->time_ns / SLOT_NS, first;
	struct sample *s;

	/* An older event: a recording may span several boots. */
	if (n < h->last)
		n = h->last;
	first = n;
	if (n > h->last && before) {
		first = n - h->last < HISTORY_SLOTS ? h->last + 1 : n;
		h->base_ns = before->time_ns;
		h->base_delivered = before->delivered;
		h->has_base = true;
		advance(h, n, before);
	} else if (!before) {
		h->last = n;
	}
	s = slot_of(h, n);
	note_rate(h, h->has_base ? first : n, e);
	note_rtt(h, s, e);
	s->bw = event_bps(e, e->bw);
	s->pacing = event_pacing_bps(e);
	s->min_rtt_us = e->min_rtt_us == BBR_RTT_NONE ? NAN : e->min_rtt_us;
	if (!s->modes || s->inflight < event_inflight(e))
		s->inflight = event_inflight(e);
	s->bdp = event_bdp(e) ? event_bdp(e) : NAN;
	s->cwnd = e->cwnd;
	s->modes |= mode_history_bit(e->mode);
	s->ca_states |= ca_bit(e);
	if (before) {
		__u32 lost = s->lost + (e->lost - before->lost);

		s->lost = lost < 0xffff ? lost : 0xffff;
	}
	if (e->kind != BBR_EV_ACK && e->kind != BBR_EV_STATE)
		h->transitions[h->n_transitions++ % TRANSITIONS] = (struct transition){
			.time_ns = e->time_ns,
			.kind = e->kind,
			.from = e->from,
			.to = e->to,
			.reason = e->reason,
			.has_reason = event_has_reason(e),
		};
}

bool history_get(const struct history *h, __u64 first, unsigned int n, struct sample *out)
{
	double sum[SAMPLE_VALUES] = {}, mean;
	unsigned int known[SAMPLE_VALUES] = {};
	__u32 lost = 0;

	memset(out, 0, sizeof(*out));
	out->min_rtt_us = NAN;
	for (__u64 i = first; i < first + n; i++) {
		const struct sample *s = &h->slot[i % HISTORY_SLOTS];

		if (i > h->last || i + HISTORY_SLOTS <= h->last || !s->modes)
			continue;
		for (int v = 0; v < SAMPLE_VALUES; v++) {
			if (isnan(s->value[v]))
				continue;
			sum[v] += s->value[v];
			known[v]++;
		}
		out->min_rtt_us = fminf(out->min_rtt_us, s->min_rtt_us);
		lost += s->lost;
		out->modes |= s->modes;
		out->ca_states |= s->ca_states;
	}
	for (int v = 0; v < SAMPLE_VALUES; v++) {
		mean = known[v] ? sum[v] / known[v] : NAN;
		out->value[v] = &out->value[v] < &out->inflight ? mean : floor(mean + 0.5);
	}
	out->lost = lost < 0xffff ? lost : 0xffff;
	return out->modes;
}
