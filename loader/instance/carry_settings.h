/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_CARRY_SETTINGS_H
#define LOADER_CARRY_SETTINGS_H

#include "bpf_bbr/abi.h"

struct bpf_object;
struct instance;

/*
 * Gives a loaded object, which will replace an instance, that instance's settings: profiles with
 * their indexes, rules, and the previous defaults of namespaces. Returns EXIT_DONE, or EXIT_REFUSED
 * after printing why.
 */
int carry_settings(const struct instance *from, const struct bpf_object *to,
		   const struct bbr_abi *abi);

/*
 * Before the object is loaded: makes it use the instance's map in which experiments write a
 * connection's profile, so that they go on. Returns 0 or -errno.
 */
int carry_assigned(const struct instance *from, const struct bpf_object *to);

/*
 * Passes on only the previous defaults of namespaces, and what an apply made (applied.h). Returns 0
 * or -errno.
 */
int carry_defaults(const struct instance *from, const struct bpf_object *to);

#endif
