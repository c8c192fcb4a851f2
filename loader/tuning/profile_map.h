/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The profiles of a loaded instance (bpf_bbr/profiles.h), mapped into memory.
 */
#ifndef LOADER_PROFILE_MAP_H
#define LOADER_PROFILE_MAP_H

#include <stdbool.h>

#include "bpf_bbr/profiles.h"

/* Sections of files, besides those of profiles. */
#define RULES_SECTION "rules"
#define INSTANCE_SECTION "instance" /* a name follows */

struct algorithm;
struct instance;
struct param_set;

struct profile_map {
	const struct algorithm *algorithm;
	struct bbr_profiles_head *head; /* the banks follow */
	size_t size; /* bytes of the map */
	int clamped_fd; /* the program's map, for the count of connections */
	__u32 clamped_size; /* bytes of its value */
	__u32 params_size; /* of the instance, whose minor version may differ from ours */
};

/*
 * Opens those of an instance, or of an object that is loaded but not registered (which has no
 * connections yet: clamped_fd may be -1). One that failed may be closed, too, and so may zeros.
 */
int profile_map_open(const struct instance *inst, struct profile_map *ps);
int profile_map_open_maps(const struct algorithm *algorithm, int params_fd, int clamped_fd,
			  __u32 params_size, struct profile_map *ps);
void profile_map_close(struct profile_map *ps);

/* The index of a profile by its name, or -1. */
int profile_find(const struct profile_map *ps, const char *name);

/* The same, into *index; or says which there are. */
int profile_get(const struct profile_map *ps, const char *name, int *index);

/*
 * Reads a profile's name, "" if the place is free. With its closing 0 it has at most
 * BBR_PROFILE_NAME_LEN characters, whatever the map holds.
 */
void profile_name(const struct profile_map *ps, int index, char *name);

/* Reads how many connections each profile has now. Returns 0, or -errno. */
int profile_connections(const struct profile_map *ps, long long connections[BBR_PROFILES]);

/*
 * A place that no connection has, and whose name is free here and in `also` (NULL: only here).
 * Returns its index, -ENOSPC if there is none, or another -errno.
 */
int profile_free_place(const struct profile_map *ps, const struct bbr_profiles_head *also);

/*
 * Reads the parameters in force, each within its range. Those that the instance does not know yet
 * are at their defaults.
 */
void profile_read(const struct profile_map *ps, int index, struct param_set *p);

/* EXIT_DONE: the instance knows all parameters that p sets. An older one lacks the newest. */
int profile_check_known(const struct profile_map *ps, const struct param_set *p);

/* Makes a profile of an instance that is not registered yet, so that nobody reads it. */
void profile_init(struct profile_map *ps, int index, const char *name, const struct param_set *p);

/*
 * Waits until no BPF program reads a bank that is not selected now. The caller holds the lock.
 * Returns 0 or -errno.
 */
int profile_wait(void);

/* Writes p into the bank that is not selected, after profile_wait(). Returns its generation. */
__u32 profile_write_ahead(const struct profile_map *ps, int index, const struct param_set *p);

/* Puts p in force, all at once for every ACK processed from now on. Returns 0 or -errno. */
int profile_write(struct profile_map *ps, int index, const struct param_set *p);

/* True if a profile can have this name; otherwise prints why not. */
bool profile_name_is_valid(const char *name);

/*
 * Adds a profile, whose name is valid and new. Returns its index, -ENOSPC if all places are taken,
 * or another -errno.
 */
int profile_add(struct profile_map *ps, const char *name, const struct param_set *p);

/* Removes the name. Connections that have the profile keep it and its parameters until they end. */
void profile_delete(struct profile_map *ps, int index);

#endif
