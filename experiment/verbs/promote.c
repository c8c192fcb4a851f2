// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl experiment promote: what an arm does for the scope, as lines for bbrctl apply. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/text.h"
#include "experiment/running/running.h"
#include "kernel/clock.h"
#include "kernel/netns.h"
#include "machine/machine.h"
#include "output_file.h"
#include "verbs/verbs.h"

/* The arm that won: that with the label, or the one that a canary has decided for. */
static int choose_arm(const struct experiment_handle *h, const char *label, int *arm)
{
	const struct experiment *e = &h->config;
	enum experiment_state state = STATE_RUNNING;

	if (label)
		return experiment_choose_arm(e, "--arm", label, arm);
	if (e->design == EXPERIMENT_CANARY)
		state = canary_state(h);
	*arm = state == STATE_TAKEN_BACK ? 0 : e->arms - 1;
	if (state == STATE_TAKEN_BACK || state == STATE_COMPLETE)
		return EXIT_DONE;
	return err_nothing(
		"%s: has no winner: %s\n"
		"compare the arms with bbrmon experiment %s, then choose one: --arm LABEL",
		e->name,
		e->design == EXPERIMENT_CANARY ? "the canary has not decided yet" :
						 "only a canary decides for itself",
		e->name);
}

/* A namespace without a name is net:[INODE] in the scope. A file needs a way to it. */
static int take_netns(const char *netns, const struct machine *found, struct machine *m,
		      const char *name)
{
	const struct default_of *def;
	__u32 inode;
	int ret;

	if (sscanf(netns, "net:[%u]", &inode) == 1) {
		def = machine_default(found, inode);
		netns = def ? def->netns : NULL;
		if (!netns)
			return err_refused("network namespace net:[%u] cannot be found from here",
					   inode);
	} else {
		ret = netns_inode("default_in", netns, &inode);
		if (ret)
			return ret;
	}
	machine_add_default(m, netns, inode, name);
	return EXIT_DONE;
}

/*
 * The scope as a file gives it to an instance: a cgroup, perhaps with conditions, or a whole
 * network namespace.
 */
static int take_scope(const struct experiment_handle *h, const struct machine *found,
		      struct machine *m, const char *name)
{
	const struct experiment_scope *scope = &h->config.scope;
	struct bbr_rule rule = scope_rule(scope);
	char *root AUTO_FREE = cgroup_mount();
	struct attachment *at;

	if (!scope->netns) {
		at = machine_add_attachment(m, h->path, name);
		at->n = rule_terms(&rule, at->term);
		return EXIT_DONE;
	}
	if (root && !strcmp(h->path, root) && !rule.dst_len && !rule.fields)
		return take_netns(scope->netns_name, found, m, name);
	err("%s: the lines do not say which connections get %s: a file cannot select a part of a "
	    "network namespace\n"
	    "add default_in or attach to [instance %s]",
	    h->config.name, name, name);
	return EXIT_DONE;
}

static void take_profile(struct machine_instance *inst, const struct profile_definition *def)
{
	if (!profile_definitions_begin(&inst->profiles, "", def->name))
		inst->profiles.def[inst->profiles.n - 1].params = def->params;
}

/* Makes the instance that a file is to have: with the arm's profile, or as it is without one. */
static int make_instance(const struct experiment_handle *h, const struct experiment_arm *arm,
			 const struct machine *found, struct machine *m)
{
	const struct machine_instance *loaded = machine_instance(found, arm->cc);
	struct machine_instance *inst = machine_add_instance(m, arm->cc);
	const struct profile_definition *def =
		profile_definitions_find(&loaded->profiles, arm->profile_name);
	int ret = EXIT_DONE;

	inst->algorithm = inst->profiles.algorithm = loaded->algorithm;
	if (arm->profile_name[0] && !def)
		return err_nothing("%s:%s: the profile is gone", arm->cc, arm->profile_name);
	if (def)
		take_profile(inst, def);
	if (def && strcmp(def->name, BBR_PROFILE_DEFAULT)) {
		struct bbr_rule rule = scope_rule(&h->config.scope);

		if (cgroup_id("--cgroup", h->path, &rule.cgroup))
			return EXIT_REFUSED;
		rule.fields |= BBR_RULE_CGROUP;
		ret = rule_list_insert(&inst->rules, 0, &rule);
	}
	for (size_t i = 0; !def && i < loaded->profiles.n; i++)
		take_profile(inst, &loaded->profiles.def[i]);
	for (__u32 i = 0; !ret && !def && i < loaded->rules.n; i++)
		ret = rule_list_insert(&inst->rules, i, &loaded->rules.rule[i]);
	return ret ? ret : take_scope(h, found, m, arm->cc);
}

