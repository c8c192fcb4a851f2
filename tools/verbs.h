/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verbs of bbrmon, and the capabilities that they need.
 */
#ifndef TOOLS_VERBS_H
#define TOOLS_VERBS_H

#include "cli/privileges.h"
#include "cli/options.h"

/*
 * CAP_SYS_ADMIN: find a loaded instance, with bpf(2)'s *_GET_NEXT_ID and *_GET_FD_BY_ID, and enter
 * a network namespace. In the kernel it includes CAP_BPF and CAP_PERFMON (bpf_capable(),
 * perfmon_capable()).
 * CAP_SYS_PTRACE: find the namespaces of other users' processes, through /proc/PID/ns.
 * CAP_NET_ADMIN: before Linux 6.10, query the programs of a cgroup, to find experiments.
 */
#define WATCH CAP(SYS_ADMIN)
#define EVERY_NETNS CAP(SYS_PTRACE)
#define CGROUP_PROGRAMS CAP(NET_ADMIN)
/* Open a cgroup by its id: open_by_handle_at(2). */
#define FIND_CGROUPS CAP(DAC_READ_SEARCH)

/* Lets root read and write the named files whatever their permissions, as usual. */
#define READ_FILE CAP(DAC_READ_SEARCH)
#define WRITE_FILE CAP(DAC_OVERRIDE)

extern const struct verb VERB_OF(snapshot), VERB_OF(stream), VERB_OF(record), VERB_OF(top),
	VERB_OF(report), VERB_OF(experiment), VERB_OF(export);

#endif
