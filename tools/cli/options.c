// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_bbr/abi.h"
#include "err.h"
#include "options.h"
#include "privileges.h"

#define MAX_OPTIONS 64
#define HELP_COLUMN 22

static const struct option_def common[] = {
	{ "verbose", 'v', NULL, NULL, 0, "show messages of libbpf as well" },
	{ "help", 'h', NULL, NULL, 0, "this help" },
	{ "version", 0, NULL, NULL, 0, "the version" },
	{},
};

/* What getopt_long() needs, and where each of its options comes from. */
struct parser {
	struct option long_options[MAX_OPTIONS + 1];
	char letters[2 * MAX_OPTIONS + 2];
	const struct option_def *defs[MAX_OPTIONS];
	void *bases[MAX_OPTIONS];
	int n;
	struct privileges privileges;
};

enum {
	FIRST = 256
};

static void add_options(struct parser *p, const struct option_def *defs, void *base)
{
	for (const struct option_def *d = defs; d->name && p->n < MAX_OPTIONS; d++) {
		size_t len = strlen(p->letters);

		p->long_options[p->n] =
			(struct option){ d->name, d->arg ? required_argument : no_argument, NULL,
					 FIRST + p->n };
		p->defs[p->n] = d;
		p->bases[p->n] = base;
		p->n++;
		if (d->letter) {
			p->letters[len++] = d->letter;
			p->letters[len] = d->arg ? ':' : 0;
		}
	}
}

static void print_option(const struct option_def *d)
{
	char names[64];
	int width;

	snprintf(names, sizeof(names), "--%s%s%s", d->name, d->arg ? " " : "",
		 d->arg ? d->arg : "");
	if (d->letter)
		width = printf("  -%c, %s", d->letter, names);
	else
		width = printf("      %s", names);
	if (width >= HELP_COLUMN) {
		putchar('\n');
		width = 0;
	}
	for (const char *line = d->help; line;) {
		int len = strcspn(line, "\n");

		printf("%*s%.*s\n", HELP_COLUMN - width, "", len, line);
		line = line[len] ? line + len + 1 : NULL;
		width = 0;
	}
}

static void print_help(const struct command *command, const struct parser *p)
{
	printf("usage: bbrmon %s [options]%s%s\n\n%s\n\n", command->verb, *command->args ? " " : "",
	       command->args, command->about);
	for (int i = 0; i < p->n; i++)
		print_option(p->defs[i]);
	privileges_print(command->verb);
	for (int i = 0; i < p->n; i++)
		privileges_print_option(command->verb, p->defs[i]->name);
}

static const struct option_def *find(const struct parser *p, int c, void **base)
{
	for (int i = 0; i < p->n; i++) {
		if (c == FIRST + i || (c < FIRST && p->defs[i]->letter == c)) {
			*base = p->bases[i];
			return p->defs[i];
		}
	}
	return NULL;
}

static int refuse(const struct command *command, const char *what, const char *why)
{
	err("%s: %s: %s", command->verb, what, why);
	remedy("bbrmon %s --help lists the options", command->verb);
	return EXIT_USAGE;
}

void print_version(void)
{
	printf("bbrmon %s\n", BBR_VERSION);
}

/* One of ours that was found; -1 to go on. */
static int take(const struct command *command, struct parser *p, const struct option_def *d,
		void *base)
{
	char option[64];

	if (d == &common[0]) {
		err_init("bbrmon", true);
	} else if (d == &common[1]) {
		print_help(command, p);
		return EXIT_DONE;
	} else if (d == &common[2]) {
		print_version();
		return EXIT_DONE;
	} else {
		snprintf(option, sizeof(option), "--%s", d->name);
		if (!d->parse(option, optarg, (char *)base + d->member)) {
			remedy("bbrmon %s --help lists the options", command->verb);
			return EXIT_USAGE;
		}
		privileges_change(&p->privileges, command->verb, d->name);
	}
	return -1;
}

int options_parse(const struct command *command, int argc, char **argv)
{
	struct parser p = { .letters = ":", .privileges = privileges_of(command->verb) };
	int c, status = -1;

	for (const struct option_group *g = command->groups; g->defs; g++)
		add_options(&p, g->defs, g->base);
	add_options(&p, common, NULL);

	while (status < 0 && (c = getopt_long(argc, argv, p.letters, p.long_options, NULL)) != -1) {
		const struct option_def *d;
		void *base = NULL;

		if (c == ':')
			return refuse(command, argv[optind - 1], "its value is missing");
		d = c == '?' ? NULL : find(&p, c, &base);
		if (!d)
			return refuse(command, argv[optind - 1], "not an option");
		status = take(command, &p, d, base);
	}
	if (status >= 0)
		return status;
	if (argc - optind > command->max_args)
		return refuse(command, argv[optind + command->max_args],
			      command->max_args ? "unexpected argument" : "takes no arguments");
	if (argc - optind < command->min_args)
		return refuse(command, command->args, "is missing");
	return privileges_take(command->verb, &p.privileges) ? EXIT_REFUSED : -1;
}

bool option_flag(const char *option, const char *value, void *to)
{
	(void)option;
	(void)value;
	*(bool *)to = true;
	return true;
}

bool option_text(const char *option, const char *value, void *to)
{
	(void)option;
	*(const char **)to = value;
	return true;
}

bool option_append(const char *option, const char *value, void *to)
{
	struct value_list *list = to;
	const char **grown = realloc(list->arg, (list->n + 1) * sizeof(*grown));

	if (!grown) {
		err("%s %s: out of memory", option, value);
		return false;
	}
	list->arg = grown;
	list->arg[list->n++] = value;
	return true;
}
