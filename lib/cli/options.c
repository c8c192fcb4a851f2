// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "completion.h"
#include "err.h"
#include "options.h"
#include "text.h"

#define HELP_COLUMN 22
#define MAX_OPTIONS 128
#define MAX_WORD 32 /* of a verb */
#define FIRST 256 /* what getopt_long() returns for the first option of the table */

const struct option_def common_options[] = {
	[COMMON_VERBOSE] = { "verbose", 'v', NULL, NULL, 0,
			     "show messages from libbpf and the verifier" },
	[COMMON_HELP] = { "help", 'h', NULL, NULL, 0, "print this help" },
	[COMMON_VERSION] = { "version", 'V', NULL, NULL, 0, "print the version" },
	{},
};

bool verb_is_in_group(const struct verb *verb, const char *word)
{
	size_t len = strlen(word);

	return len && !strncmp(verb->name, word, len) && verb->name[len] == ' ';
}

/* True if the words, from the first on, are the verb's name. */
static bool is_named(const struct verb *verb, char *const *words, int n)
{
	const char *blank = strchr(verb->name, ' ');

	if (!blank)
		return n && !strcmp(words[0], verb->name);
	return n > 1 && verb_is_in_group(verb, words[0]) && !strcmp(words[1], blank + 1);
}

/* Prints the words of a text in a column. width: what its first line already has before it. */
static void print_column(FILE *out, int column, int width, const char *text)
{
	if (width >= column) {
		fputc('\n', out);
		width = 0;
	}
	fprintf(out, "%*s", column - width, "");
	text_print_wrapped(out, text, column, column, TEXT_WIDTH, false);
}

