// SPDX-License-Identifier: GPL-2.0-only
/* The list of bbrctl's verbs, and the options that several of them have. */
#include <limits.h>

#include "machine/machine.h"
#include "verbs/verbs.h"

bool option_name(const char *option, const char *name, void *to)
{
	struct options *opt = to;

	if (!instance_name_is_valid(name)) {
		err("%s %s: a name has 1 to %d characters of A-Z a-z 0-9 _ .", option, name,
		    BBR_NAME_LEN - 1);
		return false;
	}
	opt->name = name;
	opt->name_given = true;
	return true;
}

bool option_pod(const char *option, const char *which, void *to)
{
	static char path[PATH_MAX];
	struct pod *list;
	int n, found = 0;
	bool is_known = true;

	if (!pod_selector_is_valid(option, which))
		return false;
	n = pods_list(CGROUP_PODS, &list);
	if (n < 0)
		return !err_bpf(n, "cannot look at the cgroups of pods");
	if (n && pod_selector_has_labels(which))
		is_known = !cri_read_labels(cri_sockets, list, n);
	for_each (pod, list, n)
		if (pod_selected(which, pod)) {
			snprintf(path, sizeof(path), "%s", pod->path);
			found++;
		}
	if (found > 1)
		err("%s %s: means %d pods; only a line of a file for apply can mean several",
		    option, which, found);
	else if (!found && is_known)
		err("%s %s: no such pod is on this machine", option, which);
	pods_free(list, n);
	return found == 1 && option_once(option, path, to);
}

int name_argument(struct options *opt, int argc, char **argv)
{
	const char *name = opt->name_given ? opt->name : NULL;

	if (argc < 2)
		return EXIT_DONE;
	if (!option_name(argv[0], argv[1], opt))
		return EXIT_USAGE;
	if (!name || !strcmp(name, argv[1]))
		return EXIT_DONE;
	return err_usage("%s: %s, or --name %s?\n"
			 "name one instance",
			 argv[0], argv[1], name);
}

static const struct option_def every_verb[] = {
	{ "json", 'j', NULL, option_flag, MEMBER(json), "print JSON instead of text" },
	END,
};

const struct option_def option_dst[] = {
	TEXT("dst", "PREFIX", filter.dst,
	     "connections to these addresses: 10.0.0.0/8, 2001:db8::1"),
	END,
};

const struct option_def option_filter[] = {
	TEXT("dport", "N", filter.dport, "with this remote port"),
	TEXT("sport", "N", filter.sport, "with this local port"),
	CGROUP("of this cgroup, and of those below it"),
	POD,
	TEXT("mark", "N", filter.mark, "with this mark (SO_MARK)"),
	END,
};

#define CONDITION(name, arg, help) { name, 0, arg, option_condition, MEMBER(filter), help }

const struct option_def option_src[] = {
	CONDITION("src", "PREFIX", "with this local address: 192.0.2.1, 10.0.0.0/8"),
	CONDITION("dev", "DEVICE", "whose packets leave by this device: eth0"),
	END,
};

const struct option_def option_not[] = {
	CONDITION("not-dst", "PREFIX", "not to these addresses"),
	CONDITION("not-src", "PREFIX", "without this local address"),
	CONDITION("not-dport", "N", "without this remote port"),
	CONDITION("not-sport", "N", "without this local port"),
	CONDITION("not-cgroup", "PATH", "not of this cgroup or those below it"),
	CONDITION("not-dev", "DEVICE", "whose packets leave by another device"),
	CONDITION("not-mark", "N", "without this mark; you can repeat each --not-..."),
	END,
};

void options_init(void *options)
{
	struct options *opt = options;

	opt->name = algorithms[0]->instance;
}

static const struct verb *const verbs[] = {
#define X(word) &VERB_OF(word),
	BBRCTL_VERBS(X)
#undef X
		NULL
};

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

int open_tuning(const struct options *opt, bool to_change, bool with_rules, struct tuning *t)
{
	if (privileges_take() || (to_change && lock_instances()))
		return EXIT_REFUSED;
	return tuning_open(opt->name, with_rules, t);
}

int choose_profile(const struct options *opt, bool to_change, struct tuning *t, int *index,
		   struct param_set *params)
{
	int ret = open_tuning(opt, to_change, false, t);

	if (!ret)
		ret = profile_get(&t->profiles, opt->profile ? opt->profile : BBR_PROFILE_DEFAULT,
				  index);
	if (!ret)
		profile_read(&t->profiles, *index, params);
	return ret;
}

static void print_notes(FILE *out)
{
	char names[ALGORITHM_NAMES_LEN];

	algorithm_names(names, sizeof(names), " or ");
	fprintf(out,
		"ALGORITHM is %s.\n"
		"Exit status: 0 done, 1 the command line or a file is wrong, 2 the kernel or the\n"
		"system refused, or something is in use, 3 nothing to do, not loaded, or not as\n"
		"the file says, 4 a canary was taken back.\n",
		names);
}

const struct program bbrctl = {
	.name = "bbrctl",
	.version = BBR_VERSION,
	.about = "Loads and tunes bpf_bbr, BBR congestion control as a BPF program.",
	.print_notes = print_notes,
	.options = every_verb,
	.verbs = verbs,
	.completers = bbrctl_completers,
	.repeats = option_condition,
	.verbs_take_privileges = true,
};
