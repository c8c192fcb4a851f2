/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording of BBR version 3: a line of JSON, its header, and records (record.h); all compressed
 * by zstd. The header says how many records of each kind there should be.
 */
#ifndef ORACLE_BBR3_V3R_H
#define ORACLE_BBR3_V3R_H

#include <stdbool.h>
#include <stdio.h>
#include <zstd.h>

#include "record.h"

#define V3R_FORMAT "v3-callbacks 1"

struct v3r {
	const char *path;
	FILE *file;
	ZSTD_DStream *zstd;
	ZSTD_inBuffer in;
	size_t hint; /* 0: a zstd frame is complete */
	char input[128 << 10];
	unsigned int hz; /* jiffies per second */
	__u64 recorded[KINDS];
};

/* All of these end the program with a message if the file cannot be read, or is damaged. */
void v3r_open(struct v3r *r, const char *path);
bool v3r_read(struct v3r *r, struct record *record); /* false at the end */
void v3r_close(struct v3r *r, const __u64 seen[KINDS]); /* seen: number read of each kind */

#endif
