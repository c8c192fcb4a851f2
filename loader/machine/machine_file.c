// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include <sys/stat.h>

#include "kernel/netns.h"
#include "machine/machine.h"
#include "tuning/ini_file.h"

#define DIR "/etc/bpf-bbr"
#define CONF_D DIR "/conf.d"
#define INSTANCE INSTANCE_SECTION " "

const char machine_file_default[] = DIR "/bpf-bbr.conf";

struct reader {
	struct machine *m;
	const char *path;
	const char *name; /* of the instance, if the file does not say it */
	struct machine_instance *inst; /* the one whose sections follow */
	bool is_whole; /* no other file adds to it */
};

static int begin_instance(struct reader *r, const char *name)
{
	if (r->m->is_tuning)
		return err_usage("[instance %s]: the sections before it belong to no instance\n"
				 "begin the file with [instance NAME]",
				 name);
	if (!instance_name_is_valid(name))
		return err_usage("[instance %s]: a name has 1 to %d characters of A-Z a-z 0-9 _ .",
				 name, BBR_NAME_LEN - 1);
	r->inst = machine_instance(r->m, name);
	if (r->inst && !strcmp(r->inst->file, r->path))
		return err_usage("[instance %s]: appears twice\n"
				 "put everything about it below one [instance %s]",
				 name, name);
	if (!r->inst) {
		r->inst = machine_add_instance(r->m, name);
		r->inst->algorithm = r->inst->profiles.algorithm = algorithms[0];
		strcpy(r->inst->version, BBR_VERSION);
	}
	r->inst->file = r->path;
	return EXIT_DONE;
}

/* A file without [instance NAME] has the profiles and rules of one instance. */
static int need_instance(struct reader *r, const char *what)
{
	int ret;

	if (r->inst)
		return EXIT_DONE;
	if (!r->is_whole || r->m->n_instances)
		return err_usage("%s: must follow [instance NAME]", what);
	ret = begin_instance(r, r->name ? r->name : algorithms[0]->instance);
	r->m->is_tuning = true;
	return ret;
}

static int begin_section(void *user, const char *name)
{
	struct reader *r = user;
	char title[64];

	if (!strncmp(name, INSTANCE, strlen(INSTANCE)))
		return begin_instance(r, name + strlen(INSTANCE));
	snprintf(title, sizeof(title), "[%s]", name);
	if (need_instance(r, title))
		return EXIT_USAGE;
	if (!strcmp(name, RULES_SECTION))
		return EXIT_DONE;
	if (r->inst->profiles.n == BBR_PROFILES &&
	    !profile_definitions_find(&r->inst->profiles, name))
		return err_usage("[%s]: an instance can have %d profiles at most", name,
				 BBR_PROFILES);
	return profile_definitions_begin(&r->inst->profiles, r->path, name);
}

/* A rule may name a known profile without a section for it. */
static int add_known_profile(struct machine_instance *inst, const char *name)
{
	struct profile_definitions known AUTO(profile_definitions_free);
	int ret = profile_definitions_known(inst->algorithm, &known);

	if (ret)
		return ret;
	if (!profile_definitions_find(&known, name))
		return err_usage(
			"rule: %s: no section [%s] precedes the rule, and it is not built in", name,
			name);
	ret = profile_definitions_begin(&inst->profiles, "", name);
	return ret ? ret : profile_definitions_base(&inst->profiles, name, name);
}

static int take_pods(struct machine *m, const struct machine_instance *inst,
		     const struct rule_line *parsed, bool is_rule)
{
	struct machine_pods p = { .which = mem_copy(parsed->pods),
				  .rule = parsed->rule,
				  .is_rule = is_rule,
				  .before = inst->rules.n };

	strcpy(p.name, inst->name);
	MEM_ADD(m->pods, m->n_pods) = p;
	return EXIT_DONE;
}

static int take_rule(struct machine *m, struct machine_instance *inst, const char *value)
{
	const struct profile_definition *def;
	struct rule_line parsed;
	char *line AUTO_FREE = mem_copy(value);
	int ret = rule_parse_line(line, &parsed);

	if (ret)
		return ret;
	def = profile_definitions_find(&inst->profiles, parsed.profile);
	if (!def && strcmp(parsed.profile, BBR_PROFILE_DEFAULT))
		ret = add_known_profile(inst, parsed.profile);
	else if (!def)
		ret = profile_definitions_begin(&inst->profiles, "", parsed.profile);
	if (ret)
		return ret;
	def = profile_definitions_find(&inst->profiles, parsed.profile);
	parsed.rule.profile = def - inst->profiles.def;
	return parsed.pods ? take_pods(m, inst, &parsed, true) :
			     rule_list_insert(&inst->rules, inst->rules.n, &parsed.rule);
}

