/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of one connection in pieces of text: the values that every connection has and, between
 * them, the fields of its algorithm.
 */
#ifndef TOOLS_TOP_FIELDS_H
#define TOOLS_TOP_FIELDS_H

#include "conns/conn_table.h"

#define PIECE_LEN 128

/* Hands on the pieces in order: "mode PROBE_BW/3 for 1.5s", "bw 94.5M", ... */
void top_fields(const struct conn *c, __u64 now_ns, void (*put)(void *ctx, const char *piece),
		void *ctx);

#endif
