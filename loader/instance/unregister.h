/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LOADER_UNREGISTER_H
#define LOADER_UNREGISTER_H

struct instance;

/*
 * Frees the name, however it was registered; who uses the code keeps it. EXIT_DONE, or EXIT_REFUSED after
 * printing why not.
 */
int unregister(const struct instance *inst);

#endif
