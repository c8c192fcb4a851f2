// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl experiment watch */
#include "cli/err.h"
#include "running/canary.h"
#include "self/lock.h"
#include "kernel/clock.h"
#include "verbs/verbs.h"

int verb_experiment_watch(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	const char *given = opt->experiment.every;
	struct experiment_handle h;
	__u64 every = CANARY_EVERY;
	int ret;

	(void)argc;
	if (given &&
	    !experiment_duration_parse("--every", given, NS_PER_S, CANARY_LEASE / 3, &every))
		return EXIT_USAGE;
	if (!clock_init() || privileges_take())
		return EXIT_REFUSED;
	ret = experiment_find(argv[1], &h);
	if (ret)
		return ret;
	ret = lock_watch(h.config.name, h.prog_id);
	if (!ret)
		ret = canary_watch(&h, every, opt->json);
	experiment_close(&h);
	return ret;
}
