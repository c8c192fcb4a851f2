// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "cli/json.h"
#include "cli/units.h"
#include "kernel/clock.h"
#include "verbs.h"
#include "study.h"

static const char *const unit_names[] = { "connections", "prefixes", "blocks" };

/* An A/B test misleads if arms share queues. NULL for a switchback. */
static const char *warning(const struct study *s)
{
	if (s->experiment.design == EXPERIMENT_SWITCHBACK)
		return NULL;
	return "Arms that share a bottleneck are not independent: what one takes, the others lose. "
	       "A switchback shows what happens if all connections have one arm.";
}

static void print_scope(FILE *out, const struct study *s)
{
	const struct experiment_scope *scope = &s->experiment.scope;
	char address[ADDRESS_TEXT_LEN];

	format_prefix(address, sizeof(address), scope->dst, scope->dst_len);
	fprintf(out, "scope: remote %s", scope->dst_len ? address : "any");
	if (s->cgroup)
		fprintf(out, ", cgroup %s", s->cgroup);
	if (scope->dport)
		fprintf(out, ", remote port %u", ntohs(scope->dport));
	if (scope->sport)
		fprintf(out, ", local port %u", ntohs(scope->sport));
	if (scope->has_mark)
		fprintf(out, ", mark %u", scope->mark);
	if (scope->netns_name[0])
		fprintf(out, ", network namespace %s", scope->netns_name);
	fputc('\n', out);
}

static void print_head(FILE *out, const struct analysis *a)
{
	const struct study *s = a->study;
	const struct experiment *e = &s->experiment;
	char block[UNITS_LEN], washout[UNITS_LEN];
	__u64 seconds = s->until_ns / NS_PER_S;

	fprintf(out, "%s: %s", e->name, experiment_designs[e->design]);
	if (e->design == EXPERIMENT_SWITCHBACK) {
		format_duration(block, sizeof(block), e->block);
		format_duration(washout, sizeof(washout), e->washout);
		fprintf(out, ", blocks of %s after a washout of %s", block, washout);
	} else {
		fprintf(out, ", by %s", e->unit == EXPERIMENT_BY_PREFIX ? "prefix" : "connection");
	}
	if (seconds >= 3600)
		fprintf(out, ", for %lluh %llum\n", seconds / 3600, seconds / 60 % 60);
	else if (seconds >= 60)
		fprintf(out, ", for %llum %llus\n", seconds / 60, seconds % 60);
	else
		fprintf(out, ", for %llus\n", seconds);
	print_scope(out, s);
}

static void print_continued(FILE *out, const struct analysis *a)
{
	bool is_counted = a->study->rows.with_continued;

	fprintf(out,
		"%s: %llu parts of connections that began before a washout ended, %.1f %% of all "
		"bytes%s.\n",
		is_counted ? "Counted" : "Left out", a->continued,
		a->bytes ? 100.0 * a->continued_bytes / a->bytes : 0,
		is_counted ? "" : "; --continued counts them");
}

static void print_arms(FILE *out, const struct analysis *a)
{
	const struct study *s = a->study;
	const struct experiment_control *n = &s->control;

	fprintf(out, "\n%-16s %-16s %-16s %11s %11s %9s\n", "arm", "algorithm", "profile",
		"connections", "ended", "refused");
	for (__u32 i = 0; i < s->experiment.arms; i++) {
		const struct experiment_arm *arm = &s->experiment.arm[i];

		fprintf(out, "%-16s %-16s %-16s %11llu %11llu %9llu\n", arm->label, arm->cc,
			arm->profile_name[0] ? arm->profile_name : "-", n->assigned[i], a->ended[i],
			n->refused[i]);
	}
	for (__u32 i = 0; i < s->experiment.arms; i++)
		if (n->refused[i])
			fprintf(out, "Refused to %s: %s.\n", s->experiment.arm[i].label,
				experiment_refusal_text(n->refused_error[i]));
	fprintf(out, "\nopen %llu, chosen by the application %llu", s->open, n->chosen);
	if (s->experiment.design == EXPERIMENT_SWITCHBACK)
		fprintf(out, ", moved at the end of a block %llu", n->moved);
	fprintf(out, "; missing here: overwritten %llu, lost %llu, no room %llu\n", s->overwritten,
		n->lost, n->no_memory);
	if (a->continued)
		print_continued(out, a);
	if (s->is_cut)
		fputs("The file ends within a line: its writer was stopped.\n", out);
	fprintf(out, "Units of analysis: %u %s.\n", a->units.n, unit_names[a->units.by]);
	if (a->units.by == ROWS_BY_CONNECTION)
		fprintf(out,
			"%u remote %s, too few to be units: correlation between the connections of "
			"one is not accounted for.\n",
			a->units.prefixes, a->units.prefixes == 1 ? "prefix" : "prefixes");
	if (warning(s))
		fprintf(out, "%s\n", warning(s));
}

