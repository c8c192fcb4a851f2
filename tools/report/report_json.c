// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data of a report's page. Times are microseconds since the recording's first event. Series are
 * arrays of differences, the first one to 0, with null where there is no value: that is short.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "cli/err.h"
#include "cli/json.h"
#include "event/field.h"
#include "kernel/clock.h"
#include "report.h"
#include "verbs.h"

#define NS_PER_US 1000
#define KEY_LEN (BBR_NAME_LEN + 12)
#define N(list) (sizeof(list) / sizeof((list)[0]))

/* With this many digits after the point; null if it is not known. */
static void add_rounded(struct json *j, const char *key, double value, int digits)
{
	char text[512]; /* DBL_MAX has 309 digits */

	snprintf(text, sizeof(text), "%.*f", digits, value);
	json_add_raw(j, key, isnan(value) ? "null" : text);
}

static void add_intervals(struct json *j, const char *key, const __u64 *values, __u64 unit)
{
	json_open_array(j, key);
	for (int i = 0; i < RATE_INTERVALS; i++)
		json_add_int(j, NULL, values[i] / unit);
	json_close(j);
}

/* The first flow that has this flow's algorithm. */
static unsigned int first_of(const struct report *r, unsigned int flow)
{
	unsigned int i = 0;

	while (r->shown[i]->algorithm != r->shown[flow]->algorithm)
		i++;
	return i;
}

/*
 * The key of a flow's curves: its algorithm's name. A file to which another version has appended
 * describes an algorithm twice; the second one is "NAME 2".
 */
static const char *curves_key(char buf[KEY_LEN], const struct report *r, unsigned int flow)
{
	const struct algorithm *a = r->shown[flow]->algorithm;
	unsigned int number = 1;

	for (unsigned int i = 0; i < first_of(r, flow); i++)
		number += first_of(r, i) == i && !strcmp(r->shown[i]->algorithm->name, a->name);
	snprintf(buf, KEY_LEN, number > 1 ? "%s %u" : "%s", a->name, number);
	return buf;
}

/* Adds the modes of all algorithms, each name once. */
static void add_mode_names(struct json *j, const struct report *r)
{
	const char **names = NULL;
	size_t n = 0, k;

	json_open_array(j, "modes");
	for (unsigned int i = 0; i < r->n_shown; i++) {
		const struct algorithm *a = r->shown[i]->algorithm;

		for (int mode = 0; mode < a->n_modes; mode++) {
			for (k = 0; k < n && strcmp(names[k], a->modes[mode].name); k++)
				;
			if (k < n)
				continue;
			MEM_ADD(names, n) = a->modes[mode].name;
			json_add_string(j, NULL, a->modes[mode].name);
		}
	}
	json_close(j);
	free(names);
}

static void add_head(struct json *j, const struct report *r)
{
	double jain = flows_jain(&r->flows);
	char text[64];

	json_open_object(j, "recording");
	json_add_string(j, "file", r->file);
	json_add_int(j, "start_ms", r->flows.start_ns / NS_PER_MS);
	json_add_int(j, "duration_us", (r->flows.end_ns - r->flows.start_ns) / NS_PER_US);
	json_add_int(j, "points", r->points);
	json_add_int(j, "flows_total", r->flows.n);
	json_add_int(j, "flows_without_state", r->flows.n_all - r->flows.n);
	json_add_int(j, "flows_sending", flows_sending(&r->flows));
	snprintf(text, sizeof(text), "%.17g", jain);
	if (!text[strspn(text, "0123456789")])
		strcat(text, ".0");
	json_add_raw(j, "jain", isnan(jain) ? "null" : text);
	add_mode_names(j, r);
	json_add_int(j, "interval_ns", r->shares.interval_ns);
	add_intervals(j, "drops", r->shares.drops, 1);
	add_intervals(j, "unwatched_us", r->shares.unwatched_ns, NS_PER_US);
	json_add_int(j, "drops_total", counters_drops(&r->totals.counters));
	json_add_int(j, "watched_ms", r->totals.watched_ns / NS_PER_MS);
	json_add_int(j, "unwatched_ms", r->totals.unwatched_ns / NS_PER_MS);
	json_close(j);
}

static const char *const lane_names[LANES] = {
	[LANE_RATE] = "rate",	[LANE_RTT] = "rtt",	  [LANE_INFLIGHT] = "inflight",
	[LANE_STATE] = "state", [LANE_LOSSES] = "losses",
};

/* The names that the page's scripts know. */
static const char *const look_names[] = {
	[LOOK_STEP] = "step",
	[LOOK_LINE] = "line",
	[LOOK_POINTS] = "points",
	[LOOK_STATES] = "states",
};

