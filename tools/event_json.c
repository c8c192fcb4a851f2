// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event as one JSON object. Keys are stable, and a value that was not measured is null.
 */
#include <arpa/inet.h>

#include <json-c/json.h>

#include "event.h"

/* Keys are literals and each comes once: json-c need neither copy nor look for them. */
static void add(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add_ex(o, key, value,
				  JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_KEY_IS_CONSTANT);
}

static void add_int(struct json_object *o, const char *key, __u64 value)
{
	add(o, key, json_object_new_uint64(value));
}

static void add_int_if(struct json_object *o, const char *key, bool has, __u64 value)
{
	add(o, key, has ? json_object_new_uint64(value) : NULL);
}

static void add_string(struct json_object *o, const char *key, const char *value)
{
	add(o, key, json_object_new_string(value));
}

static void add_flag(struct json_object *o, const char *key, const struct bbr_event *e, int flag)
{
	add(o, key, json_object_new_boolean(!!(e->flags & flag)));
}

/* A multiple of 1/256 has few enough digits to be printed exactly. */
static void add_gain(struct json_object *o, const char *key, __u16 gain)
{
	add(o, key, json_object_new_double(gain / 256.0));
}

static void add_endpoints(struct json_object *o, const struct bbr_event *e)
{
	char addr[EVENT_ADDR_LEN];

	add_int(o, "netns", e->netns);
	event_addr(addr, e->laddr);
	add_string(o, "local", addr);
	add_int(o, "lport", ntohs(e->lport));
	event_addr(addr, e->raddr);
	add_string(o, "remote", addr);
	add_int(o, "rport", ntohs(e->rport));
	add_string(o, "family", e->family == AF_INET ? "inet" : "inet6");
}

static void add_steps(struct json_object *o, const struct bbr_event *e)
{
	add_string(o, "from", event_step_name(e, e->from));
	add_string(o, "to", event_step_name(e, e->to));
	if (e->kind == BBR_EV_MODE && !(e->flags & BBR_F_KERNEL))
		add_string(o, "reason", event_reason_name(e->reason));
	else
		add(o, "reason", NULL);
}

static void add_profile(struct json_object *o, const struct origin *origin,
			const struct bbr_event *e)
{
	const char *name = origin_profile(origin, e);

	add(o, "profile", name ? json_object_new_string(name) : NULL);
	add_int_if(o, "profile_index", !(e->flags & BBR_F_KERNEL), e->profile);
	add_int_if(o, "params_gen", !(e->flags & BBR_F_KERNEL) && e->kind != BBR_EV_STATE,
		   e->params_gen);
}

static void add_model(struct json_object *o, const struct origin *origin, const struct bbr_event *e)
{
	add_string(o, "mode", event_mode_name(e->mode));
	add_int(o, "cycle_idx", e->cycle_idx);
	add_int(o, "bw_bps", event_bps(e, e->bw));
	add_int(o, "max_bw_bps", event_bps(e, e->max_bw));
	add_int(o, "full_bw_bps", event_bps(e, e->full_bw));
	add_int(o, "lt_bw_bps", event_bps(e, e->lt_bw));
	add_int_if(o, "min_rtt_us", e->min_rtt_us != BBR_RTT_NONE, e->min_rtt_us);
	add_gain(o, "pacing_gain", e->pacing_gain);
	add_gain(o, "cwnd_gain", e->cwnd_gain);
	add_int(o, "rounds", e->rounds);
	add_flag(o, "round_start", e, BBR_F_ROUND_START);
	add_flag(o, "full_bw_reached", e, BBR_F_FULL_BW);
	add_int(o, "full_bw_cnt", e->full_bw_cnt);
	add_string(o, "policer", event_policer_name(e));
	add_int(o, "lt_rtt_cnt", e->lt_rtt_cnt);
	add_int(o, "extra_acked", e->extra_acked);
	add_flag(o, "conservation", e, BBR_F_CONSERVATION);
	add_flag(o, "idle_restart", e, BBR_F_IDLE_RESTART);
	add_int(o, "prior_cwnd", e->prior_cwnd);
	add_profile(o, origin, e);
}

static void add_sample(struct json_object *o, const struct bbr_event *e)
{
	bool sample = e->flags & BBR_F_SAMPLE;

	add_int_if(o, "rtt_us", e->rtt_us != BBR_RTT_NONE, e->rtt_us);
	add_int_if(o, "delivery_rate_bps", event_has_rate(e),
		   event_has_rate(e) ? event_delivery_bps(e) : 0);
	if (sample)
		add_flag(o, "app_limited", e, BBR_F_APP_LIMITED);
	else
		add(o, "app_limited", NULL);
	add_int_if(o, "losses", sample, e->rs_losses);
	add_int_if(o, "acked", sample, e->rs_acked);
	add_int_if(o, "prior_inflight", sample, e->rs_prior_inflight);
}

static void add_socket(struct json_object *o, const struct bbr_event *e)
{
	add_int(o, "srtt_us", e->srtt_us);
	add_int(o, "inflight", e->inflight);
	add_int(o, "cwnd", e->cwnd);
	add_int(o, "ssthresh", e->ssthresh);
	add_int_if(o, "pacing_rate_bps", e->pacing_rate != EVENT_UNLIMITED, e->pacing_rate * 8);
	add_string(o, "ca_state", event_ca_name(e->ca_state));
	add_int(o, "delivered", e->delivered);
	add_int(o, "lost", e->lost);
	add_int(o, "mss_bytes", e->mss);
	add_int(o, "bytes_sent", e->bytes_sent);
	add_int(o, "bytes_acked", e->bytes_acked);
	add_int(o, "bytes_retrans", e->bytes_retrans);
}

struct json_object *event_object(const struct origin *origin, const struct bbr_event *e)
{
	struct json_object *o = json_object_new_object();

	add_int(o, "time_ns", e->time_ns);
	add_string(o, "instance", origin->name);
	add_string(o, "event", event_kind_name(e->kind));
	/* The state of a socket is not of the stream of a monitor. */
	add_int_if(o, "conn", e->kind != BBR_EV_STATE || e->conn, e->conn);
	add_int_if(o, "seq", e->kind != BBR_EV_STATE, e->seq);
	add_endpoints(o, e);
	if (event_has_steps(e))
		add_steps(o, e);
	add_model(o, origin, e);
	add_sample(o, e);
	add_socket(o, e);
	return o;
}

void json_print_line(FILE *out, struct json_object *o)
{
	size_t len;
	const char *line = json_object_to_json_string_length(o, JSON_C_TO_STRING_PLAIN, &len);

	fwrite(line, 1, len, out);
	fputc('\n', out);
	json_object_put(o);
}

void event_print_json(FILE *out, const struct origin *origin, const struct bbr_event *e)
{
	json_print_line(out, event_object(origin, e));
}
