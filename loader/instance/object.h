/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF objects: those inside bbrctl (embedded.h), or a file. An object of a congestion control is opened, which
 * checks it, then loaded into the kernel, then registered.
 */
#ifndef LOADER_OBJECT_H
#define LOADER_OBJECT_H

#include "bpf_bbr/abi.h"

struct algorithm;
struct bpf_object;
struct migrate_config;

/* One that is open. */
struct object {
	struct bpf_object *bpf;
	const char *file; /* as messages name it */
	struct bbr_abi abi;
	const struct algorithm *algorithm; /* NULL: bbrctl does not know it */
};

/*
 * Opens the file, or if it is NULL the built-in object of an algorithm, and checks its ABI; the kernel hears nothing of
 * it. EXIT_DONE, to be closed, or EXIT_REFUSED after printing why not.
 */
int object_open(const char *file, const struct algorithm *built_in, struct object *obj);
void object_close(struct object *obj);

/*
 * Loads it; nothing is registered yet. EXIT_DONE, or EXIT_REFUSED after one sentence that says what this kernel or
 * machine lacks.
 */
int object_load(const struct object *obj);

/*
 * Registers a loaded object as a congestion control of this name. It stays until it is unloaded, also
 * when the process ends. *map_id is the id of the struct_ops map. EXIT_DONE, or EXIT_REFUSED after printing why not.
 */
int object_register(struct bpf_object *obj, const char *name, unsigned int *map_id);

/* Opens and loads the program that goes over sockets (bpf/migrate.bpf.c). As object_load(). */
int migrate_object_load(const struct migrate_config *config, struct bpf_object **obj);

/* A map of the object by its kernel name: its file descriptor, or -errno. */
int object_map(const struct bpf_object *obj, const char *name);

#endif
