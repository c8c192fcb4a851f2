// SPDX-License-Identifier: GPL-2.0-only
#include "cli/err.h"
#include "descriptor.h"
#include "verbs.h"

int algorithm_option(const struct options *opt, const struct algorithm **algorithm)
{
	char names[ALGORITHM_NAMES_LEN];

	*algorithm = opt->algorithm ? algorithm_find(opt->algorithm) : algorithms[0];
	if (*algorithm)
		return EXIT_DONE;
	err("--algorithm %s: bbrctl does not know this algorithm", opt->algorithm);
	algorithm_names(names, sizeof(names), " ");
	remedy("it knows: %s", names);
	return EXIT_USAGE;
}
