/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines, from tables: what a program and its verbs take is read, checked and explained by --help from the
 * same lines.
 *
 * Options may stand anywhere, before the verb as well, and between its two words if it has two. Every verb has -v, -h
 * and --version besides its own.
 */
#ifndef LIB_OPTIONS_H
#define LIB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "privileges.h"

/* The values of an option that was given several times. */
struct value_list {
	const char **arg;
	int n;
};

struct option_def {
	const char *name; /* without its --; NULL ends a table */
	char letter; /* short form, or 0 */
	const char *arg; /* what --help calls its value; NULL: it takes none */
	/* Reads the value into a member; false after printing what is wrong. `option` is as written, "--every". */
	bool (*parse)(const char *option, const char *value, void *to);
	size_t member; /* offset in the struct that the table fills */
	const char *help; /* lines but for the last end in \n */
};

struct option_group {
	const struct option_def *defs; /* NULL ends the groups */
	size_t offset; /* of the struct that they fill, in that of the verb */
};

struct verb {
	const char *name; /* one word, or two with a blank */
	const char *args; /* what must be given and what is no option, as --help shows it, or "" */
	const char *brief; /* what it does: a line in the list of verbs */
	const char *about; /* the same, longer, for its own --help; NULL: brief says it */
	const struct option_group *groups; /* NULL: none */
	int min_args, max_args; /* what is no option */
	size_t size; /* of its struct */
	void (*init)(void *options); /* the struct's values without any option; NULL: all zeros */
	/* argv[0] is its name, what follows no options. Returns an exit status (err.h). */
	int (*run)(void *options, int argc, char **argv);
};

struct program {
	const char *name, *version;
	const char *about; /* for --help, before the list of verbs */
	void (*print_notes)(FILE *out); /* at its end; NULL: nothing */
	const struct verb *const *verbs; /* NULL ends them */
	const struct option_def *options; /* that every verb has, in its struct; NULL: none */
	const struct privileges_of *privileges; /* of the verbs */
	const struct completer *completers; /* of their values, for shells; NULL: none */
	/*
	 * The verbs call privileges_take() themselves, after they have checked what they were given; otherwise it is
	 * done before they run.
	 */
	bool verbs_take_privileges;
};

/* Reads the command line and runs the verb, or completes it (completion.h). Returns an exit status. */
int program_run(const struct program *program, int argc, char **argv);

/* Values: bool (without a value), const char *, struct value_list (to be freed by nobody but program_run()). */
bool option_flag(const char *option, const char *value, void *to);
bool option_text(const char *option, const char *value, void *to);
bool option_append(const char *option, const char *value, void *to);

#endif
