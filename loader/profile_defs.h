/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions of profiles: those that bbrctl brings along (profiles.ini), those in /etc/bpf-bbr/profiles.d/ *.ini,
 * and those of a file that the user names. All of them are INI files:
 *
 *	[NAME]
 *	about = one line: what for, where its constants come from
 *	needs = KEY ...		parameters that whoever adds it has to give
 *	KEY = VALUE		as `bbrctl set` takes them; what is not named is at its default
 */
#ifndef LOADER_PROFILE_DEFS_H
#define LOADER_PROFILE_DEFS_H

#include <stddef.h>

#include "bpf_bbr/profiles.h"

#define PROFILES_DIR "/etc/bpf-bbr/profiles.d"

struct profile_def {
	char name[BBR_PROFILE_NAME_LEN];
	char *about; /* "" if it says nothing */
	char *needs; /* keys, separated by blanks; "" for none */
	char *origin; /* the file's name, or "built in" */
	struct bbr_params params;
};

struct profile_defs {
	struct profile_def *def;
	size_t n;
};

/*
 * Those that can be had: built in, and of PROFILES_DIR, where a later one of a name replaces an earlier one. A
 * file with a mistake is reported and left out. EXIT_DONE or EXIT_REFUSED. To be freed in any case.
 */
int profile_defs_known(struct profile_defs *defs);

/* Those of one file, "-" is stdin. EXIT_DONE, or EXIT_USAGE after printing the line and what is wrong with it. */
int profile_defs_file(const char *path, struct profile_defs *defs);

/*
 * For other files in which profiles stand: a section [NAME] begins, a line of it. EXIT_DONE, or another after
 * printing what is wrong.
 */
int profile_defs_begin(struct profile_defs *defs, const char *origin, const char *name);
int profile_defs_line(struct profile_defs *defs, const char *section, const char *key,
		      const char *value);

void profile_defs_free(struct profile_defs *defs);

/* The definition of a name, or NULL. */
const struct profile_def *profile_defs_find(const struct profile_defs *defs, const char *name);

/*
 * The parameters that a definition and after it assignments ("KEY=VALUE") come to. def NULL: the defaults.
 * EXIT_DONE, or EXIT_USAGE after printing why: what the profile needs is missing, or an assignment is wrong.
 */
int profile_def_params(const struct profile_def *def, int n, const char *const *assignments,
		       struct bbr_params *p);

/* The same, of the name of one that is known, or of a file of one profile (with a slash in its name). */
int profile_params(const char *base, int n, const char *const *assignments, struct bbr_params *p);

#endif