static void print_options(FILE *out, const struct option_def *defs)
{
	for (const struct option_def *d = defs; d && d->name; d++) {
		int width = d->letter ? fprintf(out, "  -%c, ", d->letter) : fprintf(out, "      ");

		width += fprintf(out, "--%s%s%s", d->name, d->arg ? " " : "", d->arg ? d->arg : "");
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

static void print_help_of_program(FILE *out, const struct program *program)
{
	fprintf(out, "usage: %s VERB [options]\n\n", program->name);
	text_print_wrapped(out, program->about, 0, 0, TEXT_WIDTH, false);
	fputc('\n', out);
	print_verbs(out, program, NULL);
	fprintf(out, "\nOptions of every verb; `%s VERB --help` lists its own:\n", program->name);
	print_options(out, program->options);
	print_options(out, common_options);
	if (!program->print_notes)
		return;
	fputc('\n', out);
	program->print_notes(out);
}

static int print_help_of_verb(const struct program *program, const struct verb *verb)
{
	printf("usage: %s %s [options]%s%s\n\n", program->name, verb->name, verb->args ? " " : "",
	       verb->args ? verb->args : "");
	text_print_wrapped(stdout, verb->about ? verb->about : verb->brief, 0, 0, TEXT_WIDTH,
			   false);
	putchar('\n');
	for (const struct option_group *g = verb->groups; g && g->defs; g++)
		print_options(stdout, g->defs);
	print_options(stdout, program->options);
	print_options(stdout, common_options);
	privileges_print(&verb->privileges);
	for (const struct option_group *g = verb->groups; g && g->defs; g++)
		for (const struct option_def *d = g->defs; d->name; d++)
			privileges_print_option(&verb->privileges, d->name);
	return EXIT_DONE;
}

/* What getopt_long() needs, and where each of its options comes from. */
struct parser {
	struct option long_options[MAX_OPTIONS + 1];
	char letters[2 * MAX_OPTIONS + 2];
	const struct option_def *defs[MAX_OPTIONS];
	size_t offsets[MAX_OPTIONS];
	bool is_seen[MAX_OPTIONS];
	int n;
};

/* The index of the first option with this name, or p->n. */
static int first_of(const struct parser *p, const char *name)
{
	int i = 0;

	while (i < p->n && strcmp(p->defs[i]->name, name))
		i++;
	return i;
}

/*
 * The first option with a name counts, and the first with a letter. If another one of the name has a
 * letter, that has a place of its own.
 */
static void add_options(struct parser *p, const struct option_def *defs, size_t offset)
{
	for (const struct option_def *d = defs; d && d->name; d++) {
		char letter[] = { d->letter, d->arg ? ':' : 0, 0 };
		bool is_new_letter = d->letter && !strchr(p->letters, d->letter);
		int has_arg = d->arg ? required_argument : no_argument,
		    first = first_of(p, d->name);

		if (first < p->n && !is_new_letter)
			continue;
		if (p->n == MAX_OPTIONS)
			abort();
		if (is_new_letter)
			strcat(p->letters, letter);
		p->long_options[p->n] = (struct option){ d->name, has_arg, NULL, FIRST + first };
		p->defs[p->n] = d;
		p->offsets[p->n] = offset;
		p->n++;
	}
}

static void add_verb(struct parser *p, const struct program *program, const struct verb *verb)
{
	for (const struct option_group *g = verb->groups; g && g->defs; g++)
		add_options(p, g->defs, g->offset);
	add_options(p, program->options, 0);
}

/* The index of the option that getopt_long() found; -1 if it is none of ours. */
static int find(const struct parser *p, int c)
{
	if (c >= FIRST)
		return c - FIRST;
	for (int i = 0; i < p->n; i++)
		if (p->defs[i]->letter == c)
			return i;
	return -1;
}

/* The option that getopt_long() has refused. Only the last one of a letter is kept. */
static const char *refused_option(char **argv)
{
	static char letter[3];

	if (!optopt || optopt >= FIRST)
		return argv[optind - 1];
	snprintf(letter, sizeof(letter), "-%c", optopt);
	return letter;
}

static bool begins_with(const char *text, const char *begin)
{
	return *begin && !strncmp(text, begin, strlen(begin));
}

static bool is_group(const struct program *program, const char *word)
{
	for (const struct verb *const *v = program->verbs; *v; v++)
		if (verb_is_in_group(*v, word))
			return true;
	return false;
}

/* True if the words are the beginnings of the verb's words. The first word of a group is whole. */
static bool may_mean(const struct program *program, const struct verb *verb, char *const *words,
		     int n)
{
	const char *blank = strchr(verb->name, ' ');

	if (!n || !begins_with(verb->name, words[0]))
		return false;
	return blank ? n > 1 && begins_with(blank + 1, words[1]) : !is_group(program, words[0]);
}

/* The verb that the words name, or the only one that they may mean, as with ip(8). */
static const struct verb *find_verb(const struct program *program, char *const *words, int n)
{
	const struct verb *found = NULL;
	int n_found = 0;

	for (const struct verb *const *v = program->verbs; *v; v++) {
		if (is_named(*v, words, n))
			return *v;
		if (may_mean(program, *v, words, n)) {
			found = *v;
			n_found++;
		}
	}
	return n_found == 1 ? found : NULL;
}

void command_line_read(const struct program *program, int argc, char **argv,
		       struct command_line *line)
{
	struct parser p = { .letters = ":" };
	int c;

	*line = (struct command_line){};
	add_options(&p, common_options, 0);
	for (const struct verb *const *v = program->verbs; *v; v++)
		add_verb(&p, program, *v);
	opterr = 0; /* we print our own messages */
	optind = 0; /* getopt starts again */
	while ((c = getopt_long(argc, argv, p.letters, p.long_options, NULL)) != -1) {
		int i = c == '?' || c == ':' ? -1 : find(&p, c);

		if (i < 0 && !line->unknown)
			line->unknown = refused_option(argv);
		if (c == ':')
			line->pending = p.defs[find(&p, optopt)];
		line->wants_help |= i == COMMON_HELP;
		line->wants_version |= i == COMMON_VERSION;
	}
	line->words = argv + optind;
	line->n_words = argc - optind;
	line->is_help = line->n_words && !strcmp(line->words[0], "help");
	if (line->is_help) {
		line->wants_help = true;
		line->words++;
		line->n_words--;
	}
	line->verb = find_verb(program, line->words, line->n_words);
}

/* Says which verbs have this second word. False: none has. */
static bool suggest_group(const struct program *program, const char *word)
{
	char *list AUTO_FREE = mem_copy("");

	for (const struct verb *const *v = program->verbs; *v; v++) {
		const char *blank = strchr((*v)->name, ' ');

		if (blank && !strcmp(blank + 1, word))
			list = mem_join(list, " or ", (*v)->name);
	}
	if (*list)
		remedy("did you mean %s?", list);
	return *list;
}

static void suggest(const struct program *program, const char *group, const char *word)
{
	size_t best = 0;
	char nearest[MAX_WORD] = "", first[MAX_WORD];

	if (!group && suggest_group(program, word))
		return;
	for (const struct verb *const *v = program->verbs; *v; v++) {
		const char *name = (*v)->name;

		if (group && !verb_is_in_group(*v, group))
			continue;
		if (group)
			name += strlen(group) + 1;
		snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, " "), name);
		if (text_is_nearer(word, first, &best))
			strcpy(nearest, first);
	}
	if (nearest[0])
		remedy("did you mean %s%s%s?", group ? group : "", group ? " " : "", nearest);
	else if (group)
		remedy("%s %s --help lists the verbs that begin with it", program->name, group);
	else
		remedy("%s --help lists them", program->name);
}

