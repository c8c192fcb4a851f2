/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_UNREGISTER_H
#define LOADER_UNREGISTER_H

#include <stdbool.h>

struct instance;

/* Does the kernel have a congestion control with this name, of whatever kind? */
bool is_registered(const char *name);

/*
 * Frees the name, however it was registered. Sockets that use the code keep it. Returns EXIT_DONE,
 * or EXIT_REFUSED after printing why not.
 */
int unregister(const struct instance *inst);

#endif
