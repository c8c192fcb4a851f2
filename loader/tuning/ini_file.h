/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * INI files, by libinih, with the place of a mistake.
 */
#ifndef LOADER_INI_FILE_H
#define LOADER_INI_FILE_H

#include <stdio.h>

/* Both return EXIT_DONE to go on, or another status after printing what is wrong; the place is added. */
struct ini_reader_ops {
	int (*section)(void *user, const char *name);
	int (*pair)(void *user, const char *section, const char *key, const char *value);
};

/* Reads f to its end; `name` is for messages. EXIT_DONE, or what an operation returned, or EXIT_USAGE. */
int ini_file_read(FILE *f, const char *name, const struct ini_reader_ops *ops, void *user);

#endif
