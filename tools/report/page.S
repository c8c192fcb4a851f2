/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a report's page, which bbrmon carries along. */
#include "carry.inc"

	carry page_html, "tools/report/page.html"
	.byte 0
	carry page_css, "tools/report/page.css"
	carry page_js, "tools/report/page.js"
	carry plots_js, "tools/report/plots.js"
	carry dygraphs_licence, "tools/report/dygraphs-licence.txt"
	carry dygraphs_js, DYGRAPHS_JS
	carry dygraphs_css, DYGRAPHS_CSS
