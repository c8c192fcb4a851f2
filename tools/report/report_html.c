// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of a report: report/page.html with its parts put in.
 */
#include <string.h>

#include "report.h"

/* Of report/page.S. */
extern const char page_html[], page_html_end[], page_css[], page_css_end[], page_js[],
	page_js_end[];
extern const char plots_js[], plots_js_end[], dygraphs_js[], dygraphs_js_end[];
extern const char dygraphs_css[], dygraphs_css_end[], dygraphs_licence[], dygraphs_licence_end[];

#define PART(name) { "@" #name "@", name, name##_end }

static const struct {
	const char *mark, *begin, *end;
} parts[] = {
	PART(page_css),	   PART(page_js),      PART(plots_js),
	PART(dygraphs_js), PART(dygraphs_css), PART(dygraphs_licence),
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

/* What stands for the mark at `at`; returns what comes after the mark, or NULL if it is none. */
static const char *put_part(FILE *out, const struct report *r, const char *at)
{
	static const char data[] = "@data@";

	if (!strncmp(at, data, strlen(data))) {
		report_write_json(out, r);
		return at + strlen(data);
	}
	for (size_t i = 0; i < N_PARTS; i++) {
		if (strncmp(at, parts[i].mark, strlen(parts[i].mark)))
			continue;
		fwrite(parts[i].begin, 1, parts[i].end - parts[i].begin, out);
		return at + strlen(parts[i].mark);
	}
	return NULL;
}

void report_write_html(FILE *out, const struct report *r)
{
	const char *at = page_html;

	while (at < page_html_end) {
		const char *after = *at == '@' ? put_part(out, r, at) : NULL;

		if (!after)
			fputc(*at++, out);
		else
			at = after;
	}
}
