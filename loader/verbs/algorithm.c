// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "cli/err.h"
#include "descriptor.h"
#include "verbs.h"

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
