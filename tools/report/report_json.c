// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data of a report's page. Times are microseconds since the recording's first event. Series are
 * arrays of differences, the first to 0, and null where there is no value: that is short.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include <json-c/json.h>

#include "kernel/clock.h"
#include "event/event.h"
#include "flow_series.h"
#include "report.h"

#define NS_PER_US 1000

static void add_number(struct json_object *o, const char *key, __u64 value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static void add_number_if(struct json_object *o, const char *key, bool has, __u64 value)
{
	json_object_object_add(o, key, has ? json_object_new_uint64(value) : NULL);
}

static void add_double_if(struct json_object *o, const char *key, bool has, double value)
{
	json_object_object_add(o, key, has ? json_object_new_double(value) : NULL);
}

static void add_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

static void add_flag(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

/* In a <script> a "<" could end it, or begin what changes its end. It occurs in strings only. */
static void write_object(FILE *out, struct json_object *o)
{
	for (const char *c = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN); *c; c++) {
		if (*c == '<')
			fputs("\\u003c", out);
		else
			fputc(*c, out);
	}
	json_object_put(o);
}

static void add_intervals(struct json_object *o, const char *key, const __u64 *values, __u64 unit)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < RATE_INTERVALS; i++)
		json_object_array_add(list, json_object_new_uint64(values[i] / unit));
	json_object_object_add(o, key, list);
}

static void add_missing(struct json_object *o, const struct report *r)
{
	add_intervals(o, "drops", r->shares.drops, 1);
	add_intervals(o, "unwatched_us", r->shares.unwatched_ns, NS_PER_US);
	add_number(o, "drops_total", counters_drops(&r->totals.counters));
	add_number(o, "watched_ms", r->totals.watched_ns / NS_PER_MS);
	add_number(o, "unwatched_ms", r->totals.unwatched_ns / NS_PER_MS);
}

/* Did one of the flows before this one have the same algorithm? */
static bool is_known(const struct report *r, unsigned int flow)
{
	for (unsigned int i = 0; i < flow; i++)
		if (r->shown[i]->algorithm == r->shown[flow]->algorithm)
			return true;
	return false;
}

static bool has_text(struct json_object *list, const char *text)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(list, i)), text))
			return true;
	return false;
}

/* Of all algorithms that there are, each once. */
static void add_mode_names(struct json_object *o, const struct report *r)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < r->n_shown; i++) {
		const struct algorithm *a = r->shown[i]->algorithm;

		for (int mode = 0; mode < a->n_modes; mode++)
			if (!has_text(list, a->modes[mode].name))
				json_object_array_add(list,
						      json_object_new_string(a->modes[mode].name));
	}
	json_object_object_add(o, "modes", list);
}

static void write_head(FILE *out, const struct report *r)
{
	struct json_object *o = json_object_new_object();
	double jain = flows_jain(&r->flows);

	add_text(o, "file", r->file);
	add_number(o, "start_ms", r->flows.start_ns / NS_PER_MS);
	add_number(o, "duration_us", (r->flows.end_ns - r->flows.start_ns) / NS_PER_US);
	add_number(o, "points", r->points);
	add_number(o, "flows_total", r->flows.n);
	add_number(o, "flows_without_state", r->flows.n_all - r->flows.n);
	add_number(o, "flows_sending", flows_sending(&r->flows));
	add_double_if(o, "jain", jain >= 0, jain);
	add_mode_names(o, r);
	add_number(o, "interval_ns", r->shares.interval_ns);
	add_missing(o, r);
	write_object(out, o);
}

static const char *const lane_names[LANES] = {
	[LANE_RATE] = "rate",	[LANE_RTT] = "rtt",	  [LANE_INFLIGHT] = "inflight",
	[LANE_STATE] = "state", [LANE_LOSSES] = "losses",
};

/* As the page's scripts know them. */
static const char *const look_names[] = {
	[LOOK_STEP] = "step",
	[LOOK_LINE] = "line",
	[LOOK_POINTS] = "points",
	[LOOK_STATES] = "states",
};

static const char *const colour_names[COLOURS] = {
	[COLOUR_BLUE] = "blue", [COLOUR_RED] = "red",	    [COLOUR_GREEN] = "green",
	[COLOUR_PINK] = "pink", [COLOUR_YELLOW] = "yellow", [COLOUR_SKY] = "sky",
	[COLOUR_GREY] = "grey", [COLOUR_PALE] = "pale",
};

static void add_states(struct json_object *o, const struct curves *c, unsigned int curve)
{
	struct json_object *names = json_object_new_array(), *colours = json_object_new_array();

	for (unsigned int i = 0; i < c->curve[curve].n_states; i++) {
		json_object_array_add(names, json_object_new_string(curve_state_name(c, curve, i)));
		json_object_array_add(
			colours,
			json_object_new_string(colour_names[curve_state_colour(c, curve, i)]));
	}
	json_object_object_add(o, "names", names);
	json_object_object_add(o, "colours", colours);
}