static const char *const verdicts[] = {
	[COMPARE_UNDECIDED] = NULL,
	[COMPARE_BETTER] = "better",
	[COMPARE_WORSE] = "worse",
};

static void print_comparison(FILE *out, const struct analysis *a, const struct comparison *c)
{
	enum metric_unit unit = c->metric->of->unit;
	const struct compare_arm *arms[] = { &c->control, &c->treated };
	const char *difference = "-", *verdict = verdicts[c->verdict];
	char interval[2 * METRIC_TEXT_LEN + 8], percent[METRIC_TEXT_LEN] = "";

	fprintf(out, "%-24s", c->metric->name);
	for (int i = 0; i < 2; i++)
		fprintf(out, " %12s",
			arms[i]->has_value ? metric_text(unit, METRIC_VALUE, arms[i]->value) : "-");
	if (c->lack != COMPARE_NO_CONNECTIONS) {
		difference = metric_text(unit, METRIC_DIFFERENCE, c->difference);
		if (c->control.value > 0)
			snprintf(percent, sizeof(percent), "%+.1f%%",
				 100 * c->difference / c->control.value);
	}
	fprintf(out, " %13s %8s", difference, percent);
	if (c->lack != COMPARE_HAS_ALL) {
		fprintf(out, "  no interval: %s\n", compare_lack_text(c->lack, a->units.by));
		return;
	}
	snprintf(interval, sizeof(interval), "%s to %s",
		 metric_text(unit, METRIC_DIFFERENCE, c->low),
		 metric_text(unit, METRIC_DIFFERENCE, c->high));
	fprintf(out, " %26s %12s%s%s\n", interval, metric_text(unit, METRIC_AMOUNT, c->detectable),
		verdict ? "  " : "", verdict ? verdict : "");
}

void analysis_print_text(FILE *out, const struct analysis *a)
{
	int arm = 0, size_class = SIZE_ALL;

	print_head(out, a);
	print_arms(out, a);
	for (int i = 0; i < a->n; i++) {
		const struct comparison *c = &a->comparison[i];

		if (c->arm != arm)
			fprintf(out, "\n%-24s %12s %12s %13s %8s %26s %12s\n", "",
				a->study->experiment.arm[0].label,
				a->study->experiment.arm[c->arm].label, "difference", "",
				"95 % interval", "could show");
		if (c->size_class != size_class && c->size_class != SIZE_ALL &&
		    c->control.connections && c->treated.connections)
			fprintf(out, "\n%s\n", size_classes[c->size_class].title);
		if (c->size_class == SIZE_ALL ||
		    (c->control.connections && c->treated.connections)) {
			print_comparison(out, a, c);
			size_class = c->size_class;
		}
		arm = c->arm;
	}
	fputs("\n\"could show\": four of five such experiments would detect a difference of this "
	      "size.\n"
	      "By chance, 1 in 20 lines without a real difference has an interval that excludes "
	      "0.\n",
	      out);
}

/* ---- as JSON */

static const char *const units[] = {
	[METRIC_BPS] = "bit/s",
	[METRIC_US] = "us",
	[METRIC_SHARE] = "share",
	[METRIC_COUNT] = "count",
};

static void add_head(struct json *j, const struct analysis *a)
{
	const struct study *s = a->study;
	const struct experiment *e = &s->experiment;
	const struct experiment_control *n = &s->control;

	json_add_string(j, "name", e->name);
	json_add_string(j, "design", experiment_designs[e->design]);
	json_add_string(j, "drawn_by", e->unit == EXPERIMENT_BY_PREFIX ? "prefix" : "connection");
	json_add_string(j, "cgroup", s->cgroup);
	json_add_int(j, "started_ns", e->started_realtime);
	json_add_int(j, "seconds", s->until_ns / NS_PER_S);
	if (e->design == EXPERIMENT_SWITCHBACK) {
		json_add_int(j, "block_ns", e->block);
		json_add_int(j, "washout_ns", e->washout);
	}
	experiment_add_arms(j, e, NULL, n, a->ended);
	json_add_int(j, "outcomes", n->outcomes);
	json_add_int(j, "open", s->open);
	json_add_int(j, "chosen", n->chosen);
	json_add_int(j, "moved", n->moved);
	json_add_int(j, "overwritten", s->overwritten);
	json_add_int(j, "lost", n->lost);
	json_add_int(j, "no_memory", n->no_memory);
	json_add_bool(j, "cut_off", s->is_cut);
	json_add_int(j, "continued", a->continued);
	json_add_int(j, "continued_acked_bytes", a->continued_bytes);
	json_add_bool(j, "continued_counted", s->rows.with_continued);
	json_add_string(j, "units", unit_names[a->units.by]);
	json_add_int(j, "n_units", a->units.n);
	json_add_int(j, "prefixes", a->units.prefixes);
	json_add_string(j, "warning", warning(s));
}

