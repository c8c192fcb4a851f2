/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_CARRY_SETTINGS_H
#define LOADER_CARRY_SETTINGS_H

#include "bpf_bbr/abi.h"

struct bpf_object;
struct instance;

/*
 * Gives a loaded object, which will replace an instance, what users have set of that: profiles with their
 * places, rules, and what the defaults of namespaces were before. EXIT_DONE, or EXIT_REFUSED after printing why.
 */
int carry_settings(const struct instance *from, const struct bpf_object *to,
		   const struct bbr_abi *abi);

/*
 * Before the object is loaded: it will use the map in which experiments tell the instance a connection's profile, so that
 * they go on. 0 or -errno.
 */
int carry_assigned(const struct instance *from, const struct bpf_object *to);

/* Only what the defaults of namespaces were before. 0 or -errno. */
int carry_defaults(const struct instance *from, const struct bpf_object *to);

#endif
