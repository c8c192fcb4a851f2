/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a machine in the form of a file (machine_file.h). */
#ifndef LOADER_MACHINE_TEXT_H
#define LOADER_MACHINE_TEXT_H

#include <stdbool.h>

#include <linux/types.h>

struct json;
struct machine;
struct machine_instance;
struct profile_definition;

/*
 * Prints an instance: its section, profiles and rules, each line after a prefix. all: also what is
 * at its default, as comments.
 */
void machine_print(const struct machine *m, const struct machine_instance *inst, const char *prefix,
		   bool all);
void machine_print_rule(const struct machine_instance *inst, __u32 i, const char *prefix);

/* Adds the same as an object of an array. */
void machine_add_json(struct json *j, const struct machine *m, const struct machine_instance *inst);

#endif
