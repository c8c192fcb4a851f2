// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "descriptor.h"
#include "err.h"
#include "verbs/verbs.h"

/*
 * CAP_SYS_ADMIN is for bpf(2)'s *_GET_FD_BY_ID and *_GET_NEXT_ID, by which a loaded instance is found;
 * the others are for loading one.
 */
#define NEEDED_CAPS (CAP(BPF) | CAP(PERFMON) | CAP(NET_ADMIN) | CAP(SYS_ADMIN))

/* Options that only some verbs take: a bit for the table of verbs, and a member of struct options. */
enum {
	O_NAME = 1 << 0,
	O_SET = 1 << 1,
	O_OBJECT = 1 << 2,
	O_DEFAULTS = 1 << 3,
	O_PROFILE = 1 << 4,
	O_DST = 1 << 5,
	O_DPORT = 1 << 6,
	O_SPORT = 1 << 7,
	O_CGROUP = 1 << 8,
	O_MARK = 1 << 9,
	O_BEFORE = 1 << 10,
	O_DEFAULT = 1 << 11,
	O_NETNS = 1 << 12,
	O_MIGRATION = 1 << 13,
	O_MIGRATE = 1 << 14,
	O_ALGORITHM = 1 << 15,
	O_FILTER = O_DST | O_DPORT | O_SPORT | O_CGROUP | O_MARK,
};

enum option_kind {
	FLAG, /* bool */
	TEXT, /* const char * */
	LIST, /* struct option_list: may be given several times */
};

static const struct option_def {
	const char *name;
	unsigned int bit;
	enum option_kind kind;
	size_t member; /* its offset in struct options */
} option_defs[] = {
	{ "name", O_NAME, TEXT, offsetof(struct options, name) },
	{ "set", O_SET, LIST, offsetof(struct options, set) },
	{ "object", O_OBJECT, TEXT, offsetof(struct options, object) },
	{ "algorithm", O_ALGORITHM, TEXT, offsetof(struct options, algorithm) },
	{ "profile", O_PROFILE, TEXT, offsetof(struct options, profile) },
	{ "dst", O_DST, TEXT, offsetof(struct options, filter.dst) },
	{ "dport", O_DPORT, TEXT, offsetof(struct options, filter.dport) },
	{ "sport", O_SPORT, TEXT, offsetof(struct options, filter.sport) },
	{ "cgroup", O_CGROUP, TEXT, offsetof(struct options, filter.cgroup) },
	{ "mark", O_MARK, TEXT, offsetof(struct options, filter.mark) },
	{ "before", O_BEFORE, TEXT, offsetof(struct options, before) },
	{ "default", O_DEFAULT, FLAG, offsetof(struct options, make_default) },
	{ "netns", O_NETNS, TEXT, offsetof(struct options, netns) },
	{ "from", O_MIGRATION, TEXT, offsetof(struct options, from) },
	{ "to", O_MIGRATION, TEXT, offsetof(struct options, to) },
	{ "listeners", O_MIGRATION, FLAG, offsetof(struct options, listeners) },
	{ "dry-run", O_MIGRATION, FLAG, offsetof(struct options, dry_run) },
	{ "migrate", O_MIGRATE, TEXT, offsetof(struct options, migrate) },
	{ "defaults", O_DEFAULTS, FLAG, offsetof(struct options, defaults) },
};

#define NR_OPTIONS (sizeof(option_defs) / sizeof(option_defs[0]))

