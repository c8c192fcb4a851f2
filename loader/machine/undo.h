/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `bbrctl apply --undo` needs, also after a reboot: the states before and after the last apply,
 * as files for an apply (machine.h), in /var/lib/bpf-bbr. A folder that is not there is not made:
 * then nothing is kept. Applies of one instance have a file of their own, until the next apply of
 * the whole machine.
 */
#ifndef LOADER_UNDO_H
#define LOADER_UNDO_H

#include <stdbool.h>

struct machine;
struct plan;

struct undo {
	const char *only; /* the instance that it is about; NULL: all */
	char *before, *after; /* NULL: nothing is kept */
	bool is_undone; /* the machine is as before */
};

/* The file, for messages; until the next call. */
const char *undo_path(const char *only);

/*
 * Reads what is kept. A file that others may have written, or that is damaged, counts as none; it
 * prints why. The caller frees u in any case. Returns an exit status; EXIT_NOTHING: nothing is kept.
 */
int undo_read(const char *only, struct undo *u);
void undo_free(struct undo *u);

/* Reads the state before, or the one after, as machine_file_read() would. */
int undo_machine(const struct undo *u, bool is_after, struct machine *m);

/* True if the state after is what a file asks for. */
bool undo_is_after(const struct undo *u, const struct machine *wanted);

/*
 * Makes what is to be kept when a plan is about to lead from `found` to `wanted`; `last`: what is
 * kept so far. The state before has what an apply made, and what the plan or the file touches. If
 * the machine still is as the last apply left it, it is what that apply had asked for, also pods to
 * come, and routes that wait for their network; likewise if nothing of it is left, as after a boot.
 * If the plan is empty, it is what `last` has. Returns false if `last` is to stay, because the same
 * is applied again: after a boot, or by a new bbrctl.
 */
bool undo_make(const struct undo *last, const struct machine *wanted, const struct machine *found,
	       const struct plan *plan, struct undo *u);

/*
 * Writes it to the file, or removes the file if u keeps nothing. The file is replaced as a whole. If
 * it cannot be written, it prints so and removes the old one, which is about another state.
 */
void undo_write(const struct undo *u);

#endif
