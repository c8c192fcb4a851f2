/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All layouts: one for each algorithm that the tools know, and one for each other description that
 * was read. They and their algorithms live as long as the process, as events that were read are
 * shown after their file was closed; only tests call layout_forget().
 */
#ifndef TOOLS_LAYOUTS_H
#define TOOLS_LAYOUTS_H

#include "layout.h"

/* The layout of an algorithm's events. NULL: no memory, or it cannot be described. */
const struct layout *layout_of(const struct algorithm *algorithm);

/* The layout that has this id. NULL: there is none. */
const struct layout *layout_find(__u32 id);

/* The layout with this description. NULL: no memory, not a description, or too many were read. */
const struct layout *layout_read(const __u8 *description, size_t size);

/* The i-th algorithm that was read, the latest one first; NULL: there are no more. */
const struct algorithm *layout_described(size_t i);

/* Forgets all layouts that were read. */
void layout_forget(void);

#endif
