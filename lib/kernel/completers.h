/* SPDX-License-Identifier: GPL-2.0-only */
/* Candidates that the kernel knows, for the completion of shells (cli/completion.h). */
#ifndef LIB_COMPLETERS_H
#define LIB_COMPLETERS_H

struct completion;

void complete_instances(const struct completion *c);
void complete_congestion_controls(const struct completion *c);
/* Those that run. */
void complete_experiments(const struct completion *c);
/* Those of /run/netns. */
void complete_netns(const struct completion *c);
/* The folders of cgroup2, one level at a time. */
void complete_cgroups(const struct completion *c);

#endif
