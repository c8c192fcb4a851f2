// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "instance/object.h"
#include "verbs/verbs.h"

/*
 * Finds the cgroup that is meant, and opens the one that has its program. The caller frees *at and
 * closes *fd. Returns EXIT_DONE, or another status after printing why not. Without --stay the cgroup
 * must be there, and has the program itself.
 */
static int open_cgroup(const struct options *opt, struct attachment *at, int *fd)
{
	char *below AUTO_FREE = NULL;
	int ret;

	if (opt->stay)
		ret = cgroup_place("--cgroup", opt->filter.cgroup, &at->place, &below);
	else
		ret = cgroup_find("--cgroup", opt->filter.cgroup, &at->place);
	if (ret)
		return ret;
	at->path = below && *below ? mem_format("%s/%s", at->place, below) : mem_copy(at->place);
	strcpy(at->name, opt->name);
	*fd = open(at->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd >= 0)
		return EXIT_DONE;
	return err_refused("--cgroup %s: cannot be opened: %s", at->place, strerror(errno));
}

static void print_done(const struct options *opt, const struct attachment *at, const char *done)
{
	char terms[RULE_TEXT_LEN];
	struct json j;

	if (!opt->json) {
		terms_format(at->term, at->n, terms, sizeof(terms));
		printf("%s: %s %s%s%s%s%s\n", opt->name, done, text_shown(at->path),
		       at->n ? ":" : "", terms, opt->profile ? ", profile " : "",
		       opt->profile ? opt->profile : "");
		return;
	}
	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", opt->name);
	json_add_string(&j, "cgroup", at->path);
	terms_add_json(&j, at->term, at->n);
	if (opt->profile)
		json_add_string(&j, "profile", opt->profile);
	json_end(&j);
}

/*
 * Finds what is attached to the cgroup, whichever cgroup has the program. Returns 1, and the caller
 * frees *found; 0 if there is none; or -errno.
 */
static int find_attached(const char *path, struct attachment *found)
{
	struct attachment *list AUTO_FREE = NULL;
	int n = attachments_list(&list), is_found = 0;

	for_each (at, list, n)
		if (!strcmp(at->path, path)) {
			*found = *at;
			is_found = 1;
		} else {
			attachment_free(at);
		}
	return n < 0 ? n : is_found;
}

static int refuse_if_attached(const struct options *opt, const char *path)
{
	struct attachment found AUTO(attachment_free) = {};
	int ret, n = find_attached(path, &found);
	bool stays;

	if (n <= 0)
		return n ? err_bpf(n, path) : EXIT_DONE;
	err("%s: is already attached to %s", found.name, path);
	ret = strcmp(found.name, opt->name) ? EXIT_REFUSED : EXIT_NOTHING;
	stays = strcmp(found.place, found.path); /* the program is above the cgroup */
	if (ret == EXIT_REFUSED || stays != opt->stay)
		remedy("detach it first: bbrctl detach --cgroup %s --name %s",
		       text_shell_word(path), found.name);
	return ret;
}

static int need_cgroup(const struct options *opt, const char *verb)
{
	if (opt->filter.cgroup && opt->filter.cgroup[0])
		return EXIT_DONE;
	return err_usage("%s: --cgroup is missing\n"
			 "usage: bbrctl %s --cgroup PATH [--name NAME]",
			 verb, verb);
}

/* The rule that gives the connections of this cgroup, and of those below it, a profile. */
static struct bbr_rule rule_of(__u64 cgroup)
{
	return (struct bbr_rule){ .fields = BBR_RULE_CGROUP, .cgroup = cgroup };
}

/*
 * Adds the rule as the first of all, so that no existing rule takes precedence. *added becomes true
 * unless it is there already: an attach was killed after it.
 */
