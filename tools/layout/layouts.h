/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All layouts: one for each algorithm that the tools know, and one for each other description that was read. They and
 * their algorithms live as long as the process: what was read is shown after its file was closed.
 */
#ifndef TOOLS_LAYOUTS_H
#define TOOLS_LAYOUTS_H

#include "layout.h"

/* The layout of an algorithm's events. NULL: there is no memory. */
const struct layout *layout_of(const struct algorithm *algorithm);

/* The layout that has this id. NULL: there is none. */
const struct layout *layout_find(__u32 id);

/* The layout that is described so. NULL: it is no description, or there were too many. */
const struct layout *layout_read(const __u8 *description, size_t size);

/* Forgets all layouts that were read. */
void layout_forget(void);

#endif
