// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include <arpa/inet.h>

#include "event.h"

#define NAME(names, i) ((i) < sizeof(names) / sizeof(names[0]) ? names[i] : "unknown")

enum event_error event_check(const void *record, size_t size)
{
	const struct bbr_event *e = record;

	/* The head is the same in each major, or nobody could tell them apart. */
	if (size < offsetof(struct bbr_event, kind))
		return EVENT_SHORT;
	if (e->major != BBR_ABI_MAJOR)
		return EVENT_OTHER_MAJOR;
	if (size < sizeof(*e) || e->size < sizeof(*e) || e->size > size)
		return EVENT_SHORT;
	return EVENT_OK;
}

const char *event_kind_name(unsigned int kind)
{
	static const char *const names[BBR_EV_KINDS] = {
		[BBR_EV_START] = "start",   [BBR_EV_END] = "end",	    [BBR_EV_ACK] = "ack",
		[BBR_EV_MODE] = "mode",	    [BBR_EV_RECOVERY] = "recovery", [BBR_EV_RTO] = "rto",
		[BBR_EV_PARAMS] = "params",
	};

	return kind == BBR_EV_STATE ? "state" : NAME(names, kind);
}

const char *event_mode_name(unsigned int mode)
{
	static const char *const names[BBR_MODES] = {
		[BBR_STARTUP] = "STARTUP",
		[BBR_DRAIN] = "DRAIN",
		[BBR_PROBE_BW] = "PROBE_BW",
		[BBR_PROBE_RTT] = "PROBE_RTT",
	};

	return NAME(names, mode);
}

const char *event_reason_name(unsigned int reason)
{
	static const char *const names[BBR_REASONS] = {
		[BBR_R_LT_BW_EXPIRED] = "lt_bw_expired",
		[BBR_R_FULL_BW] = "full_bw",
		[BBR_R_DRAINED] = "drained",
		[BBR_R_MIN_RTT_EXPIRED] = "min_rtt_expired",
		[BBR_R_PROBE_RTT_DONE] = "probe_rtt_done",
	};

	return NAME(names, reason);
}

const char *event_ca_name(unsigned int ca_state)
{
	/* enum tcp_ca_state of linux/tcp.h */
	static const char *const names[] = { "open", "disorder", "cwr", "recovery", "loss" };

	return NAME(names, ca_state);
}

const char *event_policer_name(const struct bbr_event *e)
{
	if (e->flags & BBR_F_LT_USE_BW)
		return "detected";
	return e->flags & BBR_F_LT_SAMPLING ? "sampling" : "off";
}

bool event_has_steps(const struct bbr_event *e)
{
	return e->kind == BBR_EV_MODE || e->kind == BBR_EV_RECOVERY || e->kind == BBR_EV_RTO;
}

const char *event_step_name(const struct bbr_event *e, unsigned int state)
{
	return e->kind == BBR_EV_MODE ? event_mode_name(state) : event_ca_name(state);
}

void event_addr(char buf[EVENT_ADDR_LEN], const __u32 addr[4])
{
	if (!addr[0] && !addr[1] && addr[2] == htonl(0xffff))
		inet_ntop(AF_INET, &addr[3], buf, EVENT_ADDR_LEN);
	else
		inet_ntop(AF_INET6, addr, buf, EVENT_ADDR_LEN);
}

bool event_has_state(const struct bbr_event *e)
{
	return e->pacing_gain || e->cwnd_gain;
}

__u64 event_bps(const struct bbr_event *e, __u32 bw)
{
	/* bw * mss * 8 * 1e6 >> 24, with the powers of two cancelled so that 64 bits hold it. */
	return (__u64)bw * (e->mss & 0xffff) * 15625 >> 15;
}

bool event_has_rate(const struct bbr_event *e)
{
	return e->flags & BBR_F_SAMPLE && e->rs_delivered >= 0 && e->rs_interval_us > 0;
}

__u64 event_delivery_bps(const struct bbr_event *e)
{
	double bps = (double)e->rs_delivered * e->mss * 8e6 / e->rs_interval_us;

	if (bps >= 0x1p64) /* not of this world, but C does not say what it would become */
		return ~0ull;
	return bps;
}
