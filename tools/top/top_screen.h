/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The terminal of bbrmon top. It is given back whatever happens; messages on stderr are kept
 * meanwhile.
 */
#ifndef TOOLS_TOP_SCREEN_H
#define TOOLS_TOP_SCREEN_H

#include <stdbool.h>

#include "descriptor.h"
#include "top.h"

#define SCREEN_MIN_WIDTH 40
#define SCREEN_MIN_HEIGHT 6

enum hue {
	HUE_NONE,
	HUE_DIM,
	HUE_TITLE,
	HUE_CURSOR,
	HUE_GREEN,
	HUE_BLUE,
	HUE_CYAN,
	HUE_MAGENTA,
	HUE_WARN,
	HUE_BAD,
	HUES,
};

/* Exit status; has printed what failed unless it is EXIT_DONE. */
int screen_open(bool colour);
void screen_close(void);

/* The next key, which may be one of curses' keys; -1: none now. */
int screen_key(void);

/* True if the terminal has gone. */
bool screen_is_gone(void);

/* Writes text at a place; a line may have several hues. Writes nothing beyond the screen. */
void screen_put(int y, int x, enum hue hue, const char *text);
/* Writes a line of ASCII from the left edge, as much of it as there is room for. */
void screen_put_line(int y, enum hue hue, const char *text);
int screen_attributes(enum hue hue);

/* The hue of an algorithm's mode, by its number. */
enum hue mode_hue(const struct algorithm *a, unsigned int mode);

/* The last message on stderr, for some seconds; NULL: none. */
const char *screen_message(void);

/*
 * The screens of bbrmon top: its list of connections, its page for one, its help.
 */
/* Rows of the list that the screen has room for. */
int list_height(void);

/* The caller draws the footer. */
void list_draw(struct top *t);
void page_draw(const struct top *t, const struct conn *c);
/* Draws the help from a line on, or its end. Returns the first line that is shown. */
int help_draw(int from);

#endif
