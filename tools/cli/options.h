/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines of verbs, from tables: what a verb takes is read, checked and explained by --help from
 * the same lines.
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

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
	size_t member; /* offset in the group's struct */
	const char *help; /* lines but for the last end in \n */
};

struct option_group {
	const struct option_def *defs; /* NULL ends the groups */
	void *base; /* the struct that is filled */
};

struct command {
	const char *verb;
	const char *args; /* what --help calls what is not an option, "" if there is nothing */
	const char *about; /* what it does, for --help */
	const struct option_group *groups;
	int min_args, max_args;
};

/*
 * Reads a verb's command line, argv[0] being the verb, and keeps just the capabilities that it needs for
 * that (privileges.h). Every verb also has -v, -h and --version. Returns -1 to go on, what is not an option
 * being argv[optind] and after; or an exit status.
 */
int options_parse(const struct command *command, int argc, char **argv);

void print_version(void);

/* Values: bool (without a value), const char *, struct value_list. */
bool option_flag(const char *option, const char *value, void *to);
bool option_text(const char *option, const char *value, void *to);
bool option_append(const char *option, const char *value, void *to);

#endif