static const struct verb {
	const char *name; /* one word or two */
	int (*run)(const struct options *opt, int argc, char **argv);
	unsigned int options;
	int max_args;
	const char *args;
	const char *help;
} verbs[] = {
	{ "check", verb_check, 0, 0, "", "can this machine run bpf_bbr? loads it for a moment" },
	{ "load", verb_load,
	  O_NAME | O_ALGORITHM | O_SET | O_OBJECT | O_PROFILE | O_DEFAULT | O_NETNS, 0,
	  "[--name NAME] [--algorithm ALGORITHM] [--profile PROFILE|FILE]\n"
	  "                 [--set KEY=VALUE]... [--object FILE] [--default [--netns N]]",
	  "load an instance; make it the default of a network namespace" },
	{ "unload", verb_unload, O_NAME | O_MIGRATE, 0, "[--name NAME] [--migrate CC]",
	  "unload it; its connections are moved, or keep it until they close" },
	{ "status", verb_status, O_NAME, 0, "[--name NAME]", "which instances are loaded" },
	{ "show", verb_show, O_NAME | O_PROFILE | O_DEFAULTS | O_ALGORITHM, 64,
	  "[--name NAME] [--profile PROFILE] [KEY]... |\n"
	  "                 --defaults [--algorithm ALGORITHM] [KEY]...",
	  "parameters: value, default, range, meaning" },
	{ "set", verb_set, O_NAME | O_PROFILE, 64, "[--name NAME] [--profile PROFILE] KEY=VALUE...",
	  "change parameters, all at once; live connections follow" },
	{ "reset", verb_reset, O_NAME | O_PROFILE, 64, "[--name NAME] [--profile PROFILE] [KEY]...",
	  "back to the defaults" },
	{ "profile list", verb_profile_list, O_NAME, 0, "[--name NAME]",
	  "the profiles that an instance has, and those that it can get" },
	{ "profile show", verb_profile_show, O_NAME, 1, "[--name NAME] PROFILE",
	  "parameters of one of them" },
	{ "profile add", verb_profile_add, O_NAME | O_PROFILE, 64,
	  "[--name NAME] [--profile FILE] PROFILE [KEY=VALUE]...",
	  "add one that is known, one of a file, or a new one" },
	{ "profile copy", verb_profile_copy, O_NAME, 64, "[--name NAME] PROFILE NEW [KEY=VALUE]...",
	  "add a copy of one, with changes" },
	{ "profile delete", verb_profile_delete, O_NAME, 1, "[--name NAME] PROFILE",
	  "take one away; its connections keep it until they close" },
	{ "rule list", verb_rule_list, O_NAME, 0, "[--name NAME]",
	  "which connections get which profile: the first rule that matches" },
	{ "rule add", verb_rule_add, O_NAME | O_PROFILE | O_BEFORE | O_FILTER, 0,
	  "[--name NAME] [--dst PREFIX] [--dport N] [--sport N] [--cgroup PATH] [--mark N]\n"
	  "                 --profile PROFILE [--before K]",
	  "give new connections a profile" },
	{ "rule delete", verb_rule_delete, O_NAME | O_FILTER, 1,
	  "[--name NAME] K | [--dst PREFIX] [--dport N] [--sport N] [--cgroup PATH] [--mark N]",
	  "take a rule away, by its number or by what it asks for" },
	{ "rule flush", verb_rule_flush, O_NAME, 0, "[--name NAME]", "take all rules away" },
	{ "rule test", verb_rule_test, O_NAME | O_DPORT | O_SPORT | O_CGROUP | O_MARK, 1,
	  "[--name NAME] ADDR [--dport N] [--sport N] [--cgroup PATH] [--mark N]",
	  "which rule and profile a connection would get" },
	{ "save", verb_save, O_NAME, 0, "[--name NAME]",
	  "an instance's profiles and rules, as text" },
	{ "restore", verb_restore, O_NAME, 1, "[--name NAME] FILE",
	  "make them those of a saved file, all or nothing" },
	{ "migrate", verb_migrate, O_MIGRATION | O_FILTER | O_NETNS, 0,
	  "--from CC --to CC [--dst PREFIX] [--dport N] [--sport N] [--cgroup PATH]\n"
	  "                 [--mark N] [--netns N] [--listeners] [--dry-run]",
	  "give live connections another congestion control" },
	{ "upgrade", verb_upgrade, O_NAME | O_OBJECT, 0, "[--name NAME] [--object FILE]",
	  "other code under its name; open connections keep theirs" },
	{ "attach", verb_attach, O_NAME | O_CGROUP | O_PROFILE, 0,
	  "--cgroup PATH [--name NAME] [--profile PROFILE]",
	  "new connections of a cgroup use it, whatever the application" },
	{ "detach", verb_detach, O_NAME | O_CGROUP, 0, "--cgroup PATH [--name NAME]",
	  "new connections of the cgroup no longer do" },
	{ NULL, NULL, 0, 0, NULL, NULL },
};

