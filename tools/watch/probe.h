/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF program that reports the kernel's own bbr from outside (bpf/probe.bpf.c). It has those
 * maps of an instance that a subscription needs, and lives no longer than this process.
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
	bool built_in; /* is the kernel's bbr built in, not a module? */
	bool refused; /* this kernel cannot attach it; that was reported */
};

void probe_init(struct probe *p);

/* Does the kernel have its own bbr now, built in or as a loaded module? */
bool probe_is_possible(const struct probe *p);

/*
 * Attaches the program; subscribe to *inst then. Returns 0; -EPROTONOSUPPORT if it is not a known
 * BBR; or another -errno after printing, with -v, what failed.
 */
int probe_attach(struct probe *p, struct instance *inst);

/* Call this after the subscription has ended. */
void probe_detach(struct probe *p);

#endif
