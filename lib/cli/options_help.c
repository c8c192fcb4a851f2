// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "options_help.h"

#define HELP_COLUMN 22

const struct option_def common_options[] = {
	[COMMON_VERBOSE] = { "verbose", 'v', NULL, NULL, 0,
			     "show messages from libbpf and the verifier" },
	[COMMON_HELP] = { "help", 'h', NULL, NULL, 0, "print this help" },
	[COMMON_VERSION] = { "version", 0, NULL, NULL, 0, "print the version" },
	{},
};

bool verb_is_in_group(const struct verb *verb, const char *word)
{
	size_t len = strlen(word);

	return len && !strncmp(verb->name, word, len) && verb->name[len] == ' ';
}

/*
 * Prints a text in a column, on one or more lines. width: what its first line already has before
 * it.
 */
static void print_column(FILE *out, int column, int width, const char *text)
{
	if (width >= column) {
		fputc('\n', out);
		width = 0;
	}
	while (text) {
		int len = strcspn(text, "\n");

		fprintf(out, "%*s%.*s\n", column - width, "", len, text);
		text = text[len] ? text + len + 1 : NULL;
		width = 0;
	}
}

static void print_options(FILE *out, const struct option_def *defs)
{
	for (const struct option_def *d = defs; d->name; d++) {
		char names[64];
		int width;

		snprintf(names, sizeof(names), "--%s%s%s", d->name, d->arg ? " " : "",
			 d->arg ? d->arg : "");
		if (d->letter)
			width = fprintf(out, "  -%c, %s", d->letter, names);
		else
			width = fprintf(out, "      %s", names);
		print_column(out, HELP_COLUMN, width, d->help);
	}
}

/* Prints all verbs or, if `word` is not NULL, those of its group. */
static void print_verbs(FILE *out, const struct program *program, const char *word)
{
	int column = 0;

	for (const struct verb *const *v = program->verbs; *v; v++)
		if (column < (int)strlen((*v)->name) + 4)
			column = strlen((*v)->name) + 4;
	for (const struct verb *const *v = program->verbs; *v; v++)
		if (!word || verb_is_in_group(*v, word))
			print_column(out, column, fprintf(out, "  %s", (*v)->name), (*v)->brief);
}

void help_print_program(FILE *out, const struct program *program)
{
	fprintf(out, "usage: %s VERB [options]\n\n%s\n\n", program->name, program->about);
	print_verbs(out, program, NULL);
	fprintf(out, "\nOptions of every verb; `%s VERB --help` lists its own:\n", program->name);
	if (program->options)
		print_options(out, program->options);
	print_options(out, common_options);
	if (!program->print_notes)
		return;
	fputc('\n', out);
	program->print_notes(out);
}

void help_print_group(const struct program *program, const char *word)
{
	printf("usage: %s %s VERB [options]\n\n", program->name, word);
	print_verbs(stdout, program, word);
	printf("\n`%s %s VERB --help` lists the options of a verb.\n", program->name, word);
}

void help_print_verb(const struct program *program, const struct verb *verb)
{
	printf("usage: %s %s [options]%s%s\n\n%s\n\n", program->name, verb->name,
	       verb->args ? " " : "", verb->args ? verb->args : "",
	       verb->about ? verb->about : verb->brief);
	for (const struct option_group *g = verb->groups; g && g->defs; g++)
		print_options(stdout, g->defs);
	if (program->options)
		print_options(stdout, program->options);
	print_options(stdout, common_options);
	privileges_print(&verb->privileges);
	for (const struct option_group *g = verb->groups; g && g->defs; g++)
		for (const struct option_def *d = g->defs; d->name; d++)
			privileges_print_option(&verb->privileges, d->name);
}
