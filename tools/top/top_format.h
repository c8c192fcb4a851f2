/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values in few columns, as text and as bars, for bbrmon top.
 */
#ifndef TOOLS_TOP_FORMAT_H
#define TOOLS_TOP_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "conns/conn_table.h"

#define BAR_STEPS 8
#define BAR_BYTES 4 /* of one bar, with its closing 0 */

/* "94.5M", at most 5 columns; "-" for NAN. */
void format_short(char *buf, size_t size, double value);
/* Packets, in four columns. */
void format_packets(char *buf, size_t size, double value);
/* Microseconds as milliseconds: "12.3", "0.045". */
void format_ms(char *buf, size_t size, double us);
/* A duration: "1.5s", "3m04", "2h15". */
void format_age(char *buf, size_t size, __u64 ns);
/* An endpoint in `width` columns, at least 21: groups of an IPv6 address may be left out. */
void format_endpoint_in(char *buf, size_t size, const __u32 addr[4], __u16 port, int width,
			bool utf8);
/* A name, with '?' for what a terminal must not get; "-" if it is empty. */
void format_name(char *buf, size_t size, const char *name);

/* A bar of this many eighths of a cell's height, 0 to 8; without UTF-8, a character as heavy. */
const char *bar(int eighths, bool utf8);

/* The height of a value in eighths of `cells` cells, at least one if it is above lowest. NAN: 0. */
int bar_height(double value, double lowest, double highest, int cells);

/*
 * Draws n values, scaled between lowest and highest, into buf, which has room for n * 3 + 1 bytes.
 * Unknown values (NAN) are blanks.
 */
void sparkline(char *buf, const float *values, int n, double lowest, double highest, bool utf8);

#endif
