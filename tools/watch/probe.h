/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program that tells of the kernel's own bbr from outside (bpf/probe.bpf.c). It has the maps of an instance that
 * a subscription needs, and lives no longer than this process.
 */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

#include <stdbool.h>

#include "kernel/instance.h"

#define PROBE_PROGRAMS 3

struct bpf_object;

struct probe {
	struct bpf_object *obj; /* NULL: not attached */
	int links[PROBE_PROGRAMS];
	bool built_in; /* is the kernel's bbr no module? */
	bool refused; /* this kernel cannot attach it, which was said */
};

void probe_init(struct probe *p);

/* Does the kernel have its own bbr now, built in or as a module that is loaded? */
bool probe_is_possible(const struct probe *p);

/*
 * Attaches the program; *inst is what to subscribe to. 0; -EPROTONOSUPPORT: it is no BBR that is known; or -errno after
 * saying what failed, with -v.
 */
int probe_attach(struct probe *p, struct instance *inst);

/* To be called after the subscription has ended. */
void probe_detach(struct probe *p);

#endif
