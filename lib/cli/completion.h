/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Completion for shells (packaging/completions): `PROGRAM --complete WORD...` prints the candidates
 * for the last of these words, which may be empty. Verbs and options come from the program's
 * tables, values from its completers.
 *
 * Each candidate is a line: the word, a tab, what it means. The line ":files" stands for all files.
 * After a word that ends in = or / the user continues without a blank.
 */
#ifndef LIB_COMPLETION_H
#define LIB_COMPLETION_H

struct program;
struct verb;

struct completion {
	const struct program *program;
	const struct verb *verb; /* NULL: not known yet */
	const char *current; /* what the user has typed of the word */
	char **words; /* all words before it */
	int n;
};

/*
 * Completes the values that --help calls by a name ("NAME", "FILE"), or the values of one option
 * ("--netns").
 */
struct completer {
	const char *of; /* NULL ends a table */
	void (*complete)(const struct completion *c);
};

/* Prints the candidates. Returns an exit status. */
int completion_run(const struct program *program, int n, char **words);

/* For completers: adds a candidate, if it begins with what the user has typed. about may be "". */
void completion_add(const struct completion *c, const char *word, const char *about);

/* The same for a value such as "bw,-rtt": the word follows what comes before its last part. */
void completion_add_to_list(const struct completion *c, const char *word, const char *about);

void completion_add_files(const struct completion *c);

/* The last value of an option on the command line; NULL if the option is not there. */
const char *completion_option(const struct completion *c, const char *name);

/* The name of the verb; "" before there is one. */
const char *completion_verb(const struct completion *c);

#endif