static const char *const kind_names[PANEL_KINDS] = {
	[PANEL_SHARES] = "shares", [PANEL_JAIN] = "jain",     [PANEL_CURVES] = "curves",
	[PANEL_STATES] = "states", [PANEL_GROWTH] = "growth",
};

static void add_colours(struct json *j, UNUSED const struct report *r)
{
	json_open_object(j, "colours");
	for (const struct colour_look *c = colours; c < colours + COLOURS; c++) {
		json_open_object(j, c->name);
		json_add_string(j, "light", c->light);
		json_add_string(j, "dark", c->dark);
		json_close(j);
	}
	json_close(j);
}

/* The units, and what is lacking, are of each flow, or of all flows together. */
static void add_panel(struct json *j, const struct panel *p, const struct report *r)
{
	unsigned int n = p->lane ? r->n_shown : 1;

	json_open_object(j, NULL);
	json_add_string(j, "id", p->key);
	json_add_string(j, "title", p->title);
	json_add_string(j, "kind", kind_names[p->kind]);
	json_add_string(j, "lane", lane_names[p->lane]);
	json_add_bool(j, "is_low", p->is_low);
	json_open_array(j, "units");
	for (unsigned int i = 0; p->units && i < n; i++) {
		const struct panel_unit *unit = panel_unit(p, r, r->shown[i]);

		json_open_object(j, NULL);
		json_add_string(j, "name", unit->name);
		json_add_int(j, "size", unit->size);
		json_close(j);
	}
	json_close(j);
	json_open_array(j, "lacks");
	for (unsigned int i = 0; i < n; i++)
		json_add_string(j, NULL, panel_lack(p, r->shown[i]));
	json_close(j);
	json_close(j);
}

static void add_panels(struct json *j, const struct report *r)
{
	json_open_array(j, "panels");
	for (size_t i = 0; i < n_panels; i++) {
		json_new_line(j);
		add_panel(j, &panels[i], r);
	}
	json_close(j);
}

static void add_curve(struct json *j, const struct flow_series *s, unsigned int curve)
{
	const struct curve *of = &s->curve[curve];

	json_open_object(j, NULL);
	json_add_string(j, "lane", lane_names[of->lane]);
	json_add_string(j, "values", of->key);
	json_add_string(j, "name", of->name);
	json_add_string(j, "look", look_names[of->look]);
	if (of->look == LOOK_STATES) {
		json_open_array(j, "names");
		for (unsigned int i = 0; i < of->n_states; i++)
			json_add_string(j, NULL, curve_state_name(s, curve, i));
		json_close(j);
		json_open_array(j, "colours");
		for (unsigned int i = 0; i < of->n_states; i++)
			json_add_string(j, NULL, colours[curve_state_colour(s, curve, i)].name);
		json_close(j);
	} else {
		json_add_string(j, "colour", colours[of->colour].name);
	}
	json_add_int(j, "divisor", of->divisor ? of->divisor : 1);
	json_add_bool(j, "is_bytes", of->is_bytes);
	json_add_bool(j, "may_be_far_off", of->may_be_far_off);
	json_add_string(j, "split_by", of->split_by);
	json_add_string(j, "split_name", of->split_name);
	json_close(j);
}

/* Adds what is drawn of the flows of each algorithm, and in which lane. */
static void add_curves(struct json *j, const struct report *r)
{
	char key[KEY_LEN];

	json_open_object(j, "curves");
	for (unsigned int i = 0; i < r->n_shown; i++) {
		const struct flow_series *s = r->shown[i]->series;

		if (first_of(r, i) != i)
			continue;
		json_new_line(j);
		json_open_array(j, curves_key(key, r, i));
		for (unsigned int curve = 0; curve < s->n_curves; curve++)
			if (s->curve[curve].look != LOOK_NONE)
				add_curve(j, s, curve);
		json_close(j);
	}
	json_close(j);
}

static void add_rtt(struct json *j, const struct flow *flow)
{
	static const struct {
		const char *key;
		double percent;
	} ranks[] = { { "rtt_median_us", 50 }, { "rtt_p95_us", 95 }, { "rtt_p99_us", 99 } };

	for (int i = 0; i < 3; i++) {
		bool has = flow->series->n_rtts;

		json_add_int_if(j, ranks[i].key, has,
				has ? flow_series_rtt(flow->series, ranks[i].percent) : 0);
	}
	json_add_int_if(j, "min_rtt_us", flow->min_rtt_us != BBR_RTT_NONE, flow->min_rtt_us);
}

