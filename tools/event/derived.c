// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "kernel/clock.h"
#include "derived.h"
#include "event.h"

bool event_has_state(const struct bbr_event *e)
{
	return e->pacing_gain || e->cwnd_gain;
}

__u64 event_bps(const struct bbr_event *e, __u32 bw)
{
	/* bw * mss * 8 * 1e6 >> 24, with the powers of two cancelled so that 64 bits hold it. */
	return (__u64)bw * (e->mss & 0xffff) * 15625 >> 15;
}

double event_bytes_per_s(const struct bbr_event *e, __u32 bw)
{
	return bw * (1e6 * e->mss / (1 << 24));
}

bool event_has_rate(const struct bbr_event *e)
{
	return e->flags & BBR_F_SAMPLE && e->rs_delivered >= 0 && e->rs_interval_us > 0;
}

__u64 event_delivery_bps(const struct bbr_event *e)
{
	double bps = (double)e->rs_delivered * e->mss * 8e6 / e->rs_interval_us;

	if (bps >= 0x1p64) /* absurd, but the conversion would be undefined */
		return ~0ull;
	return bps;
}

double event_pacing_bps(const struct bbr_event *e)
{
	return e->pacing_rate == EVENT_UNLIMITED ? NAN : e->pacing_rate * 8.0;
}

double event_delivered_bps(const struct bbr_event *e, __u32 since, __u64 since_ns)
{
	return (__u32)(e->delivered - since) * (double)e->mss * 8 * NS_PER_S /
	       (e->time_ns - since_ns);
}

__u32 event_bdp(const struct bbr_event *e)
{
	if (e->min_rtt_us == BBR_RTT_NONE)
		return 0;
	return (__u64)e->bw * e->min_rtt_us >> 24;
}

__u64 event_bdp_milli(const struct bbr_event *e)
{
	if (e->min_rtt_us == BBR_RTT_NONE)
		return 0;
	/* A double has 53 bits, the product up to 74, of which 24 are cut off. */
	return (double)e->bw * e->min_rtt_us * 1000 / (1 << 24);
}

__u32 event_inflight(const struct bbr_event *e)
{
	if (e->flags & BBR_F_SAMPLE && e->rs_prior_inflight > e->inflight)
		return e->rs_prior_inflight;
	return e->inflight;
}
