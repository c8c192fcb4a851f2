/* SPDX-License-Identifier: GPL-2.0-only */
/* Candidates from the kernel, for the completion of shells (cli/completion.h). */
#ifndef LIB_COMPLETERS_H
#define LIB_COMPLETERS_H

struct completion;

void complete_instances(const struct completion *c);
void complete_congestion_controls(const struct completion *c);
/* The names in /run/netns. */
void complete_netns(const struct completion *c);
/* The devices of this network namespace. */
void complete_devices(const struct completion *c);
/* The directories of cgroup2, one level at a time. */
void complete_cgroups(const struct completion *c);

#endif
