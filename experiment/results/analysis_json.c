// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "cli/json.h"
#include "report/report.h"
#include "study.h"

static const char *const units[] = {
	[METRIC_BPS] = "bit/s",
	[METRIC_US] = "us",
	[METRIC_SHARE] = "share",
	[METRIC_COUNT] = "count",
};

static void add_arms(struct json *j, const struct analysis *a)
{
	const struct study *s = a->study;

	json_open_array(j, "arms");
	for (__u32 i = 0; i < s->experiment.arms; i++) {
		const struct experiment_arm *arm = &s->experiment.arm[i];

		json_open_object(j, NULL);
		json_add_string(j, "label", arm->label);
		json_add_string(j, "cc", arm->cc);
		json_add_string(j, "profile", arm->profile_name[0] ? arm->profile_name : NULL);
		json_add_int(j, "connections", s->counters.assigned[i]);
		json_add_int(j, "ended", a->ended[i]);
		json_add_int(j, "refused", s->counters.refused[i]);
		json_add_string(j, "refused_why",
				!s->counters.refused[i] ?
					NULL :
					experiment_refusal_text(s->counters.refused_error[i]));
		json_close(j);
	}
	json_close(j);
}

static void add_head(struct json *j, const struct analysis *a)
{
	const struct study *s = a->study;
	const struct experiment *e = &s->experiment;
	const struct study_counters *n = &s->counters;

	json_add_string(j, "name", e->name);
	json_add_string(j, "design", experiment_design_name(e->design));
	json_add_string(j, "drawn_by", e->unit == EXPERIMENT_BY_PREFIX ? "prefix" : "connection");
	json_add_string(j, "cgroup", s->cgroup);
	json_add_int(j, "started_ns", e->started_realtime);
	json_add_int(j, "seconds", s->until_ns / 1000000000);
	if (e->design == EXPERIMENT_SWITCHBACK) {
		json_add_int(j, "block_ns", e->block);
		json_add_int(j, "washout_ns", e->washout);
	}
	add_arms(j, a);
	json_add_int(j, "outcomes", n->outcomes);
	json_add_int(j, "open", n->open);
	json_add_int(j, "chosen", n->chosen);
	json_add_int(j, "moved", n->moved);
	json_add_int(j, "overwritten", n->overwritten);
	json_add_int(j, "lost", n->lost);
	json_add_int(j, "no_memory", n->no_memory);
	json_add_bool(j, "cut_off", s->is_cut);
	json_add_int(j, "continued", a->continued);
	json_add_int(j, "continued_acked_bytes", a->continued_bytes);
	json_add_bool(j, "continued_counted", s->rows.with_continued);
	json_add_string(j, "units", analysis_units_name(a->units.by));
	json_add_int(j, "n_units", a->units.n);
	json_add_int(j, "prefixes", a->units.prefixes);
	json_add_string(j, "warning", analysis_warning(s));
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
	static const char *const verdicts[] = {
		[COMPARE_UNDECIDED] = NULL,
		[COMPARE_BETTER] = "better",
		[COMPARE_WORSE] = "worse",
	};
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
 * The page of an experiment, from carried.S: page/experiment.html with its parts filled in. The
 * first style is that of the reports.
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