static int make_lines(const struct experiment_handle *h, const struct experiment_arm *arm,
		      char **lines)
{
	struct machine found AUTO(machine_free) = {}, m AUTO(machine_free) = {};
	struct instance inst;
	size_t n;
	FILE *out;
	int id = instance_id(arm->cc), ret;

	if (id < 0)
		return err_bpf(id, "cannot list instances");
	if (!id)
		return err_nothing("%s: arm %s is %s, which is no instance: a file for apply "
				   "cannot describe it\n"
				   "end the experiment: bbrctl experiment stop %s --to %s",
				   h->config.name, arm->label, arm->cc, h->config.name, arm->label);
	ret = instance_get(arm->cc, &inst);
	ret = ret ?: machine_kernel_read(arm->cc, NULL, &found);
	ret = ret ?: make_instance(h, arm, &found, &m);
	if (ret)
		return ret;
	out = mem_need(open_memstream(lines, &n));
	machine_print(out, &m, &m.instance[0], "", false);
	mem_check(!fclose(out) && *lines);
	return EXIT_DONE;
}

/* ---- the file */

static int refuse(const char *path, int error)
{
	return err_refused("%s: cannot be changed: %s", path,
			   error == ELOOP ? "it is a link" : strerror(error ? error : EIO));
}

/* Reads the file; one that is not there is empty. */
static int read_file(const char *path, struct stat *st, char **text)
{
	int fd AUTO_CLOSE = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), error = 0;

	*st = (struct stat){ .st_mode = S_IFREG | 0644, .st_uid = geteuid(), .st_gid = getegid() };
	if (fd < 0 && errno != ENOENT)
		return refuse(path, errno);
	if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode)))
		return refuse(path, EINVAL);
	*text = mem_new(st->st_size + 1, 1);
	if (fd >= 0 && read(fd, *text, st->st_size) != st->st_size)
		error = errno;
	if (!error && strlen(*text) != (size_t)st->st_size)
		error = EINVAL;
	return error ? refuse(path, error) : EXIT_DONE;
}

/* Replaces the file by one with the same owner and mode, as a whole. */
static int write_file(const char *path, const struct stat *st, const char *text)
{
	const char *const part[] = { text, NULL }, *slash = strrchr(path, '/');
	char *above AUTO_FREE =
		slash ? mem_format("%.*s/", (int)(slash - path), path) : mem_copy(".");
	int folder AUTO_CLOSE = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = folder < 0 ? errno : output_replace(folder, slash ? slash + 1 : path, st, part);

	return error ? refuse(path, error) : EXIT_DONE;
}

static int edit(const char *path, const char *lines)
{
	char *old AUTO_FREE = NULL, *new AUTO_FREE = NULL;
	struct machine m AUTO(machine_free) = {};
	struct stat st;
	int ret = read_file(path, &st, &old);

	if (ret)
		return ret;
	new = machine_edit(old, lines);
	ret = machine_text_read(new, path, NULL, &m);
	if (ret)
		remedy("%s stays as it is; promote without it prints the lines", path);
	return ret ? ret : write_file(path, &st, new);
}

static void report(const struct options *opt, const struct experiment_handle *h,
		   const struct experiment_arm *arm, const char *path, const char *lines)
{
	struct json j;

	if (opt->json) {
		json_begin_pretty(&j, stdout);
		json_add_string(&j, "name", h->config.name);
		json_add_string(&j, "arm", arm->label);
		json_add_string(&j, "instance", arm->cc);
		json_add_string(&j, "profile", arm->profile_name[0] ? arm->profile_name : NULL);
		json_add_string(&j, "file", path);
		json_add_string(&j, "lines", lines);
		json_end(&j);
		return;
	}
	if (!path) {
		fputs(lines, stdout);
		return;
	}
	printf("%s: the arm %s is in %s\n", h->config.name, arm->label, text_shown(path));
	printf("  next: bbrctl experiment stop %s --to %s && bbrctl apply %s\n", h->config.name,
	       arm->label, text_shell_word(path));
}

static int verb_experiment_promote(struct options *opt, int argc, char **argv)
{
	const char *path = argc > 2 ? argv[2] : NULL;
	struct experiment_handle h AUTO(experiment_close) = {};
	char *lines AUTO_FREE = NULL;
	int arm, ret;

	if (!clock_init() || privileges_take())
		return EXIT_REFUSED;
	ret = experiment_find(argv[1], &h);
	ret = ret ?: choose_arm(&h, opt->experiment.arm, &arm);
	ret = ret ?: make_lines(&h, &h.config.arm[arm], &lines);
	if (!ret && path)
		ret = edit(path, lines);
	if (!ret)
		report(opt, &h, &h.config.arm[arm], path, lines);
	return ret;
}

static const struct option_def experiment_promote_options[] = {
	{ "arm", 0, "LABEL", option_text, EXPERIMENT(arm),
	  "this arm; by default the one that a canary chose" },
	END,
};

BBRCTL_VERB(experiment_promote, "experiment promote",
	    NEEDS(LOOK | CAP(NET_ADMIN), .may = FILES | CAP(CHOWN) | EVERY_NETNS),
	    .args = "EXPERIMENT [FILE]", .min_args = 1, .max_args = 2,
	    .brief = "print the winning arm as lines for apply, or put them into a file",
	    OPTIONS({ experiment_promote_options, 0 }));