static int add_rule(const struct options *opt, __u64 cgroup, struct tuning *t, bool *added)
{
	struct bbr_rule rule = rule_of(cgroup);
	int index, place, ret = tuning_open(opt->name, true, t);

	if (ret)
		return ret;
	place = rule_list_find(&t->rules, &rule);
	ret = profile_get(&t->profiles, opt->profile, &index);
	if (ret)
		return ret;
	rule.profile = index;
	if (place > 0 || (!place && t->rules.rule[0].profile != rule.profile))
		return err_refused(
			"rule %d already covers this cgroup\n"
			"attach without --profile, or delete the rule first: bbrctl rule delete",
			place + 1);
	if (!place)
		return EXIT_DONE;
	ret = rule_list_insert(&t->rules, 0, &rule);
	if (!ret)
		ret = rule_list_write(&t->inst, &t->rules);
	*added = !ret;
	return ret;
}

static int attach(const struct options *opt, int fd, const struct attachment *at)
{
	int prog AUTO_CLOSE = -1, ret = refuse_if_attached(opt, at->path);
	struct tuning t AUTO(tuning_close) = {};
	bool added = false;
	__u64 id;

	if (!ret && opt->profile)
		ret = cgroup_id("--cgroup", at->path, &id);
	if (!ret) {
		prog = attach_program_load(at);
		ret = prog < 0 ? EXIT_REFUSED : EXIT_DONE;
	}
	/* The rule comes before the program, so that the first connection finds it in place. */
	if (!ret && opt->profile)
		ret = add_rule(opt, id, &t, &added);
	if (!ret)
		ret = attach_program(prog, fd, -1, at->place);
	if (ret && added) {
		rule_list_remove(&t.rules, 0);
		rule_list_write(&t.inst, &t.rules);
	}
	return ret;
}

/*
 * The kernel runs a program attached below an experiment's cgroup before the experiment, which then
 * takes the name for the application's choice. In the experiment's own cgroup, the experiment runs
 * first.
 */
static void warn_of_experiments(const struct attachment *at, const struct experiment_list *list)
{
	for_each (e, list->at, list->n)
		if (!strcmp(at->path, e->path) || !strcmp(at->place, e->path))
			err("%s: has no effect in the experiment %s until it stops", at->name,
			    e->config.name);
		else if (cgroup_is_within(at->place, e->path))
			err("%s: new connections here leave the experiment %s", at->name,
			    e->config.name);
}

static int verb_attach(struct options *opt, UNUSED int argc, char **argv)
{
	struct socket_filter which = opt->filter;
	struct attachment at AUTO(attachment_free) = {};
	struct experiment_list experiments AUTO(experiments_free) = {};
	struct instance inst;
	struct bbr_rule rule;
	int fd AUTO_CLOSE = -1, ret = need_cgroup(opt, argv[0]);

	if (!ret && opt->stay && opt->profile)
		ret = err_usage(
			"attach: --stay and --profile together: a rule ends with the cgroup\n"
			"leave one of them out");
	which.cgroup = NULL;
	if (!ret)
		ret = rule_parse(&which, &rule);
	if (ret)
		return ret;
	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &inst);
	if (!ret)
		ret = open_cgroup(opt, &at, &fd);
	if (ret)
		return ret;
	at.n = rule_terms(&rule, at.term);
	experiments_list(&experiments); /* now: without memory nothing has been done yet */
	ret = attach(opt, fd, &at);
	if (!ret) {
		print_done(opt, &at, "attached to");
		warn_of_experiments(&at, &experiments);
	}
	return ret;
}

/* What is attached by this name. Returns EXIT_DONE, or another status after printing. */
static int find_own(const struct options *opt, const char *path, struct attachment *found)
{
	char *there AUTO_FREE = NULL;
	int n = find_attached(path, found), ret;

	if (n < 0)
		return err_bpf(n, path);
	if (!n) { /* or its name is wrong */
		ret = cgroup_find("--cgroup", path, &there);
		if (ret)
			return ret;
	}
	if (n && !strcmp(found->name, opt->name))
		return EXIT_DONE;
	err("%s: not attached to %s", opt->name, path);
	if (n)
		remedy("%s is attached: bbrctl detach --cgroup %s --name %s", found->name,
		       text_shell_word(path), found->name);
	return EXIT_NOTHING;
}

