// SPDX-License-Identifier: GPL-2.0-only
#include "bpf_bbr/abi.h"
#include "cli/completion.h"
#include "cli/err.h"
#include "cli/options.h"
#include "event/event.h"
#include "experiment/handle.h"
#include "kernel/clock.h"
#include "kernel/completers.h"
#include "output_file.h"
#include "verbs.h"

static const struct verb *const verbs[] = {
	&VERB_OF(stream),     &VERB_OF(snapshot), &VERB_OF(why),
	&VERB_OF(record),     &VERB_OF(top),	  &VERB_OF(report),
	&VERB_OF(experiment), &VERB_OF(export),	  NULL,
};

static void complete_experiments_and_files(const struct completion *c)
{
	complete_experiments(c);
	completion_add_files(c);
}

static void complete_names(const struct completion *c)
{
	complete_instances(c);
	completion_add(c, KERNEL_BBR, "the kernel's own");
}

static void complete_every(const struct completion *c)
{
	completion_add(c, "ack", "each ACK");
	completion_add(c, "round", "the first of each round trip");
	completion_add(c, "transition", "only changes of state");
}

static const struct completer completers[] = {
	{ "NAME|FILE", complete_experiments_and_files },
	{ "FILE", completion_add_files },
	{ "--name", complete_names },
	{ "KEYS", complete_sort_keys },
	{ "KEY", complete_columns },
	{ "LIST", complete_columns },
	{ "--every", complete_every },
	{ "--netns", complete_netns },
	{ "--by", complete_group_by },
	{},
};

static const struct program bbrmon = {
	.name = "bbrmon",
	.version = BBR_VERSION,
	.about = "Shows what BBR does on each TCP connection that uses an instance of bpf_bbr or "
		 "the\n"
		 "kernel's own bbr.",
	.verbs = verbs,
	.completers = completers,
};

int main(int argc, char **argv)
{
	int ret;

	streams_begin();
	err_init(bbrmon.name, false);
	if (!clock_init())
		return EXIT_REFUSED;
	ret = program_run(&bbrmon, argc, argv);
	return ret ? ret : output_close(stdout, NULL);
}
