/* SPDX-License-Identifier: GPL-2.0-only */
/* Candidates for the values of bbrctl's command line (lib/cli/completion.h). */
#ifndef LOADER_COMPLETERS_H
#define LOADER_COMPLETERS_H

#include "cli/completion.h"

extern const struct completer bbrctl_completers[];

#endif
