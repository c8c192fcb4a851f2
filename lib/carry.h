/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For assembler: `carry name, "file"` puts a file into the program, from name to name_end, so that one file is all
 * that is needed to run it.
 */
	.section .note.GNU-stack, "", %progbits
	.section .rodata
	.macro carry name, file
	.balign 8
	.globl \name
\name:
	.incbin "\file"
	.globl \name\()_end
\name\()_end:
	.endm
