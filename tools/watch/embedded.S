/* SPDX-License-Identifier: GPL-2.0-only */
/* What bbrmon carries along. */
#include "carry.inc"

#include "probes.inc"
