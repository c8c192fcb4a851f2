// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR version 3 for networks that mark packets at a short queue: it negotiates ECN, and reacts to
 * marks.
 */
#define BBR_NEEDS_ECN
#include "shell.bpf.h"

SHELL_OPS(bpf_bbr3_ecn);
