/* SPDX-License-Identifier: GPL-2.0-only */
/* What bbrmon carries along. */
#include "carry.inc"

	carry probe_object, PROBE_OBJECT
