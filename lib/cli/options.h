/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines from tables: the same lines serve to read and check what a program and its verbs
 * take, and to explain it in --help.
 *
 * Options may come anywhere, even before the verb, or between its two words if it has two. Every
 * verb has -v, -h and --version besides its own. `help VERB` is `VERB --help`.
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

/*
 * Reads a value into a member. Returns false after printing what is wrong. `option` is as written:
 * "--every".
 */
typedef bool (*option_parser)(const char *option, const char *value, void *to);

struct option_def {
	const char *name; /* without its --; NULL ends a table */
	char letter; /* short form, or 0 */
	const char *arg; /* what --help calls its value; NULL: it takes none */
	option_parser parse;
	size_t member; /* offset in the struct that the table fills */
	const char *help; /* --help wraps it; \n is as a blank */
};

struct option_group {
	const struct option_def *defs; /* NULL ends the groups */
	size_t offset; /* of the struct that they fill, within the verb's struct */
};

struct verb {
	struct privileges privileges;
	const char *name; /* one word, or two with a blank */
	const char *args; /* its arguments, as --help shows them; NULL: none */
	const char *brief; /* what it does: a line in the list of verbs */
	const char *about; /* the same, longer, for its own --help; NULL: use brief */
	const struct option_group *groups; /* NULL: none */
	int min_args, max_args; /* without the options */
	size_t size; /* of its struct */
	void (*init)(void *options); /* sets the defaults of the struct; NULL: all zeros */
	/* argv[0] is its name; the rest are not options. Returns an exit status (err.h). */
	int (*run)(void *options, int argc, char **argv);
};

/*
 * Defines a verb in a file of its own: NEEDS() says which capabilities it needs, and its other
 * members follow. A program's list of verbs names them by VERB_OF(). So a verb that does not say
 * what it needs does not compile.
 */
#define VERB_OF(word) verb_with_privileges_##word
#define VERB(word, needs, ...) \
	const struct verb VERB_OF(word) = { .privileges = needs, .name = #word, __VA_ARGS__ }

struct program {
	const char *name, *version;
	const char *about; /* for --help, before the list of verbs */
	void (*print_notes)(FILE *out); /* at the end of --help; NULL: nothing */
	const struct verb *const *verbs; /* NULL ends them */
	const struct option_def *options; /* that every verb has, in its struct; NULL: none */
	/*
	 * Options with this parser, or with option_append(), may appear several times. Any other that
	 * takes a value may not, or all its values but one would be lost.
	 */
	option_parser repeats;
	const struct completer *completers; /* of their values, for shells; NULL: none */
	/*
	 * The verbs call privileges_take() themselves, after they have checked their arguments.
	 * Otherwise it is called before they run. In both cases they run without all that they may
	 * not have.
	 */
	bool verbs_take_privileges;
};

/* Runs the verb of the command line, or completes it (completion.h). Returns an exit status. */
int program_run(const struct program *program, int argc, char **argv);

/* Parse into bool (no value), const char *, or struct value_list, which program_run() frees. */
bool option_flag(const char *option, const char *value, void *to);
bool option_text(const char *option, const char *value, void *to);
bool option_append(const char *option, const char *value, void *to);

/* The options that every verb has. */
enum common_option {
	COMMON_VERBOSE,
	COMMON_HELP,
	COMMON_VERSION,
};

extern const struct option_def common_options[];

/* True if this is the first of a verb's two words. */
bool verb_is_in_group(const struct verb *verb, const char *word);

/* A command line, and what was found on it without knowing the verb. */
struct command_line {
	const struct verb *verb; /* NULL: no verb has this name */
	char **words; /* that are not options; without "help", if that is the first */
	int n_words;
	bool is_help; /* it is */
	bool wants_help, wants_version;
	const char *unknown; /* an option that no verb has, or whose value is missing */
	const struct option_def
		*pending; /* of any verb: its value is missing at the end; or NULL */
};

/*
 * Parses with the options of all verbs, because options may come before the verb and some take a
 * value. Reorders argv: the words come last.
 */
void command_line_read(const struct program *program, int argc, char **argv,
		       struct command_line *line);

#endif
