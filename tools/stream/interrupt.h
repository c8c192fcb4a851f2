/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals that end a verb: SIGINT, SIGTERM, and SIGHUP unless it was ignored when we began, as with nohup(1).
 *
 * The first one asks for an orderly end. A second SIGINT or SIGTERM has its default effect, because the
 * first has none while nobody reads our output: a write that a signal cuts short would tear a line. A
 * second SIGHUP has no effect: of a terminal that is closed one comes from its shell, and one from the
 * kernel when that shell ends.
 */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);
bool is_interrupted(void);

#endif
