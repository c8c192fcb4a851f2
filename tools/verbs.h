/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verbs of bbrmon.
 */
#ifndef TOOLS_VERBS_H
#define TOOLS_VERBS_H

#include "cli/options.h"

extern const struct verb verb_snapshot, verb_stream, verb_record, verb_top, verb_report,
	verb_experiment, verb_export;

#endif
