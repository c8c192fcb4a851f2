/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The screens of bbrmon top: its list of connections, its page for one, its help.
 */
#ifndef TOOLS_TOP_LIST_H
#define TOOLS_TOP_LIST_H

#include "top.h"

/* Rows of the list that the screen has room for. */
int list_height(void);

/* The caller draws the footer. */
void list_draw(struct top *t);
void page_draw(const struct top *t, const struct conn *c);
void help_draw(void);

#endif
