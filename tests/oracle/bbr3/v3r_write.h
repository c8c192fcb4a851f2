/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a recording of BBR version 3 (v3r.h). The header is at the start, but its content is known
 * only at the end. So the records first go to a file of their own, PATH.records, which is removed
 * afterwards.
 */
#ifndef ORACLE_BBR3_V3R_WRITE_H
#define ORACLE_BBR3_V3R_WRITE_H

#include <stdio.h>
#include <zstd.h>

#include "record.h"

struct json_object;

struct v3r_writer {
	const char *path;
	char records_path[4096];
	FILE *records;
	ZSTD_CStream *zstd;
};

/* All of these end the program with a message if the file cannot be written. */
void v3r_create(struct v3r_writer *w, const char *path);
void v3r_write(struct v3r_writer *w, const struct record *record);
void v3r_finish(struct v3r_writer *w, struct json_object *header);

#endif