/* Prints the verbs that the words may mean. False: there are none. */
static bool refuse_ambiguous(const struct program *program, const struct command_line *line)
{
	char *list AUTO_FREE = mem_copy("");
	bool have_two_words = true;

	for (const struct verb *const *v = program->verbs; *v; v++) {
		if (!may_mean(program, *v, line->words, line->n_words))
			continue;
		have_two_words &= strchr((*v)->name, ' ') != NULL;
		list = mem_join(list, ", ", (*v)->name);
	}
	if (*list)
		err("%s%s%s: which of %s?", line->words[0], have_two_words ? " " : "",
		    have_two_words ? line->words[1] : "", list);
	return *list;
}

/* Prints the verbs of the groups that the word begins. False: it begins none. */
static bool refuse_half(const struct program *program, const char *word)
{
	char *list AUTO_FREE = mem_copy("");

	for (const struct verb *const *v = program->verbs; *v; v++)
		if (begins_with((*v)->name, word) && strchr((*v)->name, ' '))
			list = mem_join(list, ", ", (*v)->name);
	if (*list)
		err("%s: its second word is missing\n"
		    "one of: %s",
		    word, list);
	return *list;
}

static int refuse_words(const struct program *program, const struct command_line *line)
{
	const char *word = line->words[0];

	if (refuse_ambiguous(program, line) || (line->n_words == 1 && refuse_half(program, word)))
		return EXIT_USAGE;
	if (is_group(program, word)) {
		err("%s %s: no such verb", word, line->words[1]);
		suggest(program, word, line->words[1]);
	} else {
		err("%s: no such verb", word);
		suggest(program, NULL, word);
	}
	return EXIT_USAGE;
}

static int run_none(const struct program *program, const struct command_line *line)
{
	if (line->wants_version) {
		printf("%s %s\n", program->name, program->version);
		return EXIT_DONE;
	}
	if (line->wants_help) {
		if (line->n_words != 1 || !is_group(program, line->words[0])) {
			print_help_of_program(stdout, program);
			return EXIT_DONE;
		}
		printf("usage: %s %s VERB [options]\n\n", program->name, line->words[0]);
		print_verbs(stdout, program, line->words[0]);
		printf("\n`%s %s VERB --help` lists the options of a verb.\n", program->name,
		       line->words[0]);
		return EXIT_DONE;
	}
	if (line->n_words)
		return refuse_words(program, line);
	if (!line->unknown) {
		print_help_of_program(stderr, program);
		return EXIT_USAGE;
	}
	return err_usage("%s: unknown option, or its value is missing\n"
			 "%s --help lists verbs and options",
			 line->unknown, program->name);
}

static int refuse(const struct program *program, const struct verb *verb, const char *what,
		  const char *why)
{
	return err_usage("%s: %s: %s\n"
			 "%s %s --help lists the options",
			 verb->name, what, why, program->name, verb->name);
}

/* Handles one of our options. Returns -1 to go on, or an exit status. */
static int take(const struct program *program, const struct verb *verb, struct parser *p, int i,
		void *options)
{
	const struct option_def *d = p->defs[i];
	bool *is_seen = &p->is_seen[first_of(p, d->name)];
	char option[64];

	if (d == &common_options[COMMON_VERBOSE]) {
		err_init(program->name, true);
	} else if (d == &common_options[COMMON_HELP]) {
		return print_help_of_verb(program, verb);
	} else if (d == &common_options[COMMON_VERSION]) {
		printf("%s %s\n", program->name, program->version);
		return EXIT_DONE;
	} else {
		snprintf(option, sizeof(option), "--%s", d->name);
		if (d->arg && *is_seen && d->parse != option_append && d->parse != program->repeats)
			return refuse(program, verb, option, "appears twice");
		*is_seen = true;
		if (!d->parse(option, optarg, (char *)options + p->offsets[i] + d->member)) {
			remedy("%s %s --help lists the options", program->name, verb->name);
			return EXIT_USAGE;
		}
		privileges_add_option(d->name);
	}
	return -1;
}

