/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The profiles of a loaded instance (bpf_bbr/profiles.h), mapped into memory.
 */
#ifndef LOADER_PROFILE_MAP_H
#define LOADER_PROFILE_MAP_H

#include <stdbool.h>

#include "bpf_bbr/profiles.h"

/* Sections of files, beside those of profiles. */
#define RULES_SECTION "rules"
#define INSTANCE_SECTION "instance" /* with a name behind it */

struct algorithm;
struct instance;
struct param_set;

struct profile_map {
	const struct algorithm *algorithm;
	struct bbr_profiles_head *head; /* the banks are behind it */
	size_t size; /* bytes of the map */
	int clamped_fd; /* the program's map, for the count of connections */
	__u32 clamped_size; /* bytes of its value */
	__u32 params_size; /* of the instance, which may be of another minor version than we */
};

/*
 * Opens those of an instance, or of an object that is loaded but not registered (which has no connections
 * yet: clamped_fd may be -1). EXIT_DONE, or EXIT_REFUSED after printing why.
 */
int profile_map_open(const struct instance *inst, struct profile_map *ps);
int profile_map_open_maps(const struct algorithm *algorithm, int params_fd, int clamped_fd,
			  __u32 params_size, struct profile_map *ps);
void profile_map_close(struct profile_map *ps);

/* The index of a profile by its name, or -1. */
int profile_find(const struct profile_map *ps, const char *name);

/* The same, but prints the error and which there are: EXIT_NOTHING. */
int profile_get(const struct profile_map *ps, const char *name, int *index);

/* "" if the place is free; not longer than BBR_PROFILE_NAME_LEN with its closing 0, whatever the map holds. */
void profile_name(const struct profile_map *ps, int index, char *name);

/* Connections that have it now; -errno if the kernel does not tell. */
long long profile_connections(const struct profile_map *ps, int index);

/*
 * The parameters in force, each within its range. What the instance does not know yet is at its default.
 */
void profile_read(const struct profile_map *ps, int index, struct param_set *p);

/*
 * Does the instance know all that p sets? An older one does not know the newest parameters. EXIT_DONE, or
 * EXIT_REFUSED after printing the first that it does not know.
 */
int profile_check_known(const struct profile_map *ps, const struct param_set *p);

/* Makes a profile of instances that are not registered yet: nobody reads them. */
void profile_init(struct profile_map *ps, int index, const char *name, const struct param_set *p);

/* Puts p in force, all of it at once for every ACK that is processed from now on. 0 or -errno. */
int profile_write(struct profile_map *ps, int index, const struct param_set *p);

/* Is it a name that a profile can have? If not, prints why. */
bool profile_name_is_valid(const char *name);

/* Adds one: its index, -ENOSPC if all places are taken, or another -errno. The name is valid and new. */
int profile_add(struct profile_map *ps, const char *name, const struct param_set *p);

/* Takes the name away. Connections that have it keep it, and its parameters, until they end. */
void profile_delete(struct profile_map *ps, int index);

#endif