static struct json_object *curve_of(const struct curves *c, unsigned int curve)
{
	const struct curve *of = &c->curve[curve];
	struct json_object *o = json_object_new_object();

	add_text(o, "lane", lane_names[of->lane]);
	add_text(o, "values", of->key);
	add_text(o, "name", of->name);
	add_text(o, "look", look_names[of->look]);
	if (of->look == LOOK_STATES)
		add_states(o, c, curve);
	else
		add_text(o, "colour", colour_names[of->colour]);
	add_number(o, "divisor", of->divisor ? of->divisor : 1);
	add_flag(o, "is_bytes", of->is_bytes);
	add_flag(o, "may_be_far_off", of->may_be_far_off);
	add_text(o, "split_by", of->split_by);
	add_text(o, "split_name", of->split_name);
	return o;
}

/* What is drawn of the flows of an algorithm, in which lane. */
static void write_curves(FILE *out, const struct curves *c)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int curve = 0; curve < c->n; curve++)
		if (c->curve[curve].look != LOOK_NONE)
			json_object_array_add(list, curve_of(c, curve));
	write_object(out, list);
}

static void write_algorithms(FILE *out, const struct report *r)
{
	for (unsigned int i = 0; i < r->n_shown; i++) {
		if (is_known(r, i))
			continue;
		fprintf(out, "%s\"%s\":", i ? ",\n" : "", r->shown[i]->algorithm->name);
		write_curves(out, &r->shown[i]->series->curves);
	}
}

static void add_endpoint(struct json_object *o, const char *address_key, const __u32 address[4],
			 const char *port_key, __u16 port)
{
	char addr[EVENT_ADDR_LEN];

	event_addr(addr, address);
	add_text(o, address_key, addr);
	add_number(o, port_key, ntohs(port));
}

static void add_identity(struct json_object *o, const struct flow *flow)
{
	add_number(o, "flow", flow->number + 1);
	add_text(o, "instance", flow->instance);
	add_text(o, "algorithm", flow->algorithm->name);
	add_text(o, "profile", *flow->profile ? flow->profile : NULL);
	add_flag(o, "kernel", flow->is_kernel);
	add_number(o, "conn", flow->first.conn);
	add_number(o, "netns", flow->first.netns);
	add_endpoint(o, "local", flow->first.laddr, "lport", flow->first.lport);
	add_endpoint(o, "remote", flow->first.raddr, "rport", flow->first.rport);
}

static void add_rtt(struct json_object *o, const struct flow *flow)
{
	static const struct {
		const char *key;
		double percent;
	} ranks[] = { { "rtt_median_us", 50 }, { "rtt_p95_us", 95 }, { "rtt_p99_us", 99 } };

	for (int i = 0; i < 3; i++) {
		bool has = flow->rtt_us.n;

		add_number_if(o, ranks[i].key, has,
			      has ? percentiles_get(&flow->rtt_us, ranks[i].percent) : 0);
	}
	add_number_if(o, "min_rtt_us", flow->min_rtt_us != BBR_RTT_NONE, flow->min_rtt_us);
}

static void add_modes(struct json_object *o, const struct flow *flow)
{
	struct json_object *modes = json_object_new_object();

	for (int i = 0; i < flow->algorithm->n_modes; i++)
		add_number(modes, flow->algorithm->modes[i].name, flow->mode_ns[i] / NS_PER_US);
	json_object_object_add(o, "mode_us", modes);
}

static struct json_object *totals_of(const struct report *r, const struct flow *flow)
{
	struct json_object *o = json_object_new_object();

	add_identity(o, flow);
	add_number(o, "start_us", (flow->first.time_ns - r->flows.start_ns) / NS_PER_US);
	add_number(o, "end_us", (flow->last.time_ns - r->flows.start_ns) / NS_PER_US);
	add_flag(o, "start_seen", flow->has_start);
	add_flag(o, "end_seen", flow->has_end);
	add_flag(o, "sends", flow_sends(flow));
	add_number(o, "bytes_acked", flow_bytes_acked(flow));
	add_number(o, "bytes_sent", flow_bytes_sent(flow));
	add_number(o, "bytes_retrans", flow_bytes_retrans(flow));
	add_number(o, "lost", flow_lost(flow));
	add_number(o, "mss_bytes", flow->last.mss);
	add_number(o, "mean_bps", flow_mean_bps(flow));
	add_rtt(o, flow);
	add_modes(o, flow);
	add_number(o, "rtos", flow->rtos);
	add_number(o, "policers", flow->policers);
	add_number(o, "acks", flow->acks);
	add_number_if(o, "app_limited", flow->samples, flow->app_limited);
	add_number(o, "samples", flow->samples);
	add_number(o, "events", flow->events);
	return o;
}

