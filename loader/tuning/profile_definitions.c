// SPDX-License-Identifier: GPL-2.0-only
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "self/embedded.h"
#include "cli/err.h"
#include "cli/text.h"
#include "tuning/ini_file.h"
#include "tuning/param.h"
#include "tuning/profile_definitions.h"
#include "tuning/profile_map.h"

#define BUILT_IN "built in"
#define ALGORITHM_LEN 64

/* A file that is being read. */
struct reader {
	struct profile_definitions *defs;
	const char *origin;
	bool skips_others; /* profiles of another algorithm; otherwise they are a mistake */
	char algorithm[ALGORITHM_LEN]; /* whose profiles it holds */
};

static void free_def(struct profile_definition *def)
{
	free(def->about);
	free(def->needs);
	free(def->origin);
}

void profile_definitions_free(struct profile_definitions *defs)
{
	for (size_t i = 0; i < defs->n; i++)
		free_def(&defs->def[i]);
	free(defs->def);
	*defs = (struct profile_definitions){};
}

struct profile_definition *profile_definitions_find(const struct profile_definitions *defs,
						    const char *name)
{
	for (size_t i = 0; i < defs->n; i++)
		if (!strcmp(defs->def[i].name, name))
			return &defs->def[i];
	return NULL;
}

int profile_definitions_begin(struct profile_definitions *defs, const char *origin,
			      const char *name)
{
	struct profile_definition *def, begun = { .params = param_set_default(defs->algorithm) };

	if (!profile_name_is_valid(name))
		return EXIT_USAGE;
	def = profile_definitions_find(defs, name);
	if (def && !strcmp(def->origin, origin))
		return err_usage("[%s]: appears twice", name);
	strcpy(begun.name, name);
	begun.about = mem_copy("");
	begun.needs = mem_copy("");
	begun.origin = mem_copy(origin);
	if (def) {
		free_def(def);
		*def = begun;
		return EXIT_DONE;
	}
	MEM_ADD(defs->def, defs->n) = begun;
	return EXIT_DONE;
}

static void set_text(char **text, const char *value)
{
	free(*text);
	*text = mem_copy(value);
}

static int check_keys(const struct algorithm *algorithm, const char *keys)
{
	char *list AUTO_FREE = mem_copy(keys), *rest = list, *key;

	while ((key = strsep(&rest, " ")))
		if (*key && !param_find(algorithm, key, strlen(key)))
			return err_usage("needs: no parameter is called %s", key);
	return EXIT_DONE;
}

int profile_definitions_line(struct profile_definitions *defs, const char *section, const char *key,
			     const char *value)
{
	struct profile_definition *def = profile_definitions_find(defs, section);
	char assignment[512];
	int ret;

	if (!def)
		return err_usage("%s: must follow the [NAME] of a profile", key);
	if (!strcmp(key, "about")) {
		set_text(&def->about, value);
		return EXIT_DONE;
	}
	if (!strcmp(key, "needs")) {
		ret = check_keys(defs->algorithm, value);
		if (!ret)
			set_text(&def->needs, value);
		return ret;
	}
	snprintf(assignment, sizeof(assignment), "%s=%s", key, value);
	return param_assign(assignment, &def->params);
}

static bool is_of_another(const struct reader *r)
{
	return strcmp(r->algorithm, r->defs->algorithm->name);
}

static int begin_profile(void *user, const char *name)
{
	const struct reader *r = user;

	if (!is_of_another(r))
		return profile_definitions_begin(r->defs, r->origin, name);
	if (r->skips_others)
		return EXIT_DONE;
	return err_usage("[%s]: it is a profile of algorithm %s, not of %s", name, r->algorithm,
			 r->defs->algorithm->name);
}

static int take_pair(void *user, const char *section, const char *key, const char *value)
{
	struct reader *r = user;

	if (!section[0] && !strcmp(key, "algorithm")) {
		snprintf(r->algorithm, sizeof(r->algorithm), "%s", value);
		return EXIT_DONE;
	}
	return is_of_another(r) ? EXIT_DONE :
				  profile_definitions_line(r->defs, section, key, value);
}

static const char *const no_lists[] = { NULL };
static const struct ini_reader_ops reader_ops = { begin_profile, take_pair, no_lists };

static int read_file(const char *path, struct profile_definitions *defs, bool skips_others)
{
	struct reader r = { .defs = defs, .origin = path, .skips_others = skips_others };

	strcpy(r.algorithm, algorithms[0]->name);
	return ini_file_read_path(path, &reader_ops, &r);
}

int profile_definitions_file(const char *path, const struct algorithm *algorithm,
			     struct profile_definitions *defs)
{
	*defs = (struct profile_definitions){ .algorithm = algorithm };
	return read_file(path, defs, false);
}

/* Moves the definitions of one file into `all`, where they replace those with the same name. */
static void merge(struct profile_definitions *all, struct profile_definitions *file)
{
	for (size_t i = 0; i < file->n; i++) {
		struct profile_definition *def = profile_definitions_find(all, file->def[i].name);

		if (!def) {
			def = &MEM_ADD(all->def, all->n);
			*def = (struct profile_definition){};
		}
		free_def(def);
		*def = file->def[i];
		file->def[i] = (struct profile_definition){};
	}
}