/*
 * The rule that --profile or the user made goes first, of no use without the attachment: if this is
 * killed between the two, another detach does the rest. A cgroup that is not there has none. inst:
 * NULL if it is not loaded, or bbrctl does not know its rules.
 */
static int detach(const struct instance *inst, int prog, int fd, const struct attachment *at)
{
	struct rule_list rules AUTO(rule_list_free) = {};
	int place = -1, ret = EXIT_DONE;
	struct bbr_rule rule = {};
	__u64 id = 0;

	if (inst && !access(at->path, F_OK)) {
		ret = cgroup_id("--cgroup", at->path, &id);
		if (!ret)
			ret = rule_list_read(inst, &rules);
		rule = rule_of(id);
		place = ret ? -1 : rule_list_find(&rules, &rule);
	}
	if (place >= 0) {
		rule = rules.rule[place];
		rule_list_remove(&rules, place);
		ret = rule_list_write(inst, &rules);
	}
	if (ret)
		return ret;
	ret = detach_program(prog, fd, at->place);
	if (ret && place >= 0 &&
	    (rule_list_insert(&rules, place, &rule) || rule_list_write(inst, &rules)))
		err("rule %d is deleted, because it was for this cgroup", place + 1);
	return ret;
}

static int detach_found(const struct options *opt, const struct attachment *at)
{
	int fd AUTO_CLOSE = open(at->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int prog AUTO_CLOSE = fd < 0 ? -errno : attachment_program(fd, at), n;
	struct instance *list AUTO_FREE = NULL, *inst = NULL;

	if (prog < 0)
		return err_bpf(prog, at->path);
	n = instance_list(&list);
	if (n < 0)
		return err_bpf(n, "cannot look for the cgroup's rule");
	for_each (one, list, n)
		if (!strcmp(one->name, opt->name) && one->supported)
			inst = one;
	return detach(inst, prog, fd, at);
}

/* Works whether or not the instance is loaded and the cgroup is there. */
static int verb_detach(struct options *opt, UNUSED int argc, char **argv)
{
	struct attachment found AUTO(attachment_free) = {};
	char *place AUTO_FREE = NULL, *below AUTO_FREE = NULL, *path AUTO_FREE = NULL;
	int ret = need_cgroup(opt, argv[0]);

	if (ret)
		return ret;
	if (privileges_take() || lock_instances())
		return EXIT_REFUSED;
	ret = cgroup_place("--cgroup", opt->filter.cgroup, &place, &below);
	if (ret)
		return ret;
	path = mem_format("%s%s%s", place, *below ? "/" : "", below);
	ret = find_own(opt, path, &found);
	if (!ret)
		ret = detach_found(opt, &found);
	if (!ret)
		print_done(opt, &found, "detached from");
	return ret;
}

BBRCTL_VERB(attach, "attach", NEEDS(CHANGE, .may = FILES), .args = "--cgroup PATH",
	    .brief = "give the instance to new connections of a cgroup",
	    OPTIONS(OWN(CGROUP("the cgroup, and those below it"), POD, NAME,
			PROFILE("PROFILE", "give its connections this profile, by a rule"),
			FLAG("stay", stay, "also if the cgroup is created later, or again"),
			TEXT("dport", "N", filter.dport, "with this remote port"),
			TEXT("sport", "N", filter.sport, "with this local port"),
			TEXT("mark", "N", filter.mark, "with this mark (SO_MARK)")),
		    { option_dst, 0 }, { option_src, 0 }, { option_not, 0 }));

BBRCTL_VERB(detach, "detach", NEEDS(CHANGE, .may = FILES), .args = "--cgroup PATH",
	    .brief = "end an attachment; open connections keep the instance",
	    OPTIONS(OWN(CGROUP("the cgroup"), POD, NAME)));