static void write_flows(FILE *out, const struct report *r)
{
	for (unsigned int i = 0; i < r->n_shown; i++) {
		fputs(i ? ",\n" : "", out);
		write_object(out, totals_of(r, r->shown[i]));
	}
}

/* Those that have no series, as one. */
static void write_others(FILE *out, const struct report *r)
{
	struct json_object *o = json_object_new_object();
	__u64 n = 0, sending = 0, acked = 0, sent = 0, retrans = 0, lost = 0, rtos = 0,
	      policers = 0, events = 0;

	for (unsigned int i = 0; i < r->flows.n; i++) {
		const struct flow *flow = r->flows.flow[i];

		if (flow->series)
			continue;
		n++;
		sending += flow_sends(flow);
		acked += flow_bytes_acked(flow);
		sent += flow_bytes_sent(flow);
		retrans += flow_bytes_retrans(flow);
		lost += flow_lost(flow);
		rtos += flow->rtos;
		policers += flow->policers;
		events += flow->events;
	}
	add_number(o, "flows", n);
	add_number(o, "sending", sending);
	add_number(o, "bytes_acked", acked);
	add_number(o, "bytes_sent", sent);
	add_number(o, "bytes_retrans", retrans);
	add_number(o, "lost", lost);
	add_number(o, "rtos", rtos);
	add_number(o, "policers", policers);
	add_number(o, "events", events);
	write_object(out, o);
}

static void write_times(FILE *out, const struct report *r, const struct flow_series *s)
{
	__u64 before = 0;

	fputs("\"time_us\":[", out);
	for (size_t i = 0; i < s->n; i++) {
		__u64 time = (flow_series_time_ns(s, i) - r->flows.start_ns) / NS_PER_US;

		fprintf(out, "%s%llu", i ? "," : "", time - before);
		before = time;
	}
	fputc(']', out);
}

static void write_values(FILE *out, const struct flow_series *s, unsigned int curve)
{
	__s64 before = 0;

	fprintf(out, ",\n\"%s\":[", s->curves.curve[curve].key);
	for (size_t i = 0; i < s->n; i++) {
		__s64 value = flow_series_value(s, i, curve);

		fputs(i ? "," : "", out);
		if (value == VALUE_NONE) {
			fputs("null", out);
			continue;
		}
		fprintf(out, "%lld", value - before);
		before = value;
	}
	fputc(']', out);
}

static void write_flow_series(FILE *out, const struct report *r, const struct flow *flow)
{
	fprintf(out, "{\"interval_ns\":%llu,\"rate_top_bps\":%.0f,\n", flow->series->interval_ns,
		flow_series_rate_top(flow->series));
	write_times(out, r, flow->series);
	for (unsigned int curve = 0; curve < flow->series->curves.n; curve++)
		write_values(out, flow->series, curve);
	fputc('}', out);
}

static void write_rate(FILE *out, const struct report *r, double bytes)
{
	fprintf(out, "%.0f", bytes * 8 * NS_PER_S / r->shares.interval_ns);
}

static void write_shares(FILE *out, const struct report *r)
{
	for (unsigned int i = 0; i < r->n_shown; i++) {
		const float *bytes = r->shares.share[r->shown[i]->number].bytes;

		fputs(i ? ",\n[" : "[", out);
		for (int k = 0; k < RATE_INTERVALS; k++) {
			fputs(k ? "," : "", out);
			write_rate(out, r, bytes[k]);
		}
		fputc(']', out);
	}
}

static void write_total_rate(FILE *out, const struct report *r)
{
	for (int k = 0; k < RATE_INTERVALS; k++) {
		fputs(k ? "," : "", out);
		write_rate(out, r, r->shares.total[k]);
	}
}

static void write_jain(FILE *out, const struct report *r)
{
	for (int k = 0; k < RATE_INTERVALS; k++) {
		double jain = rate_shares_jain(&r->shares, k);

		fputs(k ? "," : "", out);
		if (jain < 0)
			fputs("null", out);
		else
			fprintf(out, "%.4f", jain);
	}
}

void report_write_json(FILE *out, const struct report *r)
{
	fputs("{\"recording\":", out);
	write_head(out, r);
	fputs(",\n\"curves\":{", out);
	write_algorithms(out, r);
	fputs("},\n\"flows\":[", out);
	write_flows(out, r);
	fputs("],\n\"others\":", out);
	write_others(out, r);
	fputs(",\n\"rate_bps\":[", out);
	write_shares(out, r);
	fputs("],\n\"total_bps\":[", out);
	write_total_rate(out, r);
	fputs("],\n\"jain\":[", out);
	write_jain(out, r);
	fputs("],\n\"series\":[", out);
	for (unsigned int i = 0; i < r->n_shown; i++) {
		fputs(i ? ",\n" : "", out);
		write_flow_series(out, r, r->shown[i]);
	}
	fputs("]}\n", out);
}
