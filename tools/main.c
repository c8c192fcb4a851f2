// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "err.h"
#include "cli/options.h"
#include "verbs.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "stream", verb_stream, "one line for each event of live connections, or of a recording" },
	{ "snapshot", verb_snapshot, "the state of all connections, once" },
	{ "record", verb_record, "write the events to a file that the other verbs --read" },
	{ "top", verb_top, "connections as they are now, refreshed in place" },
	{ "report", verb_report, "pictures of a recording: a page, or a figure" },
	{ "export", verb_export, "metrics for Prometheus, over HTTP" },
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void print_help(void)
{
	printf("usage: bbrmon [-v] VERB [options]\n"
	       "\n"
	       "Shows what TCP connections that use BBR do: those of bpf_bbr's instances, and the\n"
	       "kernel's own bbr.\n"
	       "\n");
	for (size_t i = 0; i < N_VERBS; i++)
		printf("  %-10s %s\n", verbs[i].name, verbs[i].help);
	printf("\n"
	       "  -v, --verbose  show messages of libbpf as well\n"
	       "  -h, --help     this help; `bbrmon VERB --help` for a verb's own\n"
	       "      --version  the version\n");
}

static int run_verb(int argc, char **argv)
{
	for (size_t i = 0; i < N_VERBS; i++) {
		if (strcmp(argv[0], verbs[i].name))
			continue;
		optind = 0; /* 0: getopt's state is that of this command line, not of the verb's */
		return verbs[i].run(argc, argv);
	}
	err("%s: no such verb", argv[0]);
	remedy("bbrmon --help lists them");
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	err_init("bbrmon", false);
	opterr = 0; /* our messages have our form */
	while ((c = getopt_long(argc, argv, "+:vh", options, NULL)) != -1) {
		switch (c) {
		case 'v':
			err_init("bbrmon", true);
			break;
		case 'h':
			print_help();
			return EXIT_DONE;
		case 'V':
			print_version();
			return EXIT_DONE;
		default:
			err("%s: not an option of bbrmon", argv[optind - 1]);
			remedy("bbrmon --help lists them");
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		err("no verb given");
		remedy("bbrmon --help lists them");
		return EXIT_USAGE;
	}
	if (!clock_init())
		return EXIT_REFUSED;
	return run_verb(argc - optind, argv + optind);
}
