/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a report's page: bbrmon carries them along, so that nothing has to be found at run time. */
	.section .rodata
	.macro carry name, file
	.globl \name
\name:
	.incbin "\file"
	.globl \name\()_end
\name\()_end:
	.endm

	carry page_html, "tools/report/page.html"
	.byte 0
	carry page_css, "tools/report/page.css"
	carry page_js, "tools/report/page.js"
	carry plots_js, "tools/report/plots.js"
	carry dygraphs_licence, "tools/report/dygraphs-licence.txt"
	carry dygraphs_js, DYGRAPHS_JS
	carry dygraphs_css, DYGRAPHS_CSS
	.section .note.GNU-stack, "", %progbits
