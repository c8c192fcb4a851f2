/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of an experiment's page, which bbrmon carries along. */
#include "carry.inc"

	carry experiment_html, "tools/experiment/page/experiment.html"
	.byte 0
	carry experiment_css, "tools/experiment/page/experiment.css"
	carry experiment_js, "tools/experiment/page/experiment.js"
