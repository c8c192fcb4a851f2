/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads INI files: [SECTION], KEY = VALUE, comments. Reports where a mistake is.
 */
#ifndef LOADER_INI_FILE_H
#define LOADER_INI_FILE_H

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>

/* After what the functions print, the reader prints the line's number. */
struct ini_reader_ops {
	int (*section)(void *user, const char *name);
	int (*pair)(void *user, const char *section, const char *key, const char *value);
	const char *const *lists; /* keys that a section may have many times, up to a NULL */
};

/* Reads f to its end, or to a mistake; `name` is for messages. */
int ini_file_read(FILE *f, const char *name, const struct ini_reader_ops *ops, void *user);
/* The same for a path, "-" for the standard input. */
int ini_file_read_path(const char *path, const struct ini_reader_ops *ops, void *user);

/* A comment is a line that begins with ; or #, and what follows a blank and a ; in any other. */
void ini_cut_comment(char *line);

/* Cuts KEY = VALUE or KEY: VALUE in two, without blanks around them. False: it is something else. */
bool ini_cut_pair(char *line, char **key, char **value);

/* The first line may begin with it. */
#define INI_BOM "\xef\xbb\xbf"

/* The files of a pattern, sorted; none if the folder does not exist. Free them with globfree(). */
void ini_files_find(const char *pattern, glob_t *found);

#endif
