/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The terminal of bbrmon top: taken, given back whatever happens, and what is said on stderr meanwhile.
 */
#ifndef TOOLS_TOP_SCREEN_H
#define TOOLS_TOP_SCREEN_H

#include <stdbool.h>

#include "descriptor.h"

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

/* Keys, those of curses among them; -1: none now. */
int screen_key(void);

/* Is nobody there any more? */
bool screen_is_gone(void);

/* Text at a place; more than one hue may be in a line. Nothing is written beyond the screen. */
void screen_put(int y, int x, enum hue hue, const char *text);
int screen_attributes(enum hue hue);

/* Of an algorithm's modes, by their numbers. */
enum hue mode_hue(const struct algorithm *a, unsigned int mode);

/* The last line that was said on stderr, for some seconds; NULL: nothing. */
const char *screen_message(void);

#endif
