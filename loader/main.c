// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "verbs.h"

enum {
	OPT_VERSION = 256,
	OPT_DEFAULTS,
	OPT_OBJECT,
	OPT_SET,
	OPT_NAME
};

/* Options that a verb takes, besides -h, -v and -j. */
enum {
	O_NAME = 1,
	O_SET = 2,
	O_OBJECT = 4,
	O_DEFAULTS = 8
};

static const struct verb {
	const char *name;
	int (*run)(const struct options *opt, int argc, char **argv);
	int options;
	int max_args;
	const char *args;
	const char *help;
} verbs[] = {
	{ "check", verb_check, 0, 0, "", "can this machine run bpf_bbr? loads it for a moment" },
	{ "load", verb_load, O_NAME | O_SET | O_OBJECT, 0,
	  "[--name NAME] [--set KEY=VALUE]... [--object FILE]", "load an instance" },
	{ "unload", verb_unload, O_NAME, 0, "[--name NAME]",
	  "unload it; its connections keep it until they close" },
	{ "status", verb_status, O_NAME, 0, "[--name NAME]", "which instances are loaded" },
	{ "show", verb_show, O_NAME | O_DEFAULTS, 64, "[--name NAME | --defaults] [KEY]...",
	  "parameters: value, default, range, meaning" },
	{ "set", verb_set, O_NAME, 64, "[--name NAME] KEY=VALUE...",
	  "change parameters, all at once; live connections follow" },
	{ "reset", verb_reset, O_NAME, 64, "[--name NAME] [KEY]...", "back to the defaults" },
	{ NULL, NULL, 0, 0, NULL, NULL },
};

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, 'j' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "set", required_argument, NULL, OPT_SET },
	{ "object", required_argument, NULL, OPT_OBJECT },
	{ "defaults", no_argument, NULL, OPT_DEFAULTS },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *out)
{
	fputs("usage: bbrctl VERB [OPTIONS]\n\n"
	      "Loads and tunes bpf_bbr, BBR congestion control as a BPF program.\n\n",
	      out);
	for (const struct verb *v = verbs; v->name; v++)
		fprintf(out, "  %-8s %s\n%11s%s\n", v->name, v->args, "", v->help);
	fputs("\nOptions of every verb:\n"
	      "  -j, --json     JSON instead of text\n"
	      "  -v, --verbose  show what libbpf and the verifier say\n"
	      "  -h, --help     this text\n"
	      "  --version      print the version\n\n"
	      "NAME is bpf_bbr if not given. Exit status: 0 done, 1 wrong command line,\n"
	      "2 refused by the kernel or the system, 3 nothing to do.\n",
	      out);
}

static const struct verb *find_verb(const char *name)
{
	const struct verb *v;

	for (v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	err("%s: not a verb", name);
	remedy("bbrctl --help lists them");
	return NULL;
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

static int take_option(int c, struct options *opt, int *used)
{
	switch (c) {
	case 'j':
		opt->json = true;
		break;
	case 'v':
		opt->verbose = true;
		break;
	case OPT_NAME:
		if (!is_valid_name(optarg))
			return EXIT_USAGE;
		opt->name = optarg;
		opt->name_given = true;
		*used |= O_NAME;
		break;
	case OPT_SET:
		opt->set[opt->nr_set++] = optarg;
		*used |= O_SET;
		break;
	case OPT_OBJECT:
		opt->object = optarg;
		*used |= O_OBJECT;
		break;
	case OPT_DEFAULTS:
		opt->defaults = true;
		*used |= O_DEFAULTS;
		break;
	}
	return EXIT_DONE;
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

static int run(const struct verb *verb, const struct options *opt, int used, int argc, char **argv)
{
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
	return verb->run(opt, argc, argv);
}

int main(int argc, char **argv)
{
	struct options opt = { .name = BBR_NAME };
	const struct verb *verb;
	int c, used = 0, ret = EXIT_DONE;

	err_init("bbrctl", false);
	opt.set = calloc(argc, sizeof(*opt.set));
	if (!opt.set) {
		err("out of memory");
		return EXIT_REFUSED;
	}
	while (!ret && (c = getopt_long(argc, argv, ":hjv", long_options, NULL)) != -1) {
		if (c == 'h' || c == OPT_VERSION) {
			if (c == 'h')
				usage(stdout);
			else
				printf("bbrctl %s\n", BBR_VERSION);
			goto out;
		}
		if (c == ':' || c == '?')
			ret = refuse_option(c, argv[optind - 1]);
		else
			ret = take_option(c, &opt, &used);
	}
	if (ret)
		goto out;
	err_init("bbrctl", opt.verbose);
	if (optind == argc) {
		usage(stderr);
		ret = EXIT_USAGE;
		goto out;
	}
	verb = find_verb(argv[optind]);
	ret = verb ? run(verb, &opt, used, argc - optind, argv + optind) : EXIT_USAGE;
	if (fflush(stdout) || ferror(stdout)) {
		err("cannot write the output");
		ret = EXIT_REFUSED;
	}
out:
	free(opt.set);
	return ret;
}
