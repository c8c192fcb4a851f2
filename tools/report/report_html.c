// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of a report: page/page.html with its parts put in.
 */
#include "page.h"
#include "report.h"

/* From carried.S. */
extern const char page_html[], page_html_end[], page_css[], page_css_end[], page_js[],
	page_js_end[];
extern const char plots_js[], plots_js_end[], dygraphs_js[], dygraphs_js_end[];
extern const char dygraphs_css[], dygraphs_css_end[], dygraphs_licence[], dygraphs_licence_end[];

static const struct page_part parts[] = {
	PAGE_PART(page_css),	PAGE_PART(page_js),	 PAGE_PART(plots_js),
	PAGE_PART(dygraphs_js), PAGE_PART(dygraphs_css), PAGE_PART(dygraphs_licence),
};

static void write_data(FILE *out, const void *report)
{
	report_write_json(out, report);
}

void report_write_html(FILE *out, const struct report *r)
{
	page_write(out, page_html, page_html_end, parts, sizeof(parts) / sizeof(parts[0]),
		   write_data, r);
}
