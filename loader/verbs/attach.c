// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "experiment/running/running.h"
#include "experiment/handle.h"
#include "kernel/instance.h"
#include "cli/json.h"
#include "cli/text.h"
#include "instance/attach_program.h"
#include "self/lock.h"
#include "tuning/profile_map.h"
#include "tuning/rule_list.h"
#include "verbs/verbs.h"

/*
 * Opens the cgroup; the caller frees *path. Returns EXIT_DONE, or another status after printing why
 * not.
 */
static int open_cgroup(const struct options *opt, char **path, int *fd)
{
	int ret = cgroup_find("--cgroup", opt->filter.cgroup, path);

	if (ret)
		return ret;
	*fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0)
		return EXIT_DONE;
	err("--cgroup %s: cannot be opened: %s", *path, strerror(errno));
	free(*path);
	return EXIT_REFUSED;
}

static void print_done(const struct options *opt, const char *path, const char *done)
{
	struct json j;

	if (!opt->json) {
		printf("%s: %s %s%s%s\n", opt->name, done, text_shown(path),
		       opt->profile ? ", profile " : "", opt->profile ? opt->profile : "");
		return;
	}
	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", opt->name);
	json_add_string(&j, "cgroup", path);
	if (opt->profile)
		json_add_string(&j, "profile", opt->profile);
	json_end(&j);
}

static int attach_to(const struct options *opt, int cgroup_fd, const char *path)
{
	int ret, prog_fd = attach_program_load(opt->name);

	if (prog_fd < 0)
		return EXIT_REFUSED;
	ret = attach_program(prog_fd, cgroup_fd, -1, path);
	close(prog_fd);
	return ret;
}

static int refuse_if_attached(const struct options *opt, int cgroup_fd, const char *path)
{
	struct bbr_attach attach;
	int fd = cgroup_program(cgroup_fd, &attach);

	if (fd == -ENOENT)
		return EXIT_DONE;
	if (fd < 0)
		return err_bpf(fd, path);
	close(fd);
	if (!strcmp(attach.name, opt->name)) {
		err("%s: is already attached to %s", opt->name, path);
		return EXIT_NOTHING;
	}
	err("%s: is already attached to %s", attach.name, path);
	remedy("detach it first: bbrctl detach --cgroup %s --name %s", path, attach.name);
	return EXIT_REFUSED;
}

static bool have_cgroup(const struct options *opt, const char *verb)
{
	if (opt->filter.cgroup && opt->filter.cgroup[0])
		return true;
	err("%s: --cgroup is missing", verb);
	remedy("usage: bbrctl %s --cgroup PATH [--name NAME]", verb);
	return false;
}

/* The rule that gives the connections of this cgroup, and of those below it, a profile. */
static struct bbr_rule rule_of(__u64 cgroup)
{
	return (struct bbr_rule){ .fields = BBR_RULE_CGROUP, .cgroup = cgroup };
}

/*
 * Adds the rule as the first of all, so that no existing rule takes precedence. *added is false if
 * it is there already: an attach was killed after it.
 */
static int add_rule(const struct options *opt, const struct instance *inst, __u64 cgroup,
		    bool *added)
{
	struct bbr_rule rule = rule_of(cgroup);
	struct profile_map profiles;
	struct rule_list rules;
	int index, place, ret;

	ret = profile_map_open(inst, &profiles);
	if (ret)
		return ret;
	ret = profile_get(&profiles, opt->profile, &index);
	profile_map_close(&profiles);
	if (ret)
		return EXIT_REFUSED;
	rule.profile = index;
	ret = rule_list_read(inst, &rules);
	if (ret)
		return ret;
	place = rule_list_find(&rules, &rule);
	*added = place || rules.rule[0].profile != rule.profile;
	if (*added && place >= 0) {
		err("rule %d already covers this cgroup", place + 1);
		remedy("attach without --profile, or delete the rule first: bbrctl rule delete");
		ret = EXIT_REFUSED;
	}
	if (!ret && *added)
		ret = rule_list_insert(&rules, 0, &rule);
	if (!ret && *added)
		ret = rule_list_write(inst, &rules);
	rule_list_free(&rules);
	return ret;
}

/*
 * Deletes the rule that --profile or the user made, of no use without the attachment. *deleted is
 * its place, or -1, and *rule what it was.
 */
static int delete_rule(const struct instance *inst, __u64 cgroup, struct bbr_rule *rule,
		       int *deleted)
{
	struct rule_list rules;
	int ret = rule_list_read(inst, &rules);

	*rule = rule_of(cgroup);
	*deleted = -1;
	if (ret)
		return ret;
	*deleted = rule_list_find(&rules, rule);
	if (*deleted >= 0) {
		*rule = rules.rule[*deleted];
		rule_list_remove(&rules, *deleted);
		ret = rule_list_write(inst, &rules);
	}
	rule_list_free(&rules);
	return ret;
}

static int put_rule_back(const struct instance *inst, const struct bbr_rule *rule, int place)
{
	struct rule_list rules;
	int ret = rule_list_read(inst, &rules);

	if (ret)
		return ret;
	ret = rule_list_insert(&rules, place, rule);
	if (!ret)
		ret = rule_list_write(inst, &rules);
	rule_list_free(&rules);
	return ret;
}

static int attach(const struct options *opt, const struct instance *inst, int fd, const char *path)
{
	int place, ret = refuse_if_attached(opt, fd, path);
	bool added = false;
	struct bbr_rule rule;
	__u64 id;

	if (!ret)
		ret = cgroup_id("--cgroup", path, &id);
	/* Add the rule first, so that the first connection finds it in place. */
	if (!ret && opt->profile)
		ret = add_rule(opt, inst, id, &added);
	if (ret)
		return ret;
	ret = attach_to(opt, fd, path);
	if (ret && added)
		delete_rule(inst, id, &rule, &place);
	return ret;
}

