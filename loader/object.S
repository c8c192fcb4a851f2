/* SPDX-License-Identifier: GPL-2.0-only */
/* What bbrctl carries along, so that one file is all that is needed. */
	.section .rodata
	.macro carry name, file
	.balign 8
	.globl \name
\name:
	.incbin "\file"
	.globl \name\()_end
\name\()_end:
	.endm

	carry bbr_object, BBR_OBJECT
	carry migrate_object, MIGRATE_OBJECT
	carry attach_object, ATTACH_OBJECT
	carry bbr_profiles, "loader/profiles.ini"
	.section .note.GNU-stack, "", %progbits
