/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values in few columns, for bbrmon top.
 */
#ifndef TOOLS_TOP_FORMAT_H
#define TOOLS_TOP_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "conns/conn_table.h"

/* "94.5M", at most 5 columns; "-" for NAN. */
void format_short(char *buf, size_t size, double value);
/* Packets, in four columns. */
void format_packets(char *buf, size_t size, double value);
/* Milliseconds of microseconds: "12.3", "0.045". */
void format_ms(char *buf, size_t size, double us);
/* A time: "1.5s", "3m04", "2h15". */
void format_age(char *buf, size_t size, __u64 ns);
/* An endpoint in so many columns, at least 21: of an IPv6 address groups may be left out. */
void format_endpoint_in(char *buf, size_t size, const __u32 addr[4], __u16 port, int width,
			bool utf8);
/* A name as far as a terminal may have it. */
void format_name(char *buf, size_t size, const char *name);
/* "PROBE_BW/5" */
void format_mode(char *buf, size_t size, const struct conn *c);

#endif