static int take_algorithm(struct reader *r, const char *name)
{
	const struct algorithm *algorithm = algorithm_find(name);

	if (!algorithm)
		return err_usage("algorithm %s: this bbrctl does not know it", name);
	if (r->inst->profiles.n && algorithm != r->inst->algorithm)
		return err_usage("algorithm %s: the profiles above it are for %s\n"
				 "make it the first line of the instance",
				 name, r->inst->algorithm->name);
	r->inst->algorithm = r->inst->profiles.algorithm = algorithm;
	return EXIT_DONE;
}

static int take_default(struct reader *r, const char *value)
{
	char *netns AUTO_FREE = mem_copy(value);
	const char *wrong = text_unquote(netns);
	const struct default_of *other;
	__u32 inode;
	int ret;

	if (wrong)
		return err_usage("default_in: %s", wrong);
	ret = netns_inode("default_in", netns, &inode);
	if (ret)
		return ret;
	other = machine_default(r->m, inode);
	if (other)
		return err_usage("default_in %s: this namespace already has the default %s\n"
				 "name each namespace in only one line default_in",
				 netns, other->name);
	machine_add_default(r->m, netns, inode, r->inst->name);
	return EXIT_DONE;
}

/* The file speaks for the cgroup whenever it is there, so the program is attached above it. */
static int take_attachment(struct reader *r, const char *path, const struct bbr_rule *rule)
{
	char *place AUTO_FREE = NULL, *below AUTO_FREE = NULL, *full AUTO_FREE = NULL;
	const struct attachment *other;
	struct attachment *at;
	int ret = cgroup_place("attach", path, &place, &below);

	if (ret)
		return ret;
	full = mem_format("%s%s%s", place, *below ? "/" : "", below);
	other = machine_attachment(r->m, full);
	if (other)
		return err_usage("attach %s: this cgroup already has %s\n"
				 "name each cgroup in only one line attach",
				 path, other->name);
	at = machine_add_attachment(r->m, full, r->inst->name);
	free(at->place);
	at->place = mem_copy(place);
	at->n = rule_terms(rule, at->term);
	return EXIT_DONE;
}

/* A cgroup alone, which may be in quotes; or options, with a cgroup or pods last. */
static int take_attached(struct reader *r, const char *value)
{
	char *line AUTO_FREE = mem_copy(value);
	struct rule_line parsed = { .cgroup = line };
	const char *wrong = NULL;
	int ret = EXIT_DONE;

	if (!strncmp(value, "--", 2))
		ret = rule_parse_attachment(line, &parsed);
	else
		wrong = text_unquote(line);
	if (wrong)
		return err_usage("attach: %s", wrong);
	if (ret)
		return ret;
	return parsed.pods ? take_pods(r->m, r->inst, &parsed, false) :
			     take_attachment(r, parsed.cgroup, &parsed.rule);
}

/* Takes a line of [instance NAME]. */
static int take_property(struct reader *r, const char *key, const char *value)
{
	if (!strcmp(key, "algorithm"))
		return take_algorithm(r, value);
	if (!strcmp(key, "default_in"))
		return take_default(r, value);
	if (!strcmp(key, "attach"))
		return take_attached(r, value);
	if (!strcmp(key, "route"))
		return machine_take_route(r->m, r->inst->name, value);
	return err_usage(
		"%s: [instance %s] cannot have this line\n"
		"write algorithm, default_in, attach or route here, and parameters below the "
		"[NAME] of their profile",
		key, r->inst->name);
}

static int take_line(void *user, const char *section, const char *key, const char *value)
{
	struct reader *r = user;

	if (!section[0] && !strcmp(key, "algorithm"))
		return need_instance(r, key) ? EXIT_USAGE : take_algorithm(r, value);
	if (!section[0])
		return err_usage("%s: must follow [instance NAME]", key);
	if (!strncmp(section, INSTANCE, strlen(INSTANCE)))
		return take_property(r, key, value);
	if (!strcmp(section, RULES_SECTION)) {
		if (!strcmp(key, "rule"))
			return take_rule(r->m, r->inst, value);
		return err_usage("%s: [%s] may only contain lines rule = OPTIONS", key, section);
	}
	if (!strcmp(key, "from"))
		return profile_definitions_base(&r->inst->profiles, section, value);
	return profile_definitions_line(&r->inst->profiles, section, key, value);
}

static const char *const lists[] = { "default_in", "attach", "route", "rule", NULL };
static const struct ini_reader_ops reader_ops = { begin_section, take_line, lists };

