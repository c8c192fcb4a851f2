// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of an experiment: page/experiment.html with its parts filled in.
 */
#include "analysis_json.h"
#include "report/page.h"

/* From carried.S; the first style is that of the reports. */
extern const char page_css[], page_css_end[];
extern const char experiment_html[], experiment_html_end[];
extern const char experiment_css[], experiment_css_end[], experiment_js[], experiment_js_end[];

static const struct page_part parts[] = {
	PAGE_PART(page_css),
	PAGE_PART(experiment_css),
	PAGE_PART(experiment_js),
};

static void write_data(FILE *out, const void *analysis)
{
	struct json j;

	json_begin_in_script(&j, out);
	analysis_add_json(&j, analysis);
	json_end(&j);
}

void analysis_print_page(FILE *out, const struct analysis *a)
{
	page_write(out, experiment_html, experiment_html_end, parts,
		   sizeof(parts) / sizeof(parts[0]), write_data, a);
}
