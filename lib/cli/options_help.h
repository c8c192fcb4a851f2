/* SPDX-License-Identifier: GPL-2.0-only */
/* What --help prints. */
#ifndef LIB_OPTIONS_HELP_H
#define LIB_OPTIONS_HELP_H

#include <stdio.h>

#include "options.h"

/* The options that every verb has. */
enum common_option {
	COMMON_VERBOSE,
	COMMON_HELP,
	COMMON_VERSION,
};

extern const struct option_def common_options[];

void help_print_program(FILE *out, const struct program *program);
/* The help of all verbs whose first word is this one. */
void help_print_group(const struct program *program, const char *word);
void help_print_verb(const struct program *program, const struct verb *verb);

/* Does the verb have two words, and is this the first of them? */
bool verb_is_in_group(const struct verb *verb, const char *word);

#endif