static int read_file(struct reader *r)
{
	r->inst = NULL;
	return ini_file_read_path(r->path, &reader_ops, r);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool machine_file_exists(void)
{
	glob_t found AUTO(globfree);

	ini_files_find(CONF_D "/*.conf", &found);
	return found.gl_pathc || !access(machine_file_default, F_OK);
}

/*
 * Reads its *.conf, in the order of their names. To have none is a mistake, unless it may be empty:
 * an empty file would remove everything.
 */
static int read_folder(struct reader *r, const char *folder, bool may_be_empty)
{
	char *pattern AUTO_FREE = mem_format("%s/*.conf", folder);
	glob_t found AUTO(globfree);
	int ret = EXIT_DONE;

	ini_files_find(pattern, &found);
	if (!found.gl_pathc && !may_be_empty)
		return err_usage("%s: has no *.conf", folder);
	r->is_whole = false;
	for_each (path, found.gl_pathv, found.gl_pathc) {
		r->path = *path;
		if (!ret)
			ret = read_file(r);
	}
	return ret;
}

/* The file or the folder may be missing, but not both. */
static int read_default(struct reader *r)
{
	bool is_missing = access(r->path, F_OK);
	int ret;

	if (is_missing && is_folder(CONF_D))
		return read_folder(r, CONF_D, false);
	ret = read_file(r);
	if (ret && is_missing)
		remedy("name another file, or write this one; bbrctl save prints such a file");
	return ret ? ret : read_folder(r, CONF_D, true);
}

/* Adds the profile `default` if it is missing, and checks the profiles and rules. */
static int complete(struct machine_instance *inst, const char *path)
{
	__u32 first, second;
	int ret;

	if (!profile_definitions_find(&inst->profiles, BBR_PROFILE_DEFAULT) &&
	    profile_definitions_begin(&inst->profiles, "", BBR_PROFILE_DEFAULT))
		return EXIT_REFUSED;
	for_each (def, inst->profiles.def, inst->profiles.n) {
		ret = profile_definition_complete(def);
		if (ret) {
			remedy("in [%s] of [instance %s], %s", def->name, inst->name, path);
			return ret;
		}
	}
	if (inst->profiles.n > BBR_PROFILES)
		return err_usage("%s: instance %s has more than %d profiles", path, inst->name,
				 BBR_PROFILES);
	rule_list_find_twins(&inst->rules, &first, &second);
	if (first == second)
		return EXIT_DONE;
	return err_usage("%s: rules %u and %u of instance %s have the same options", path,
			 first + 1, second + 1, inst->name);
}

/* An instance must not have the usual name of another algorithm's (instance_name_owner()). */
static int check_name(const struct machine *m, const struct machine_instance *inst,
		      const char *path)
{
	const struct algorithm *owner = instance_name_owner(inst->name);

	if (!owner || owner == inst->algorithm)
		return EXIT_DONE;
	err("%s: the algorithm of instance %s is %s, but only instances of %s may have this name",
	    path, inst->name, inst->algorithm->name, owner->name);
	if (m->is_tuning)
		remedy("say which instance: --name NAME");
	else
		remedy("give it another name, or write: algorithm = %s", owner->name);
	return EXIT_USAGE;
}

/* Checks all instances of what was read, and keeps those of this name. */
static int finish(struct machine *m, const char *path, const char *name)
{
	int ret = EXIT_DONE;

	for_each (inst, m->instance, m->n_instances) {
		if (!ret)
			ret = check_name(m, inst, path);
		if (!ret)
			ret = complete(inst, path);
	}
	if (!ret && name)
		machine_narrow(m, name);
	return ret || !m->n_pods ? ret : machine_pods_find(m, CGROUP_PODS);
}

int machine_file_read(const char *path, const char *name, struct machine *m)
{
	struct reader r = { .m = m, .name = name, .path = path ? path : machine_file_default };
	int ret;

	*m = (struct machine){};
	r.is_whole = path;
	if (!path)
		ret = read_default(&r);
	else
		ret = is_folder(path) ? read_folder(&r, path, false) : read_file(&r);
	path = path ? path : DIR;
	if (!ret)
		ret = finish(m, path, name);
	if (ret || !name || m->n_instances)
		return ret;
	return err_usage("%s: has no [instance %s]\n"
			 "leave --name out to use the whole file",
			 path, name);
}

int machine_text_read(const char *text, const char *path, const char *name, struct machine *m)
{
	struct reader r = { .m = m, .name = name, .path = path, .is_whole = true };
	FILE *f AUTO_FCLOSE = text[0] ? mem_need(fmemopen((char *)text, strlen(text), "r")) : NULL;
	int ret;

	*m = (struct machine){};
	ret = f ? ini_file_read(f, path, &reader_ops, &r) : EXIT_DONE;
	return ret ? ret : finish(m, path, name);
}
