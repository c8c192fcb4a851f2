/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions of profiles: those of each algorithm (its profiles.ini), those in
 * /etc/bpf-bbr/profiles.d/ *.ini, and those in a file that the user names. All are INI files:
 *
 *	algorithm = NAME	of all its profiles; by default the first of the tools' table
 *
 *	[NAME]
 *	about = one line: what for, where its constants come from
 *	needs = KEY ...		parameters that a user who adds it must give
 *	KEY = VALUE		as `bbrctl set` takes them; the others are at their defaults
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
	const struct algorithm *algorithm; /* whose profiles they are */
	struct profile_definition *def;
	size_t n;
};

/*
 * Reads those that an instance of the algorithm can get: built in, and from PROFILES_DIR, where a
 * later one replaces an earlier one with the same name. Reports a file with a mistake and leaves it
 * out. The caller frees defs in any case.
 */
int profile_definitions_known(const struct algorithm *algorithm, struct profile_definitions *defs);

/* Reads those in one file, which must be for this algorithm; "-" is stdin. */
int profile_definitions_file(const char *path, const struct algorithm *algorithm,
			     struct profile_definitions *defs);

/*
 * For other files that contain profiles: begins a section [NAME], and takes a line of it.
 * defs->algorithm must be known.
 */
int profile_definitions_begin(struct profile_definitions *defs, const char *origin,
			      const char *name);
int profile_definitions_line(struct profile_definitions *defs, const char *section, const char *key,
			     const char *value);

/*
 * Takes another line of such files: "from = PROFILE" sets the values of a known profile, or of the
 * only one in a file, which the following lines change.
 */
int profile_definitions_base(struct profile_definitions *defs, const char *section,
			     const char *base);

/* EXIT_DONE: it has all needed keys. */
int profile_definition_complete(const struct profile_definition *def);

void profile_definitions_free(struct profile_definitions *defs);

/* Says which one a name that is not among them may mean, or which algorithm has it. */
void profile_definitions_suggest(const struct profile_definitions *defs, const char *name);

/* The definition with this name, or NULL. */
struct profile_definition *profile_definitions_find(const struct profile_definitions *defs,
						    const char *name);

/*
 * Computes the parameters: those of a definition (NULL: the algorithm's defaults), then n
 * assignments ("KEY=VALUE"), which must have what the profile needs.
 */
int profile_definition_params(const struct algorithm *algorithm,
			      const struct profile_definition *def, int n,
			      const char *const *assignments, struct param_set *p);

/*
 * The same for the name of a known profile, or of a file with one profile (which has a slash in
 * it). NULL: the defaults.
 */
int profile_params(const struct algorithm *algorithm, const char *base, int n,
		   const char *const *assignments, struct param_set *p);

#endif
