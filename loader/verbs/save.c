// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl save: prints the state of the machine as a file for bbrctl apply. */
#include <stdio.h>

#include "cli/err.h"
#include "cli/json.h"
#include "machine/machine.h"
#include "verbs/verbs.h"

/* What another version has loaded cannot be read, and a file without it would unload it. */
static int check_all_known(const struct machine *m)
{
	struct instance inst;

	for (size_t i = 0; i < m->n_instances; i++)
		if (!m->instance[i].is_open)
			return instance_get(m->instance[i].name, &inst);
	return EXIT_DONE;
}

static void save_text(const struct options *opt, const struct machine *m)
{
	printf("; Saved by bbrctl %s. To apply it: bbrctl apply%s%s FILE\n", BBR_VERSION,
	       opt->name_given ? " --name " : "", opt->name_given ? opt->name : "");
	for (size_t i = 0; i < m->n_instances; i++) {
		putchar('\n');
		machine_print(m, &m->instance[i], "", true);
	}
}

static void save_json(const struct machine *m)
{
	struct json j;

	json_begin_pretty_array(&j, stdout);
	for (size_t i = 0; i < m->n_instances; i++)
		machine_add_json(&j, m, &m->instance[i]);
	json_end(&j);
}

static int save(const struct options *opt, struct machine *m)
{
	struct instance inst;
	int ret = opt->name_given ? instance_get(opt->name, &inst) : EXIT_DONE;

	if (!ret)
		ret = machine_kernel_read(opt->name_given ? opt->name : NULL, m);
	if (!ret && opt->name_given)
		machine_narrow(m, opt->name);
	if (!ret)
		ret = check_all_known(m);
	if (ret)
		return ret;
	if (opt->json)
		save_json(m);
	else
		save_text(opt, m);
	return EXIT_DONE;
}

static int verb_save(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct machine m = {};
	int ret;

	(void)argc;
	(void)argv;
	if (privileges_take())
		return EXIT_REFUSED;
	ret = save(opt, &m);
	machine_free(&m);
	return ret;
}

static const struct option_def save_options[] = {
	{ "name", 0, "NAME", option_name, 0, "only this instance; otherwise all" },
	END,
};

BBRCTL_VERB(save, "save", NEEDS(LOOK | CAP(NET_ADMIN), .may = CAP(DAC_READ_SEARCH) | EVERY_NETNS),
	    .brief = "print the state of the machine as a file for apply",
	    OPTIONS({ save_options, 0 }), .run = verb_save);
