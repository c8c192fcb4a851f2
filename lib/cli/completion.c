// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "err.h"
#include "options.h"

void completion_add(const struct completion *c, const char *word, const char *about)
{
	if (!strncmp(word, c->current, strlen(c->current)))
		printf("%s\t%.*s\n", word, (int)strcspn(about, "\n"), about);
}

void completion_add_to_list(const struct completion *c, const char *word, const char *about)
{
	const char *comma = strrchr(c->current, ',');
	size_t kept = comma ? comma + 1 - c->current : 0;
	char *list AUTO_FREE = NULL;

	kept += strspn(c->current + kept, "+-");
	list = mem_format("%.*s%s", (int)kept, c->current, word);
	completion_add(c, list, about);
}

void completion_add_files(UNUSED const struct completion *c)
{
	puts(":files");
}

const char *completion_option(const struct completion *c, const char *name)
{
	const char *value = NULL;

	for (int i = 0; i + 1 < c->n; i++)
		if (!strncmp(c->words[i], "--", 2) && !strcmp(c->words[i] + 2, name))
			value = c->words[i + 1];
	return value;
}

const char *completion_verb(const struct completion *c)
{
	return c->verb ? c->verb->name : "";
}

static void add_options(const struct completion *c, const struct option_def *defs)
{
	char option[64];

	for (; defs && defs->name; defs++) {
		snprintf(option, sizeof(option), "--%s", defs->name);
		completion_add(c, option, defs->help);
	}
}

/* Adds the first words of verbs, each once, or the second words that follow a first word. */
static void add_verbs(const struct completion *c, const struct command_line *line)
{
	for (const struct verb *const *v = c->program->verbs; *v; v++) {
		int len = strcspn((*v)->name, " ");
		char word[32];

		if (line->n_words) {
			if (verb_is_in_group(*v, line->words[0]))
				completion_add(c, (*v)->name + len + 1, (*v)->brief);
			continue;
		}
		snprintf(word, sizeof(word), "%.*s", len, (*v)->name);
		if (v == c->program->verbs || !verb_is_in_group(v[-1], word))
			completion_add(c, word, (*v)->name[len] ? "" : (*v)->brief);
	}
}

static bool complete_value(const struct completion *c, const char *of)
{
	for (const struct completer *known = c->program->completers; known && known->of; known++)
		if (!strcmp(known->of, of)) {
			known->complete(c);
			return true;
		}
	return false;
}

/*
 * Adds candidates for the k-th argument by its name in --help: "PROFILE" of "PROFILE
 * [KEY=VALUE]...". The last one may be repeated.
 */
static void add_arguments(const struct completion *c, const struct command_line *line)
{
	int k = line->n_words - (strchr(c->verb->name, ' ') ? 2 : 1);
	const char *args = c->verb->args;
	char name[32];

	if (k >= c->verb->max_args)
		return;
	for (; k && strchr(args, ' '); k--)
		args = strchr(args, ' ') + 1;
	args += *args == '[';
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(args, "]. "), args);
	complete_value(c, name);
}

/* Completes an option's value. Another verb's option of this name may take another value. */
static void add_values(const struct completion *c, const struct option_def *option)
{
	char name[64];

	for (const struct option_group *g = c->verb ? c->verb->groups : NULL; g && g->defs; g++)
		for (const struct option_def *d = g->defs; d->name; d++)
			if (!strcmp(d->name, option->name))
				option = d;
	snprintf(name, sizeof(name), "--%s", option->name);
	if (!complete_value(c, name))
		complete_value(c, option->arg);
}

static void complete(const struct completion *c, const struct command_line *line)
{
	if (line->pending) {
		add_values(c, line->pending);
	} else if (c->current[0] == '-') {
		for (const struct option_group *g = c->verb ? c->verb->groups : NULL; g && g->defs;
		     g++)
			add_options(c, g->defs);
		add_options(c, c->program->options);
		add_options(c, common_options);
	} else if (c->verb) {
		add_arguments(c, line);
	} else if (line->n_words < 2) { /* otherwise there is no such verb */
		add_verbs(c, line);
	}
}

int completion_run(const struct program *program, int n, char **words)
{
	static const struct privileges none;
	struct completion c = { .program = program,
				.current = n ? words[n - 1] : "",
				.words = words,
				.n = n ? n - 1 : 0 };
	char **argv AUTO_FREE = mem_new(c.n + 2, sizeof(*argv));
	struct command_line line;
	int ret;

	argv[0] = (char *)program->name;
	for (int i = 0; i < c.n; i++)
		argv[i + 1] = words[i];
	command_line_read(program, c.n + 1, argv, &line);
	c.verb = line.verb;
	privileges_begin(completion_verb(&c), c.verb ? &c.verb->privileges : &none);
	ret = privileges_give_up();
	if (!ret)
		complete(&c, &line);
	return ret;
}
