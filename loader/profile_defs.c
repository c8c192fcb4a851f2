// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "ini_file.h"
#include "param.h"
#include "profile.h"
#include "profile_defs.h"

#define BUILT_IN "built in"

extern const char bbr_profiles[], bbr_profiles_end[]; /* profiles.ini, by embedded.S */

/* A file that is being read. */
struct reader {
	struct profile_defs *defs;
	const char *origin;
};

static void free_def(struct profile_def *def)
{
	free(def->about);
	free(def->needs);
	free(def->origin);
}

void profile_defs_free(struct profile_defs *defs)
{
	for (size_t i = 0; i < defs->n; i++)
		free_def(&defs->def[i]);
	free(defs->def);
	*defs = (struct profile_defs){};
}

static struct profile_def *find(const struct profile_defs *defs, const char *name)
{
	for (size_t i = 0; i < defs->n; i++)
		if (!strcmp(defs->def[i].name, name))
			return &defs->def[i];
	return NULL;
}

const struct profile_def *profile_defs_find(const struct profile_defs *defs, const char *name)
{
	return find(defs, name);
}

static int out_of_memory(void)
{
	err("out of memory");
	return EXIT_REFUSED;
}

int profile_defs_begin(struct profile_defs *defs, const char *origin, const char *name)
{
	struct profile_def *grown, *def, begun = { .params = params_default };

	if (!profile_name_is_valid(name))
		return EXIT_USAGE;
	def = find(defs, name);
	if (def && !strcmp(def->origin, origin)) {
		err("[%s]: is there already", name);
		return EXIT_USAGE;
	}
	strcpy(begun.name, name);
	begun.about = strdup("");
	begun.needs = strdup("");
	begun.origin = strdup(origin);
	if (!begun.about || !begun.needs || !begun.origin) {
		free_def(&begun);
		return out_of_memory();
	}
	if (def) {
		free_def(def);
		*def = begun;
		return EXIT_DONE;
	}
	grown = realloc(defs->def, (defs->n + 1) * sizeof(*grown));
	if (!grown) {
		free_def(&begun);
		return out_of_memory();
	}
	defs->def = grown;
	grown[defs->n++] = begun;
	return EXIT_DONE;
}

static int set_text(char **text, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return out_of_memory();
	free(*text);
	*text = copy;
	return EXIT_DONE;
}

static int check_keys(const char *keys)
{
	char *list = strdup(keys), *rest = list, *key;
	int ret = list ? EXIT_DONE : out_of_memory();

	while (!ret && (key = strsep(&rest, " "))) {
		if (!*key || param_find(key, strlen(key)))
			continue;
		err("needs: no parameter has the key %s", key);
		ret = EXIT_USAGE;
	}
	free(list);
	return ret;
}

int profile_defs_line(struct profile_defs *defs, const char *section, const char *key,
		      const char *value)
{
	struct profile_def *def = find(defs, section);
	char assignment[512];

	if (!def) {
		err("%s: comes before the first [NAME] of a profile", key);
		return EXIT_USAGE;
	}
	if (!strcmp(key, "about"))
		return set_text(&def->about, value);
	if (!strcmp(key, "needs"))
		return check_keys(value) ? EXIT_USAGE : set_text(&def->needs, value);
	snprintf(assignment, sizeof(assignment), "%s=%s", key, value);
	return param_assign(assignment, &def->params);
}

static int begin_profile(void *user, const char *name)
{
	const struct reader *r = user;

	return profile_defs_begin(r->defs, r->origin, name);
}

static int take_pair(void *user, const char *section, const char *key, const char *value)
{
	const struct reader *r = user;

	return profile_defs_line(r->defs, section, key, value);
}

static int read_stream(FILE *f, const char *origin, struct profile_defs *defs)
{
	static const struct ini_reader_ops ops = { begin_profile, take_pair };
	struct reader r = { defs, origin };

	return ini_file_read(f, origin, &ops, &r);
}

int profile_defs_file(const char *path, struct profile_defs *defs)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int ret;

	if (!f) {
		err("%s: cannot be opened: %s", path, strerror(errno));
		return EXIT_USAGE;
	}
	ret = read_stream(f, path, defs);
	if (f != stdin)
		fclose(f);
	return ret;
}