enum {
	OPT_VERSION = 256,
	OPT_DEFS, /* the first of option_defs */
};

/* What getopt_long() reads: those of every verb, and the table's. */
static void fill_long_options(struct option *to)
{
	static const struct option common[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, OPT_VERSION },
	};

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		*to++ = common[i];
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		int has_arg = option_defs[i].kind == FLAG ? no_argument : required_argument;

		*to++ = (struct option){ option_defs[i].name, has_arg, NULL, OPT_DEFS + i };
	}
	*to = (struct option){};
}

static void print_verb(FILE *out, const struct verb *v)
{
	fprintf(out, "  %s", v->name);
	if (*v->args)
		fprintf(out, "%*s%s", 15 - (int)strlen(v->name), "", v->args);
	fprintf(out, "\n%17s%s\n", "", v->help);
}

static void usage(FILE *out)
{
	fputs("usage: bbrctl VERB [OPTIONS]\n\n"
	      "Loads and tunes bpf_bbr, BBR congestion control as a BPF program.\n\n",
	      out);
	for (const struct verb *v = verbs; v->name; v++)
		print_verb(out, v);
	fputs("\nOptions of every verb:\n"
	      "  -j, --json     JSON instead of text\n"
	      "  -v, --verbose  show what libbpf and the verifier say\n"
	      "  -h, --help     this text\n"
	      "  --version      print the version\n\n",
	      out);
	fprintf(out,
		"NAME is %s if not given. Exit status: 0 done, 1 wrong command line,\n"
		"2 refused by the kernel or the system, 3 nothing to do.\n",
		algorithms[0]->instance);
	fputs("ALGORITHM is", out);
	for (size_t i = 0; i < n_algorithms; i++)
		fprintf(out, " %s%s", i ? "or " : "", algorithms[i]->name);
	fputs(".\n", out);
}

/* How many words of the command line are this verb's name; 0: it is another. */
static int matches(const struct verb *v, int argc, char **argv)
{
	size_t len = strcspn(v->name, " ");

	if (strlen(argv[0]) != len || strncmp(argv[0], v->name, len))
		return 0;
	if (!v->name[len])
		return 1;
	return argc > 1 && !strcmp(argv[1], v->name + len + 1) ? 2 : 0;
}

static const struct verb *find_verb(int argc, char **argv, int *words)
{
	bool is_group = false;

	for (const struct verb *v = verbs; v->name; v++) {
		size_t len = strlen(argv[0]);

		*words = matches(v, argc, argv);
		if (*words)
			return v;
		is_group |= !strncmp(v->name, argv[0], len) && v->name[len] == ' ';
	}
	if (!is_group) {
		err("%s: not a verb", argv[0]);
		remedy("bbrctl --help lists them");
		return NULL;
	}
	if (argc > 1)
		err("%s %s: not a verb", argv[0], argv[1]);
	else
		err("%s: what of it?", argv[0]);
	for (const struct verb *v = verbs; v->name; v++)
		if (!strncmp(v->name, argv[0], strlen(argv[0])))
			remedy("bbrctl %s %s", v->name, v->args);
	return NULL;
}

