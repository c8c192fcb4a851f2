/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel counts of every established TCP socket, read at once, and of every CPU.
 */
#ifndef TOOLS_WHY_KERNEL_COUNTS_H
#define TOOLS_WHY_KERNEL_COUNTS_H

#include <stdbool.h>
#include <stdio.h>

#include "bpf_bbr/why.h"
#include "judge.h"

/* Returns false to get no more. */
typedef bool (*why_socket_handler)(void *ctx, const struct why_socket *s);

struct why_bpf;

struct kernel_counts {
	struct why_bpf *program;
	char *buffer;
};

/* Returns an exit status; has printed what failed unless it is EXIT_DONE. */
int kernel_counts_open(struct kernel_counts *k);
/* Reads the sockets of a network namespace, or of each one if netns is NULL. Exit status. */
int kernel_counts_read(struct kernel_counts *k, const char *netns, why_socket_handler handle,
		       void *ctx);
void kernel_counts_close(struct kernel_counts *k);

/*
 * What the CPUs did since they were read the first time.
 */
struct cpu_times {
	__u64 all, idle, softirq, stolen; /* ticks of /proc/stat */
	__u64 drops, squeezes; /* of /proc/net/softnet_stat */
	bool has_times, has_softnet;
};

struct cpus {
	struct cpu_times *first, *last; /* NULL: not read */
	unsigned int n;
	__u64 first_ns, last_ns;
};

/* What cannot be read is not known. */
void cpus_read(struct cpus *c);
struct why_cpu cpus_of(const struct cpus *c, __u32 cpu);
void cpus_free(struct cpus *c);

/* For tests: the files are read from there. */
void cpu_times_of(struct cpu_times *times, unsigned int n, FILE *stat, FILE *softnet);

#endif
