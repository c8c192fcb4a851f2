/* SPDX-License-Identifier: GPL-2.0-only */
/* What bbrmon carries along, so that one file is all that is needed. */
	.section .rodata
	.macro carry name, file
	.balign 8
	.globl \name
\name:
	.incbin "\file"
	.globl \name\()_end
\name\()_end:
	.endm

	carry probe_object, PROBE_OBJECT
	.section .note.GNU-stack, "", %progbits