static void add_arm(struct json *j, const char *key, const char *label,
		    const struct compare_arm *arm)
{
	json_open_object(j, key);
	json_add_string(j, "label", label);
	json_add_int(j, "connections", arm->connections);
	json_add_int(j, "units", arm->units);
	json_add_number(j, "value", arm->has_value ? arm->value : NAN);
	json_close(j);
}

static void add_comparison(struct json *j, const struct analysis *a, const struct comparison *c)
{
	const struct experiment_arm *arm = a->study->experiment.arm;
	bool has_all = c->lack == COMPARE_HAS_ALL;

	json_open_object(j, NULL);
	json_add_string(j, "metric", c->metric->name);
	json_add_string(j, "title", c->metric->title);
	json_add_string(j, "unit", units[c->metric->of->unit]);
	json_add_bool(j, "more_is_better", c->metric->more_is_better);
	json_add_string(j, "size",
			c->size_class == SIZE_ALL ? "all" : size_classes[c->size_class].name);
	add_arm(j, "control", arm[0].label, &c->control);
	add_arm(j, "treated", arm[c->arm].label, &c->treated);
	json_add_number(j, "difference", c->lack != COMPARE_NO_CONNECTIONS ? c->difference : NAN);
	json_add_number(j, "low", has_all ? c->low : NAN);
	json_add_number(j, "high", has_all ? c->high : NAN);
	json_add_number(j, "detectable", has_all ? c->detectable : NAN);
	json_add_string(j, "no_interval", compare_lack_text(c->lack, a->units.by));
	json_add_string(j, "verdict", verdicts[c->verdict]);
	json_close(j);
}

static void add_curves(struct json *j, const struct analysis *a)
{
	json_open_array(j, "curves");
	for (int i = 0; i < a->curves; i++) {
		const struct curve *c = &a->curve[i];

		json_open_object(j, NULL);
		json_add_string(j, "quantity", c->of->name);
		json_add_string(j, "unit", units[c->of->unit]);
		json_add_string(j, "arm", a->study->experiment.arm[c->arm].label);
		json_add_int(j, "connections", c->connections);
		json_open_array(j, "percentiles");
		for (int k = 0; c->connections && k < CURVE_POINTS; k++)
			json_add_number(j, NULL, c->point[k]);
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

static void add_analysis(struct json *j, const struct analysis *a)
{
	add_head(j, a);
	json_open_array(j, "metrics");
	for (int i = 0; i < a->n; i++)
		add_comparison(j, a, &a->comparison[i]);
	json_close(j);
	add_curves(j, a);
}

void analysis_print_json(FILE *out, const struct analysis *a)
{
	struct json j;

	json_begin_pretty(&j, out);
	add_analysis(&j, a);
	json_end(&j);
}

/*
 * The page of an experiment, from tools/report/carried.S: page/experiment.html with its parts filled
 * in. The first style is that of the reports.
 */
extern const char page_css[], page_css_end[];
extern const char experiment_html[], experiment_html_end[];
extern const char experiment_css[], experiment_css_end[], experiment_js[], experiment_js_end[];

static const struct page_part parts[] = {
	PAGE_PART(experiment_html),
	PAGE_PART(page_css),
	PAGE_PART(experiment_css),
	PAGE_PART(experiment_js),
};

static void write_data(FILE *out, const void *analysis)
{
	struct json j;

	json_begin_in_script(&j, out);
	add_analysis(&j, analysis);
	json_end(&j);
}

void analysis_print_page(FILE *out, const struct analysis *a)
{
	page_write(out, parts, sizeof(parts) / sizeof(parts[0]), write_data, a);
}