int algorithm_option(const struct options *opt, const struct algorithm **algorithm)
{
	*algorithm = opt->algorithm ? algorithm_find(opt->algorithm) : algorithms[0];
	if (*algorithm)
		return EXIT_DONE;
	err("--algorithm %s: bbrctl does not know this algorithm", opt->algorithm);
	fputs("  it knows:", stderr);
	for (size_t i = 0; i < n_algorithms; i++)
		fprintf(stderr, " %s", algorithms[i]->name);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

/* A name that the kernel takes for a congestion control. */
static bool is_valid_name(const char *name)
{
	size_t len =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.");

	if (len && len < BBR_NAME_LEN && !name[len])
		return true;
	err("--name %s: a name is 1 to %d characters of A-Z a-z 0-9 _ .", name, BBR_NAME_LEN - 1);
	return false;
}

static void take_option(const struct option_def *def, struct options *opt)
{
	void *member = (char *)opt + def->member;
	struct option_list *list = member;

	switch (def->kind) {
	case FLAG:
		*(bool *)member = true;
		break;
	case TEXT:
		*(const char **)member = optarg;
		break;
	case LIST:
		list->arg[list->n++] = optarg;
		break;
	}
}

static int refuse_option(int c, const char *option)
{
	if (c == ':')
		err("%s: its value is missing", option);
	else
		err("%s: not an option, or not as it is used here", option);
	remedy("bbrctl --help lists verbs and options");
	return EXIT_USAGE;
}

static int run(struct options *opt, unsigned int used, int argc, char **argv)
{
	int words;
	const struct verb *verb = find_verb(argc, argv, &words);

	if (!verb)
		return EXIT_USAGE;
	argc -= words - 1;
	argv += words - 1;
	if (used & ~verb->options) {
		err("%s: does not take one of the options given", verb->name);
		remedy("usage: bbrctl %s %s", verb->name, verb->args);
		return EXIT_USAGE;
	}
	if (argc - 1 > verb->max_args) {
		err("%s: %s: unexpected argument", verb->name, argv[verb->max_args + 1]);
		remedy("usage: bbrctl %s %s", verb->name, verb->args);
		return EXIT_USAGE;
	}
	opt->name_given = opt->name;
	if (!opt->name)
		opt->name = algorithms[0]->instance;
	else if (!is_valid_name(opt->name))
		return EXIT_USAGE;
	return verb->run(opt, argc, argv);
}

/* What is known of a verb, or of all whose names begin with this word; without one of those of everything. */
static void help(int argc, char **argv)
{
	bool is_known = false;

	for (const struct verb *v = verbs; v->name && argc; v++) {
		bool is_group = argc == 1 && !strncmp(v->name, argv[0], strlen(argv[0])) &&
				v->name[strlen(argv[0])] == ' ';

		if (!is_group && !matches(v, argc, argv))
			continue;
		if (!is_known)
			printf("usage: bbrctl VERB [OPTIONS]\n\n");
		is_known = true;
		print_verb(stdout, v);
	}
	if (!is_known)
		usage(stdout);
}

/* Reads the options and runs the verb. */
static int run_command(int argc, char **argv, struct options *opt)
{
	struct option long_options[NR_OPTIONS + 5];
	unsigned int used = 0;
	bool wants_help = false;
	int c;

	fill_long_options(long_options);
	while ((c = getopt_long(argc, argv, ":hjv", long_options, NULL)) != -1) {
		switch (c) {
		case 'h':
			wants_help = true;
			break;
		case OPT_VERSION:
			printf("bbrctl %s\n", BBR_VERSION);
			return EXIT_DONE;
		case 'j':
			opt->json = true;
			break;
		case 'v':
			opt->verbose = true;
			break;
		case ':':
		case '?':
			return refuse_option(c, argv[optind - 1]);
		default:
			take_option(&option_defs[c - OPT_DEFS], opt);
			used |= option_defs[c - OPT_DEFS].bit;
		}
	}
	err_init("bbrctl", opt->verbose);
	if (wants_help) {
		help(argc - optind, argv + optind);
		return EXIT_DONE;
	}
	if (optind == argc) {
		usage(stderr);
		return EXIT_USAGE;
	}
	return run(opt, used, argc - optind, argv + optind);
}

int main(int argc, char **argv)
{
	struct options opt = {};
	int ret;

	err_init("bbrctl", false);
	err_needs(NEEDED_CAPS);
	opt.set.arg = calloc(argc, sizeof(*opt.set.arg));
	if (!opt.set.arg) {
		err("out of memory");
		return EXIT_REFUSED;
	}
	ret = run_command(argc, argv, &opt);
	if (fflush(stdout) || ferror(stdout)) {
		err("cannot write the output");
		ret = EXIT_REFUSED;
	}
	free(opt.set.arg);
	return ret;
}
