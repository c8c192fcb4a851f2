/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF object as a part of bbrctl, so that one file is all that is needed to load it. */
	.section .rodata
	.balign 8
	.globl bbr_object
bbr_object:
	.incbin BBR_OBJECT
	.globl bbr_object_end
bbr_object_end:
	.section .note.GNU-stack, "", %progbits
