// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event as one JSON object. Keys are stable, and a value that was not measured is null.
 */
#include <arpa/inet.h>

#include "event.h"
#include "json_line.h"

static void add_int_if(struct json_line *j, const char *key, bool has, __u64 value)
{
	if (has)
		json_add_int(j, key, value);
	else
		json_add_null(j, key);
}

static void add_flag(struct json_line *j, const char *key, const struct bbr_event *e, int flag)
{
	json_add_bool(j, key, e->flags & flag);
}

static void add_endpoints(struct json_line *j, const struct bbr_event *e)
{
	char addr[EVENT_ADDR_LEN];

	json_add_int(j, "netns", e->netns);
	event_addr(addr, e->laddr);
	json_add_string(j, "local", addr);
	json_add_int(j, "lport", ntohs(e->lport));
	event_addr(addr, e->raddr);
	json_add_string(j, "remote", addr);
	json_add_int(j, "rport", ntohs(e->rport));
	json_add_string(j, "family", e->family == AF_INET ? "inet" : "inet6");
}

static void add_steps(struct json_line *j, const struct bbr_event *e)
{
	json_add_string(j, "from", event_step_name(e, e->from));
	json_add_string(j, "to", event_step_name(e, e->to));
	if (e->kind == BBR_EV_MODE && !(e->flags & BBR_F_KERNEL))
		json_add_string(j, "reason", event_reason_name(e->reason));
	else
		json_add_null(j, "reason");
}

static void add_profile(struct json_line *j, const struct origin *origin, const struct bbr_event *e)
{
	json_add_string(j, "profile", origin_profile(origin, e));
	add_int_if(j, "profile_index", !(e->flags & BBR_F_KERNEL), e->profile);
	add_int_if(j, "params_gen", !(e->flags & BBR_F_KERNEL) && e->kind != BBR_EV_STATE,
		   e->params_gen);
}

static void add_model(struct json_line *j, const struct origin *origin, const struct bbr_event *e)
{
	json_add_string(j, "mode", event_mode_name(e->mode));
	json_add_int(j, "cycle_idx", e->cycle_idx);
	json_add_int(j, "bw_bps", event_bps(e, e->bw));
	json_add_int(j, "max_bw_bps", event_bps(e, e->max_bw));
	json_add_int(j, "full_bw_bps", event_bps(e, e->full_bw));
	json_add_int(j, "lt_bw_bps", event_bps(e, e->lt_bw));
	add_int_if(j, "min_rtt_us", e->min_rtt_us != BBR_RTT_NONE, e->min_rtt_us);
	json_add_gain(j, "pacing_gain", e->pacing_gain);
	json_add_gain(j, "cwnd_gain", e->cwnd_gain);
	json_add_int(j, "rounds", e->rounds);
	add_flag(j, "round_start", e, BBR_F_ROUND_START);
	add_flag(j, "full_bw_reached", e, BBR_F_FULL_BW);
	json_add_int(j, "full_bw_cnt", e->full_bw_cnt);
	json_add_string(j, "policer", event_policer_name(e));
	json_add_int(j, "lt_rtt_cnt", e->lt_rtt_cnt);
	json_add_int(j, "extra_acked", e->extra_acked);
	add_flag(j, "conservation", e, BBR_F_CONSERVATION);
	add_flag(j, "idle_restart", e, BBR_F_IDLE_RESTART);
	json_add_int(j, "prior_cwnd", e->prior_cwnd);
	add_profile(j, origin, e);
}

static void add_sample(struct json_line *j, const struct bbr_event *e)
{
	bool sample = e->flags & BBR_F_SAMPLE;

	add_int_if(j, "rtt_us", e->rtt_us != BBR_RTT_NONE, e->rtt_us);
	add_int_if(j, "delivery_rate_bps", event_has_rate(e),
		   event_has_rate(e) ? event_delivery_bps(e) : 0);
	if (sample)
		add_flag(j, "app_limited", e, BBR_F_APP_LIMITED);
	else
		json_add_null(j, "app_limited");
	add_int_if(j, "losses", sample, e->rs_losses);
	add_int_if(j, "acked", sample, e->rs_acked);
	add_int_if(j, "prior_inflight", sample, e->rs_prior_inflight);
}

static void add_socket(struct json_line *j, const struct bbr_event *e)
{
	json_add_int(j, "srtt_us", e->srtt_us);
	json_add_int(j, "inflight", e->inflight);
	json_add_int(j, "cwnd", e->cwnd);
	json_add_int(j, "ssthresh", e->ssthresh);
	add_int_if(j, "pacing_rate_bps", e->pacing_rate != EVENT_UNLIMITED, e->pacing_rate * 8);
	json_add_string(j, "ca_state", event_ca_name(e->ca_state));
	json_add_int(j, "delivered", e->delivered);
	json_add_int(j, "lost", e->lost);
	json_add_int(j, "mss_bytes", e->mss);
	json_add_int(j, "bytes_sent", e->bytes_sent);
	json_add_int(j, "bytes_acked", e->bytes_acked);
	json_add_int(j, "bytes_retrans", e->bytes_retrans);
}

void event_add_json(struct json_line *j, const struct origin *origin, const struct bbr_event *e)
{
	json_add_int(j, "time_ns", e->time_ns);
	json_add_string(j, "instance", origin->name);
	json_add_string(j, "event", event_kind_name(e->kind));
	/* The state of a socket is not of the stream of a monitor. */
	add_int_if(j, "conn", e->kind != BBR_EV_STATE || e->conn, e->conn);
	add_int_if(j, "seq", e->kind != BBR_EV_STATE, e->seq);
	add_endpoints(j, e);
	if (event_has_steps(e))
		add_steps(j, e);
	add_model(j, origin, e);
	add_sample(j, e);
	add_socket(j, e);
}

void event_print_json(FILE *out, const struct origin *origin, const struct bbr_event *e)
{
	struct json_line line;

	json_begin(&line, out);
	event_add_json(&line, origin, e);
	json_end(&line);
}
