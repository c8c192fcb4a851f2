/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bbrctl's verbs. Each gets its own arguments (argv[0] is the verb) and returns the exit status.
 */
#ifndef LOADER_VERBS_H
#define LOADER_VERBS_H

#include <stdbool.h>

#include "bpf_bbr/abi.h"

/* The arguments of an option that was given several times. */
struct option_list {
	const char **arg;
	int n;
};

/* The options of all verbs, which stand before or after the verb; main.c has the table of which takes which. */
struct options {
	const char *name; /* --name: the instance, or bpf_bbr */
	bool name_given;
	bool json; /* -j */
	bool verbose; /* -v */
	bool defaults; /* show --defaults */
	const char *object; /* load --object */
	struct option_list set; /* load --set */
};

int verb_check(const struct options *opt, int argc, char **argv);
int verb_load(const struct options *opt, int argc, char **argv);
int verb_unload(const struct options *opt, int argc, char **argv);
int verb_status(const struct options *opt, int argc, char **argv);
int verb_show(const struct options *opt, int argc, char **argv);
int verb_set(const struct options *opt, int argc, char **argv);
int verb_reset(const struct options *opt, int argc, char **argv);

#endif
