/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the pages of reports and experiments, embedded in bbrmon. */
#include "carry.inc"

	carry page_html, "tools/report/page/page.html"
	.byte 0
	carry page_css, "tools/report/page/page.css"
	carry page_js, "tools/report/page/page.js"
	carry plots_js, "tools/report/page/plots.js"
	carry dygraphs_licence, "tools/report/page/dygraphs-licence.txt"
	carry dygraphs_js, DYGRAPHS_JS
	carry dygraphs_css, DYGRAPHS_CSS
	carry experiment_html, "experiment/results/page/experiment.html"
	.byte 0
	carry experiment_css, "experiment/results/page/experiment.css"
	carry experiment_js, "experiment/results/page/experiment.js"
