/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF objects embedded in bbrmon. */
#include "carry.inc"

#include "probes.inc"
