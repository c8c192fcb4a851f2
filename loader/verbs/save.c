// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl save: prints the state of the machine as a file for bbrctl apply. */
#include "machine/machine.h"
#include "verbs/verbs.h"

static void print(const struct options *opt, const struct machine *m)
{
	struct json j;

	if (opt->json) {
		json_begin_pretty_array(&j, stdout);
		for_each (inst, m->instance, m->n_instances)
			machine_add_json(&j, m, inst);
		json_end(&j);
		return;
	}
	printf("; Saved by bbrctl %s. To apply it: bbrctl apply%s%s FILE\n", BBR_VERSION,
	       opt->name_given ? " --name " : "", opt->name_given ? opt->name : "");
	for_each (inst, m->instance, m->n_instances) {
		putchar('\n');
		machine_print(stdout, m, inst, "", opt->all);
	}
}

static int verb_save(struct options *opt, int argc, char **argv)
{
	struct machine m AUTO(machine_free) = {};
	const char *only;
	struct instance inst;
	int ret;

	if (name_argument(opt, argc, argv))
		return EXIT_USAGE;
	only = opt->name_given ? opt->name : NULL;
	if (privileges_take())
		return EXIT_REFUSED;
	ret = only ? instance_get(only, &inst) : EXIT_DONE;
	if (!ret)
		ret = machine_kernel_read(only, NULL, &m);
	if (!ret && only)
		machine_narrow(&m, only);
	/* What another version has loaded cannot be read, and a file without it would unload it. */
	for_each (one, m.instance, m.n_instances)
		if (!ret && !one->is_open)
			ret = instance_get(one->name, &inst);
	if (!ret)
		print(opt, &m);
	return ret;
}

BBRCTL_VERB(save, "save", NEEDS(LOOK | CAP(NET_ADMIN), .may = CAP(DAC_READ_SEARCH) | EVERY_NETNS),
	    .args = "[NAME]", .max_args = 1,
	    .brief = "print the state of the machine as a file for apply",
	    OPTIONS(OWN({ "name", 0, "NAME", option_name, 0, "only this instance; otherwise all" },
			FLAG("all", all,
			     "also the parameters that have their defaults, as comments"))));
