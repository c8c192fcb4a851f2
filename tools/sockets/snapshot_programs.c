// SPDX-License-Identifier: GPL-2.0-only
/*
 * build/snapshot_programs.h includes, for each algorithm, its skeleton and snapshot_program.inc.
 */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "sockets.h"

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)

/* A name in the algorithm's skeleton. */
#define SKEL(what) JOIN(snapshot_, ALGORITHM, what)

#include "snapshot_programs.h"

const struct snapshot_program_type snapshot_programs[] = {
#define X(name) { load_snapshot_##name, unload_snapshot_##name },
#include "algorithms.h"
#undef X
};
