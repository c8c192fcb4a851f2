/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals that end a verb: SIGINT, SIGTERM, and SIGHUP unless it was ignored at the start, as with
 * nohup(1).
 *
 * The first one asks for an orderly end. While nobody reads our output it has no effect, because a
 * write that a signal cuts short would tear a line. So a second SIGINT or SIGTERM has its default
 * effect. A second SIGHUP has no effect: when a terminal is closed, one comes from its shell, and
 * one from the kernel when that shell ends. A reader of stdout that goes away does not end a verb by
 * a signal either.
 */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);
bool is_interrupted(void);

#endif
