/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions of profiles: those of each algorithm (its profiles.ini), those in /etc/bpf-bbr/profiles.d/ *.ini,
 * and those of a file that the user names. All of them are INI files:
 *
 *	algorithm = NAME	of all its profiles; the first of the tools' table if it is left out
 *
 *	[NAME]
 *	about = one line: what for, where its constants come from
 *	needs = KEY ...		parameters that whoever adds it has to give
 *	KEY = VALUE		as `bbrctl set` takes them; what is not named is at its default
 */
#ifndef LOADER_PROFILE_DEFINITIONS_H
#define LOADER_PROFILE_DEFINITIONS_H

#include <stddef.h>

#include "bpf_bbr/profiles.h"
#include "tuning/param.h"

#define PROFILES_DIR "/etc/bpf-bbr/profiles.d"

struct profile_definition {
	char name[BBR_PROFILE_NAME_LEN];
	char *about; /* "" if it says nothing */
	char *needs; /* keys, separated by blanks; "" for none */
	char *origin; /* the file's name, or "built in" */
	struct param_set params;
};

struct profile_definitions {
	const struct algorithm *algorithm; /* which they are of */
	struct profile_definition *def;
	size_t n;
};

/*
 * Those that an instance of the algorithm can get: built in, and of PROFILES_DIR, where a later one of a name
 * replaces an earlier one. A file with a mistake is reported and left out. EXIT_DONE or EXIT_REFUSED. To be freed in
 * any case.
 */
int profile_definitions_known(const struct algorithm *algorithm, struct profile_definitions *defs);

/*
 * Those of one file, "-" is stdin. EXIT_DONE, or EXIT_USAGE after printing the line and what is wrong with it; or that
 * the file is of another algorithm.
 */
int profile_definitions_file(const char *path, const struct algorithm *algorithm,
			     struct profile_definitions *defs);

/*
 * For other files in which profiles stand: a section [NAME] begins, a line of it. defs->algorithm is known by then.
 * EXIT_DONE, or another after printing what is wrong.
 */
int profile_definitions_begin(struct profile_definitions *defs, const char *origin,
			      const char *name);
int profile_definitions_line(struct profile_definitions *defs, const char *section, const char *key,
			     const char *value);

/*
 * Another line of such files: "from = PROFILE", the values of a known profile or of the only one in a file, on which the
 * lines that follow build. As profile_definitions_line().
 */
int profile_definitions_base(struct profile_definitions *defs, const char *section,
			     const char *base);

/* Has it what it needs? EXIT_DONE, or EXIT_USAGE after printing what is missing. */
int profile_definition_complete(const struct profile_definition *def);

void profile_definitions_free(struct profile_definitions *defs);

/* The definition of a name, or NULL. */
const struct profile_definition *profile_definitions_find(const struct profile_definitions *defs,
							  const char *name);

/*
 * The parameters that a definition and after it assignments ("KEY=VALUE") come to. def NULL: the algorithm's defaults.
 * EXIT_DONE, or EXIT_USAGE after printing why: what the profile needs is missing, or an assignment is wrong.
 */
int profile_definition_params(const struct algorithm *algorithm,
			      const struct profile_definition *def, int n,
			      const char *const *assignments, struct param_set *p);

/* The same, of the name of one that is known, or of a file of one profile (with a slash in its name). */
int profile_params(const struct algorithm *algorithm, const char *base, int n,
		   const char *const *assignments, struct param_set *p);

#endif
