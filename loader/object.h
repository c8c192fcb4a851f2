/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF objects: those inside bbrctl (embedded.S), or a file.
 */
#ifndef LOADER_OBJECT_H
#define LOADER_OBJECT_H

struct bpf_object;
struct migrate_config;

/*
 * Opens and loads the object; nothing is registered yet. file NULL: the built-in one. EXIT_DONE, or
 * EXIT_REFUSED after one sentence that says what this kernel or machine lacks.
 */
int object_load(const char *file, struct bpf_object **obj);

/*
 * Registers a loaded object as a congestion control of this name. It stays until it is unloaded, also
 * when the process ends. *map_id is the id of the struct_ops map. 0 or -errno: -EEXIST, the name is taken.
 */
int object_register(struct bpf_object *obj, const char *name, unsigned int *map_id);

/* Loads the program that goes over sockets (bpf/migrate.bpf.c), as object_load() does. */
int migrate_object_load(const struct migrate_config *config, struct bpf_object **obj);

/* A map of the object by its kernel name: its file descriptor, or -errno. */
int object_map(const struct bpf_object *obj, const char *name);

#endif