/* Copies the definitions of one file into all; those of the same name are replaced. */
static int merge(struct profile_defs *all, struct profile_defs *file)
{
	for (size_t i = 0; i < file->n; i++) {
		struct profile_def *grown, *def = find(all, file->def[i].name);

		if (!def) {
			grown = realloc(all->def, (all->n + 1) * sizeof(*grown));
			if (!grown)
				return out_of_memory();
			all->def = grown;
			def = &grown[all->n++];
			*def = (struct profile_def){};
		}
		free_def(def);
		*def = file->def[i];
		file->def[i] = (struct profile_def){};
	}
	return EXIT_DONE;
}

/* A file that is wrong must not take away the others. */
static int read_directory(struct profile_defs *defs)
{
	glob_t found;
	int ret = EXIT_DONE;

	if (glob(PROFILES_DIR "/*.ini", 0, NULL, &found))
		return EXIT_DONE;
	for (size_t i = 0; !ret && i < found.gl_pathc; i++) {
		struct profile_defs file = {};

		if (!profile_defs_file(found.gl_pathv[i], &file))
			ret = merge(defs, &file);
		profile_defs_free(&file);
	}
	globfree(&found);
	return ret;
}

int profile_defs_known(struct profile_defs *defs)
{
	FILE *f = fmemopen((void *)bbr_profiles, bbr_profiles_end - bbr_profiles, "r");
	int ret;

	*defs = (struct profile_defs){};
	if (!f)
		return out_of_memory();
	ret = read_stream(f, BUILT_IN, defs);
	fclose(f);
	return ret ? ret : read_directory(defs);
}

static bool is_assigned(const char *key, int n, const char *const *assignments)
{
	size_t len = strlen(key);

	for (int i = 0; i < n; i++)
		if (!strncmp(assignments[i], key, len) && assignments[i][len] == '=')
			return true;
	return false;
}

static int check_needs(const struct profile_def *def, int n, const char *const *assignments)
{
	char *list = strdup(def->needs), *rest = list, *key;
	int ret = list ? EXIT_DONE : out_of_memory();

	while (!ret && (key = strsep(&rest, " "))) {
		if (!*key || is_assigned(key, n, assignments))
			continue;
		err("%s: needs a value for %s", def->name, key);
		remedy("give it %s=VALUE; nothing would make sense for all", key);
		ret = EXIT_USAGE;
	}
	free(list);
	return ret;
}

/* The one definition that is meant, among those that were read into defs. */
static int choose(const char *base, struct profile_defs *defs, const struct profile_def **def)
{
	if (!strchr(base, '/')) {
		*def = find(defs, base);
		if (*def)
			return EXIT_DONE;
		err("%s: no profile of this name is known", base);
		remedy("bbrctl profile list shows those that are; a file's name has a slash");
		return EXIT_USAGE;
	}
	*def = defs->def;
	if (defs->n == 1)
		return EXIT_DONE;
	err("%s: has %zu profiles, and one is wanted", base, defs->n);
	remedy("add them by their names: bbrctl profile add NAME --profile %s", base);
	return EXIT_USAGE;
}

int profile_def_params(const struct profile_def *def, int n, const char *const *assignments,
		       struct bbr_params *p)
{
	int ret = def ? check_needs(def, n, assignments) : EXIT_DONE;

	*p = def ? def->params : params_default;
	for (int i = 0; !ret && i < n; i++)
		ret = param_assign(assignments[i], p);
	return ret;
}

int profile_params(const char *base, int n, const char *const *assignments, struct bbr_params *p)
{
	const struct profile_def *def = NULL;
	struct profile_defs defs = {};
	int ret = EXIT_DONE;

	if (base)
		ret = strchr(base, '/') ? profile_defs_file(base, &defs) :
					  profile_defs_known(&defs);
	if (base && !ret)
		ret = choose(base, &defs, &def);
	if (!ret)
		ret = profile_def_params(def, n, assignments, p);
	profile_defs_free(&defs);
	return ret;
}