static void add_growth(struct json *j, const struct flow_growth *grown)
{
	json_add_int(j, "bytes_acked", grown->bytes_acked);
	json_add_int(j, "bytes_sent", grown->bytes_sent);
	json_add_int(j, "bytes_retrans", grown->bytes_retrans);
	json_add_int(j, "lost", grown->lost);
}

static void add_flow(struct json *j, const struct report *r, unsigned int number)
{
	const struct flow *flow = r->shown[number];
	struct flow_growth grown = flow_growth(flow);
	const struct field *f;
	char key[KEY_LEN];

	json_open_object(j, NULL);
	json_add_int(j, "flow", flow->number + 1);
	json_add_string(j, "instance", flow->instance);
	json_add_string(j, "algorithm", curves_key(key, r, number));
	json_add_string(j, "profile", *flow->profile ? flow->profile : NULL);
	json_add_bool(j, "kernel", flow->is_kernel);
	json_add_int(j, "conn", flow->first.conn);
	json_add_int(j, "netns", flow->first.netns);
	json_add_endpoint(j, "local", flow->first.laddr, "lport", flow->first.lport);
	json_add_endpoint(j, "remote", flow->first.raddr, "rport", flow->first.rport);
	json_add_int(j, "start_us", (flow->first.time_ns - r->flows.start_ns) / NS_PER_US);
	json_add_int(j, "end_us", (flow->last.time_ns - r->flows.start_ns) / NS_PER_US);
	json_add_bool(j, "start_seen", flow->has_start);
	json_add_bool(j, "end_seen", flow->has_end);
	json_add_bool(j, "sends", flow_sends(flow));
	add_growth(j, &grown);
	json_add_int(j, "mss_bytes", flow->last.mss);
	json_add_whole(j, "mean_bps", flow_mean_bps(flow));
	add_rtt(j, flow);
	json_open_array(j, "mode_us"); /* in the order of the algorithm's modes */
	for (int i = 0; i < flow->algorithm->n_modes; i++)
		json_add_int(j, NULL, flow->mode_ns[i] / NS_PER_US);
	json_close(j);
	json_add_int(j, "rtos", flow->rtos);
	for (unsigned int i = 0; (f = finding_field(flow->algorithm, i)); i++)
		json_add_int(j, f->finding->key, flow->found[i]);
	json_add_int(j, "acks", flow->acks);
	json_add_int_if(j, "app_limited", flow->samples, flow->app_limited);
	json_add_int(j, "samples", flow->samples);
	json_add_int(j, "events", flow->events);
	json_close(j);
}

static void add_flows(struct json *j, const struct report *r)
{
	json_open_array(j, "flows");
	for (unsigned int i = 0; i < r->n_shown; i++) {
		json_new_line(j);
		add_flow(j, r, i);
	}
	json_close(j);
}

#define FINDINGS 8 /* more than all of our algorithms have */

/* The keys of what the algorithms of all flows can find, each once. */
static size_t finding_keys(const char *keys[FINDINGS], const struct report *r)
{
	size_t n = 0, k;

	for (unsigned int i = 0; i < r->flows.n; i++) {
		const struct field *const *f = r->flows.flow[i]->finding;

		for (; f < r->flows.flow[i]->finding + FINDINGS_MAX && *f; f++) {
			for (k = 0; k < n && strcmp(keys[k], (*f)->finding->key); k++)
				;
			if (k == n && n < FINDINGS)
				keys[n++] = (*f)->finding->key;
		}
	}
	return n;
}

static __u64 found_in(const struct flow *flow, const char *key)
{
	for (unsigned int i = 0; i < FINDINGS_MAX && flow->finding[i]; i++)
		if (!strcmp(flow->finding[i]->finding->key, key))
			return flow->found[i];
	return 0;
}

static void add_findings(struct json *j, const struct report *r)
{
	const char *keys[FINDINGS];
	size_t n = finding_keys(keys, r);

	json_open_array(j, "findings");
	for (size_t i = 0; i < n; i++)
		json_add_string(j, NULL, keys[i]);
	json_close(j);
}

