/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of an experiment's page, which bbrmon carries along. */
#include "carry.inc"

	carry experiment_html, "experiment/results/page/experiment.html"
	.byte 0
	carry experiment_css, "experiment/results/page/experiment.css"
	carry experiment_js, "experiment/results/page/experiment.js"