/*
 * The kernel runs a program attached below an experiment's cgroup before the experiment, which then
 * takes the name for the application's choice. In the experiment's own cgroup, the experiment runs
 * first.
 */
static void warn_of_experiments(const char *path, const char *name)
{
	struct experiment_handle *list;
	int n = experiments_list(&list);

	for (int i = 0; i < n; i++) {
		const char *of = list[i].config.name;

		if (!strcmp(path, list[i].path))
			err("%s: has no effect in the experiment %s until it stops", name, of);
		else if (cgroup_is_within(path, list[i].path))
			err("%s: new connections here leave the experiment %s", name, of);
	}
	if (n > 0)
		experiments_free(list, n);
}

static int verb_attach(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct instance inst;
	int fd, ret;
	char *path;

	(void)argc;
	if (!have_cgroup(opt, argv[0]))
		return EXIT_USAGE;
	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &inst);
	if (!ret)
		ret = open_cgroup(opt, &path, &fd);
	if (ret)
		return ret;
	ret = attach(opt, &inst, fd, path);
	if (!ret) {
		print_done(opt, path, "attached to");
		warn_of_experiments(path, opt->name);
	}
	close(fd);
	free(path);
	return ret;
}

/* The program that is attached by this name. Returns EXIT_DONE, or another status after printing. */
static int attached_program(const struct options *opt, int cgroup_fd, const char *path, int *fd)
{
	struct bbr_attach attach;

	*fd = cgroup_program(cgroup_fd, &attach);
	if (*fd < 0 && *fd != -ENOENT)
		return err_bpf(*fd, path);
	if (*fd >= 0 && !strcmp(attach.name, opt->name))
		return EXIT_DONE;
	err("%s: not attached to %s", opt->name, path);
	if (*fd >= 0) {
		remedy("%s is attached: bbrctl detach --cgroup %s --name %s", attach.name, path,
		       attach.name);
		close(*fd);
	}
	return EXIT_NOTHING;
}

/* The instance, if it is loaded and has rules that bbrctl knows; otherwise NULL in *inst. */
static int instance_with_rules(const char *name, struct instance **list, struct instance **inst)
{
	int n = instance_list(list);

	*inst = NULL;
	if (n < 0)
		return err_bpf(n, "cannot look for the cgroup's rule");
	for (int i = 0; i < n; i++)
		if (!strcmp((*list)[i].name, name) && (*list)[i].supported)
			*inst = &(*list)[i];
	return EXIT_DONE;
}

/*
 * Attachments stay, for a user who loads the name again. Only detach says that nobody wants them.
 */
void warn_of_attachments(const char *name)
{
	struct attachment *list;
	int n = attachments_list(&list);

	if (n < 0)
		err_bpf(n, "cannot look for cgroups that it is still attached to");
	for (int i = 0; i < n; i++) {
		if (strcmp(list[i].name, name))
			continue;
		err("%s: still attached to %s, where new connections now get their default", name,
		    list[i].path);
		remedy("it applies again when the name is loaded; to prevent that: bbrctl detach "
		       "--cgroup %s --name %s",
		       list[i].path, name);
	}
	if (n >= 0)
		attachments_free(list, n);
}

/* The rule goes first: if this is killed between the two, another detach does the rest. */
static int detach(const struct instance *inst, int prog, int cgroup_fd, const char *path)
{
	int place = -1, ret = EXIT_DONE;
	struct bbr_rule rule;
	__u64 id;

	if (inst)
		ret = cgroup_id("--cgroup", path, &id);
	if (!ret && inst)
		ret = delete_rule(inst, id, &rule, &place);
	if (ret)
		return ret;
	ret = detach_program(prog, cgroup_fd, path);
	if (ret && place >= 0 && put_rule_back(inst, &rule, place))
		err("rule %d, of this cgroup, is gone", place + 1);
	return ret;
}

/* Works whether or not the instance is loaded. */
static int verb_detach(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct instance *list = NULL, *inst;
	int fd, prog, ret;
	char *path;

	(void)argc;
	if (!have_cgroup(opt, argv[0]))
		return EXIT_USAGE;
	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = open_cgroup(opt, &path, &fd);
	if (ret)
		return ret;
	ret = attached_program(opt, fd, path, &prog);
	if (!ret) {
		ret = instance_with_rules(opt->name, &list, &inst);
		if (!ret)
			ret = detach(inst, prog, fd, path);
		free(list);
		close(prog);
	}
	if (!ret)
		print_done(opt, path, "detached from");
	close(fd);
	free(path);
	return ret;
}

static const struct option_def attach_options[] = {
	CGROUP("which one"),
	NAME,
	PROFILE("PROFILE", "give its connections this profile, by a rule"),
	END,
};

BBRCTL_VERB(attach, "attach", NEEDS(CHANGE, .may = FILES), .args = "--cgroup PATH",
	    .brief = "make new connections of a cgroup use it, unless the application chooses",
	    OPTIONS({ attach_options, 0 }), .run = verb_attach);

static const struct option_def detach_options[] = { CGROUP("which one"), NAME, END };

BBRCTL_VERB(detach, "detach", NEEDS(CHANGE, .may = FILES), .args = "--cgroup PATH",
	    .brief = "new connections of the cgroup no longer use it",
	    OPTIONS({ detach_options, 0 }), .run = verb_detach);
