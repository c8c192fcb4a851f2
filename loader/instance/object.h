/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF objects: those embedded in bbrctl (self/embedded.h), or a file. A congestion control's object
 * is opened, which checks it, then loaded into the kernel, then registered.
 */
#ifndef LOADER_OBJECT_H
#define LOADER_OBJECT_H

#include "bpf_bbr/abi.h"

struct algorithm;
struct bpf_object;
struct migrate_config;

/* An open object. */
struct object {
	struct bpf_object *bpf;
	const char *file; /* as messages name it */
	struct bbr_abi abi;
	const struct algorithm *algorithm; /* NULL: bbrctl does not know it */
};

/*
 * Opens the file, or if it is NULL the built-in object of an algorithm, and checks its ABI, without
 * the kernel. EXIT_DONE: call object_close() later.
 */
int object_open(const char *file, const struct algorithm *built_in, struct object *obj);
void object_close(struct object *obj);

/* Loads it, without registering it, or says in one sentence what this kernel or machine lacks. */
int object_load(const struct object *obj);

/*
 * EXIT_DONE: bbrctl will find the loaded object once it is registered. libbpf gives its maps no
 * names if the kernel once refuses a probe.
 */
int object_check_found(const struct bpf_object *obj);

/*
 * Registers a loaded object as a congestion control with this name. It stays until it is unloaded,
 * even after the process ends. *map_id is the id of the struct_ops map.
 */
int object_register(struct bpf_object *obj, const char *name, unsigned int *map_id);

/* Opens and loads the program that walks the sockets (bpf/migrate.bpf.c). */
int migrate_object_load(const struct migrate_config *config, struct bpf_object **obj);

/* Find a map or program of the object by its kernel name. Return its file descriptor or -errno. */
int object_map(const struct bpf_object *obj, const char *name);
int object_program(const struct bpf_object *obj, const char *name);

/* ---- the program that gives a cgroup's connections a congestion control (bpf/attach.bpf.c) */

struct attachment;

/*
 * Loads it for an attachment, and attaches nothing yet. Returns a file descriptor, or -1 after
 * printing why.
 */
int attach_program_load(const struct attachment *at);

/* Attaches it to a cgroup, in place of the attached program replaced_fd (-1: beside any). */
int attach_program(int prog_fd, int cgroup_fd, int replaced_fd, const char *path);
int detach_program(int prog_fd, int cgroup_fd, const char *path);

#endif