/* The missing word is the one after those that were given: FILE of "FILE [FILTER]". */
static int refuse_missing(const struct program *program, const struct verb *verb, int n_given)
{
	const char *word = verb->args;

	for (; n_given && strchr(word, ' '); n_given--)
		word = strchr(word, ' ') + 1;
	return err_usage("%s: %.*s is missing\n"
			 "%s %s --help explains it",
			 verb->name, (int)strcspn(word, " ."), word, program->name, verb->name);
}

/*
 * Parses the verb's command line; argv[0] is its name. Returns -1 to go on with the arguments from
 * optind on, or an exit status.
 */
static int parse(const struct program *program, const struct verb *verb, void *options, int argc,
		 char **argv)
{
	struct parser p = { .letters = ":" };
	int c, n_args, ret = -1;

	add_options(&p, common_options, 0);
	add_verb(&p, program, verb);
	privileges_begin(verb->name, &verb->privileges);
	optind = 0;
	while (ret < 0 && (c = getopt_long(argc, argv, p.letters, p.long_options, NULL)) != -1) {
		if (c == ':')
			return refuse(program, verb, refused_option(argv), "its value is missing");
		if (c == '?' || find(&p, c) < 0)
			return refuse(program, verb, refused_option(argv),
				      optopt >= FIRST ? "this option takes no value" :
							"not an option");
		ret = take(program, verb, &p, find(&p, c), options);
	}
	if (ret >= 0)
		return ret;
	n_args = argc - optind;
	if (n_args > verb->max_args)
		return refuse(program, verb, argv[optind + verb->max_args],
			      verb->max_args ? "unexpected argument" :
					       "this verb takes no arguments");
	if (n_args < verb->min_args)
		return refuse_missing(program, verb, n_args);
	ret = program->verbs_take_privileges ? privileges_give_up() : privileges_take();
	return ret ? ret : -1;
}

static void free_lists(const struct verb *verb, void *options)
{
	for (const struct option_group *g = verb->groups; g && g->defs; g++) {
		for (const struct option_def *d = g->defs; d->name; d++) {
			struct value_list *list = (void *)((char *)options + g->offset + d->member);

			if (d->parse != option_append)
				continue;
			free(list->arg);
			*list = (struct value_list){};
		}
	}
}

static int run_verb(const struct program *program, const struct verb *verb, int argc, char **argv)
{
	void *options AUTO_FREE = mem_new(1, verb->size + 1);
	int ret;

	if (verb->init)
		verb->init(options);
	ret = parse(program, verb, options, argc, argv);
	if (ret < 0) {
		argv[optind - 1] = argv[0];
		ret = verb->run(options, argc - optind + 1, argv + optind - 1);
	}
	free_lists(verb, options);
	return ret;
}

/* Copies argv without the words that name the verb. The verb's name replaces the program's name. */
static int take_out_words(int argc, char **argv, const struct command_line *line, char **to)
{
	int n = 0, n_words = strchr(line->verb->name, ' ') ? 2 : 1;

	to[n++] = (char *)line->verb->name;
	for (int i = 1; i < argc; i++)
		if (argv[i] != line->words[0] && (n_words < 2 || argv[i] != line->words[1]))
			to[n++] = argv[i];
	to[n] = NULL;
	return n;
}

int program_run(const struct program *program, int argc, char **argv)
{
	char **copy AUTO_FREE = mem_new(argc + 1, sizeof(*copy));
	char **own AUTO_FREE = mem_new(argc + 1, sizeof(*own));
	struct command_line line;

	if (argc > 1 && !strcmp(argv[1], "--complete"))
		return completion_run(program, argc - 2, argv + 2);
	memcpy(copy, argv, argc * sizeof(*copy));
	command_line_read(program, argc, copy, &line);
	if (!line.verb)
		return run_none(program, &line);
	if (line.is_help)
		return print_help_of_verb(program, line.verb);
	return run_verb(program, line.verb, take_out_words(argc, argv, &line, own), own);
}

bool option_flag(UNUSED const char *option, UNUSED const char *value, void *to)
{
	*(bool *)to = true;
	return true;
}

bool option_text(UNUSED const char *option, const char *value, void *to)
{
	*(const char **)to = value;
	return true;
}

bool option_append(UNUSED const char *option, const char *value, void *to)
{
	struct value_list *list = to;

	MEM_ADD(list->arg, list->n) = value;
	return true;
}