/* A file with a mistake must not hide the others. */
static void read_directory(struct profile_definitions *defs)
{
	glob_t found AUTO(globfree);

	ini_files_find(PROFILES_DIR "/*.ini", &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct profile_definitions file AUTO(
			profile_definitions_free) = { .algorithm = defs->algorithm };

		if (!read_file(found.gl_pathv[i], &file, true))
			merge(defs, &file);
	}
}

static int read_built_in(struct profile_definitions *defs)
{
	struct reader r = { .defs = defs, .origin = BUILT_IN };
	struct embedded text = embedded_profiles(defs->algorithm);
	FILE *f AUTO_FCLOSE = NULL;

	if (text.begin == text.end)
		return EXIT_DONE;
	strcpy(r.algorithm, defs->algorithm->name);
	f = mem_need(fmemopen((void *)text.begin, text.end - text.begin, "r"));
	return ini_file_read(f, BUILT_IN, &reader_ops, &r);
}

int profile_definitions_known(const struct algorithm *algorithm, struct profile_definitions *defs)
{
	int ret;

	*defs = (struct profile_definitions){ .algorithm = algorithm };
	ret = read_built_in(defs);
	if (!ret)
		read_directory(defs);
	return ret;
}

void profile_definitions_suggest(const struct profile_definitions *defs, const char *name)
{
	const char *near = NULL;
	size_t best = 0;

	for (size_t i = 0; i < n_algorithms; i++) {
		struct profile_definitions others AUTO(profile_definitions_free) = {};

		if (algorithms[i] == defs->algorithm)
			continue;
		if (!profile_definitions_known(algorithms[i], &others) &&
		    profile_definitions_find(&others, name))
			remedy("%s is a profile of %s", name, algorithms[i]->name);
	}
	for (size_t i = 0; i < defs->n; i++)
		if (text_is_nearer(name, defs->def[i].name, &best))
			near = defs->def[i].name;
	if (near)
		remedy("did you mean %s?", near);
}

static bool is_assigned(const char *key, int n, const char *const *assignments)
{
	size_t len = strlen(key);

	for (int i = 0; i < n; i++)
		if (!strncmp(assignments[i], key, len) && assignments[i][len] == '=')
			return true;
	return false;
}

static bool has_value(const struct profile_definition *def, const char *key)
{
	return !param_is_default(param_find(def->params.algorithm, key, strlen(key)), &def->params);
}

/* n < 0: the profile's own values count too. */
static int check_needs(const struct profile_definition *def, int n, const char *const *assignments)
{
	char *list AUTO_FREE = mem_copy(def->needs), *rest = list, *key;

	while ((key = strsep(&rest, " "))) {
		if (!*key || is_assigned(key, n, assignments) || (n < 0 && has_value(def, key)))
			continue;
		return err_usage("%s: needs a value for %s\n"
				 "add %s=VALUE; no default fits every path",
				 def->name, key, key);
	}
	return EXIT_DONE;
}

int profile_definition_complete(const struct profile_definition *def)
{
	return check_needs(def, -1, NULL);
}

/* Finds the definition that is meant, among those that were read into defs. */
static int choose(const char *base, struct profile_definitions *defs,
		  const struct profile_definition **def)
{
	if (!strchr(base, '/')) {
		*def = profile_definitions_find(defs, base);
		if (*def)
			return EXIT_DONE;
		err("%s: unknown profile", base);
		profile_definitions_suggest(defs, base);
		remedy("bbrctl profile list shows the known ones; write a file's name with a "
		       "slash");
		return EXIT_USAGE;
	}
	*def = defs->def;
	if (defs->n == 1)
		return EXIT_DONE;
	return err_usage("%s: has %zu profiles, not one\n"
			 "add them by their names: bbrctl profile add NAME --profile %s",
			 base, defs->n, base);
}

int profile_definition_params(const struct algorithm *algorithm,
			      const struct profile_definition *def, int n,
			      const char *const *assignments, struct param_set *p)
{
	int ret = param_check_once(n, assignments);

	if (!ret && def)
		ret = check_needs(def, n, assignments);
	*p = def ? def->params : param_set_default(algorithm);
	for (int i = 0; !ret && i < n; i++)
		ret = param_assign(assignments[i], p);
	return ret;
}

/*
 * Reads definitions into defs and finds the one that is meant. The caller frees defs in any case.
 */
static int find_base(const struct algorithm *algorithm, const char *base,
		     struct profile_definitions *defs, const struct profile_definition **def)
{
	int ret = strchr(base, '/') ? profile_definitions_file(base, algorithm, defs) :
				      profile_definitions_known(algorithm, defs);

	return ret ? ret : choose(base, defs, def);
}

int profile_definitions_base(struct profile_definitions *defs, const char *section,
			     const char *base)
{
	struct profile_definition *def = profile_definitions_find(defs, section);
	const struct profile_definition *from;
	struct profile_definitions known AUTO(profile_definitions_free) = {};
	int ret;

	if (param_set_changed(&def->params))
		return err_usage("from: must be the first line of [%s]", section);
	ret = find_base(defs->algorithm, base, &known, &from);
	if (!ret) {
		def->params = from->params;
		set_text(&def->needs, from->needs);
	}
	return ret;
}

int profile_params(const struct algorithm *algorithm, const char *base, int n,
		   const char *const *assignments, struct param_set *p)
{
	const struct profile_definition *def = NULL;
	struct profile_definitions defs AUTO(profile_definitions_free) = {};
	int ret = base ? find_base(algorithm, base, &defs, &def) : EXIT_DONE;

	return ret ? ret : profile_definition_params(algorithm, def, n, assignments, p);
}