/* Adds the flows without series as one. */
static void add_others(struct json *j, const struct report *r)
{
	__u64 n = 0, sending = 0, rtos = 0, events = 0, found[FINDINGS] = {};
	struct flow_growth sum = {}, grown;
	const char *keys[FINDINGS];
	size_t n_keys = finding_keys(keys, r);

	for (unsigned int i = 0; i < r->flows.n; i++) {
		const struct flow *flow = r->flows.flow[i];

		if (flow->series)
			continue;
		n++;
		sending += flow_sends(flow);
		grown = flow_growth(flow);
		sum.bytes_acked += grown.bytes_acked;
		sum.bytes_sent += grown.bytes_sent;
		sum.bytes_retrans += grown.bytes_retrans;
		sum.lost += grown.lost;
		rtos += flow->rtos;
		events += flow->events;
		for (size_t k = 0; k < n_keys; k++)
			found[k] += found_in(flow, keys[k]);
	}
	json_open_object(j, "others");
	json_add_int(j, "flows", n);
	json_add_int(j, "sending", sending);
	add_growth(j, &sum);
	json_add_int(j, "rtos", rtos);
	for (size_t k = 0; k < n_keys; k++)
		json_add_int(j, keys[k], found[k]);
	json_add_int(j, "events", events);
	json_close(j);
}

/* The differences of a curve's values or, with TIMES, of the rows' times. */
#define TIMES (-1)

static void add_column(struct json *j, const char *key, const struct report *r,
		       const struct flow_series *s, int curve)
{
	__s64 before = 0, value;

	json_open_array(j, key);
	for (size_t i = 0; i < s->n; i++) {
		if (curve == TIMES)
			value = (flow_series_time_ns(s, i) - r->flows.start_ns) / NS_PER_US;
		else
			value = flow_series_value(s, i, curve);
		if (value == VALUE_NONE) {
			json_add_null(j, NULL);
			continue;
		}
		json_add_signed(j, NULL, value - before);
		before = value;
	}
	json_close(j);
}

static void add_series(struct json *j, const struct report *r)
{
	json_open_array(j, "series");
	for (unsigned int i = 0; i < r->n_shown; i++) {
		const struct flow_series *s = r->shown[i]->series;

		json_new_line(j);
		json_open_object(j, NULL);
		json_add_int(j, "interval_ns", s->interval_ns);
		add_rounded(j, "rate_top_bps", flow_series_rate_top(s), 0);
		json_new_line(j);
		add_column(j, "time_us", r, s, TIMES);
		json_open_object(j, "values");
		for (unsigned int curve = 0; curve < s->n_curves; curve++) {
			json_new_line(j);
			add_column(j, s->curve[curve].key, r, s, curve);
		}
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

static void add_rate(struct json *j, const struct report *r, double bytes)
{
	add_rounded(j, NULL, bytes * 8 * NS_PER_S / r->shares.interval_ns, 0);
}

static void add_shares(struct json *j, const struct report *r)
{
	json_open_array(j, "rate_bps");
	for (unsigned int i = 0; i < r->n_shown; i++) {
		json_new_line(j);
		json_open_array(j, NULL);
		for (int k = 0; k < RATE_INTERVALS; k++)
			add_rate(j, r, r->shares.share[r->shown[i]->number].bytes[k]);
		json_close(j);
	}
	json_close(j);
	json_new_line(j);
	json_open_array(j, "total_bps");
	for (int k = 0; k < RATE_INTERVALS; k++)
		add_rate(j, r, r->shares.total[k]);
	json_close(j);
}

static void add_jain(struct json *j, const struct report *r)
{
	json_open_array(j, "jain");
	for (int k = 0; k < RATE_INTERVALS; k++)
		add_rounded(j, NULL, rate_shares_jain(&r->shares, k), 4);
	json_close(j);
}

void report_write_json(FILE *out, const struct report *r)
{
	static void (*const parts[])(struct json *j, const struct report *r) = {
		add_head,  add_colours, add_panels, add_curves, add_findings,
		add_flows, add_others,	add_shares, add_jain,	add_series,
	};
	struct json j;

	json_begin_in_script(&j, out);
	for (size_t i = 0; i < N(parts); i++) {
		json_new_line(&j);
		parts[i](&j, r);
	}
	json_end(&j);
}

/* The page of a report, from carried.S: page/page.html with its parts put in. */
extern const char page_html[], page_html_end[], page_css[], page_css_end[], page_js[],
	page_js_end[];
extern const char plots_js[], plots_js_end[], dygraphs_js[], dygraphs_js_end[];
extern const char dygraphs_css[], dygraphs_css_end[], dygraphs_licence[], dygraphs_licence_end[];

static const struct page_part parts[] = {
	PAGE_PART(page_html),	     PAGE_PART(page_css),    PAGE_PART(page_js),
	PAGE_PART(plots_js),	     PAGE_PART(dygraphs_js), PAGE_PART(dygraphs_css),
	PAGE_PART(dygraphs_licence),
};

static void write_data(FILE *out, const void *report)
{
	report_write_json(out, report);
}

void report_write_html(FILE *out, const struct report *r)
{
	page_write(out, parts, N(parts), write_data, r);
}
