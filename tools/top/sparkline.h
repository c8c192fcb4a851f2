/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers as bars of one column each.
 */
#ifndef TOOLS_SPARKLINE_H
#define TOOLS_SPARKLINE_H

#include <stdbool.h>

#define BAR_STEPS 8
#define BAR_BYTES 4 /* of one, with its closing 0 */

/* A bar of so many eighths of a cell's height, 0 to 8. Without UTF-8 a character that looks as heavy. */
const char *bar(int eighths, bool utf8);

/* How many eighths of `cells` cells a value is, at least one if it is above lowest. NAN: 0. */
int bar_height(double value, double lowest, double highest, int cells);

/*
 * n values scaled between lowest and highest into buf, which has room for n * 3 + 1 bytes; unknown ones
 * (NAN) are blanks.
 */
void sparkline(char *buf, const float *values, int n, double lowest, double highest, bool utf8);

#endif
