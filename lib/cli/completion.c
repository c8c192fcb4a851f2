// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "err.h"
#include "options.h"

#define MAX_WORDS 3 /* that matter: the one or two of a verb, and one more */

struct completion {
	const struct program *program;
	const struct verb *verb; /* NULL: not known yet */
	const char *current; /* the word to complete */
	char **words; /* all words before it */
	int n;
	/* The first words that are neither options nor their values. */
	char *plain[MAX_WORDS];
	int n_plain;
	/* The option whose value the current word is; NULL: none. */
	const struct option_def *pending;
};

/* The option of a table that a word names: "--name", "-j"; NULL: there is none. */
static const struct option_def *find_in(const struct option_def *defs, const char *word)
{
	for (; defs && defs->name; defs++)
		if (word[1] == '-' ? !strcmp(defs->name, word + 2) :
				     defs->letter && defs->letter == word[strlen(word) - 1])
			return defs;
	return NULL;
}

static const struct option_def *find_own(const struct verb *verb, const char *word)
{
	const struct option_def *found = NULL;

	for (const struct option_group *g = verb->groups; !found && g && g->defs; g++)
		found = find_in(g->defs, word);
	return found;
}

/* Of any verb: we must know whether an option takes a value before we know the verb. */
static const struct option_def *find_option(const struct program *program, const char *word)
{
	const struct option_def *found = NULL;

	for (const struct verb *const *v = program->verbs; *v && !found; v++)
		found = find_own(*v, word);
	if (!found)
		found = find_in(program->options, word);
	return found ? found : find_in(common_options, word);
}

static void read_words(struct completion *c)
{
	const struct option_def *option;
	char word[64];

	for (int i = 0; i < c->n; i++) {
		if (c->words[i][0] != '-' || !c->words[i][1]) {
			if (c->n_plain < MAX_WORDS)
				c->plain[c->n_plain] = c->words[i];
			c->n_plain++;
			continue;
		}
		option = find_option(c->program, c->words[i]);
		if (!option || !option->arg)
			continue;
		i++; /* its value */
		c->pending = i == c->n ? option : NULL;
	}
	for (const struct verb *const *v = c->program->verbs; *v && !c->verb; v++)
		if (verb_words(*v, c->plain, c->n_plain))
			c->verb = *v;
	if (!c->pending || !c->verb)
		return;
	/* Another verb's option of this name may take another value. */
	snprintf(word, sizeof(word), "--%s", c->pending->name);
	option = find_own(c->verb, word);
	if (option)
		c->pending = option;
}

void completion_add(const struct completion *c, const char *word, const char *about)
{
	if (!strncmp(word, c->current, strlen(c->current)))
		printf("%s\t%.*s\n", word, (int)strcspn(about, "\n"), about);
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

const char *completion_typed(const struct completion *c)
{
	return c->current;
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
static void add_verbs(const struct completion *c)
{
	for (const struct verb *const *v = c->program->verbs; *v; v++) {
		int len = strcspn((*v)->name, " ");
		char word[32];

		if (c->n_plain) {
			if (verb_is_in_group(*v, c->plain[0]))
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
static void add_arguments(const struct completion *c)
{
	int k = c->n_plain - verb_words(c->verb, c->plain, c->n_plain);
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

int completion_run(const struct program *program, int n, char **words)
{
	static const struct privileges none;
	struct completion c = { .program = program,
				.current = n ? words[n - 1] : "",
				.words = words,
				.n = n ? n - 1 : 0 };
	char option[64];

	read_words(&c);
	privileges_begin(completion_verb(&c), c.verb ? &c.verb->privileges : &none);
	if (privileges_give_up())
		return EXIT_REFUSED;
	if (c.pending) {
		snprintf(option, sizeof(option), "--%s", c.pending->name);
		if (!complete_value(&c, option))
			complete_value(&c, c.pending->arg);
	} else if (c.current[0] == '-') {
		for (const struct option_group *g = c.verb ? c.verb->groups : NULL; g && g->defs;
		     g++)
			add_options(&c, g->defs);
		add_options(&c, program->options);
		add_options(&c, common_options);
	} else if (!c.verb) {
		if (c.n_plain < 2) /* otherwise there is no such verb */
			add_verbs(&c);
	} else {
		add_arguments(&c);
	}
	return EXIT_DONE;
}
