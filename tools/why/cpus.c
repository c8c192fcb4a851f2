// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/err.h"
#include "kernel/clock.h"
#include "kernel_counts.h"

#define LINE_LEN 1024

/* "cpu1 user nice system idle iowait irq softirq steal guest guest_nice" */
static void read_times(struct cpu_times *times, unsigned int n, FILE *f)
{
	char line[LINE_LEN];
	unsigned long long t[8];
	unsigned int cpu;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &t[0],
			   &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 9 ||
		    cpu >= n)
			continue;
		times[cpu].has_times = true;
		times[cpu].idle = t[3] + t[4];
		times[cpu].softirq = t[6];
		times[cpu].stolen = t[7];
		for (int i = 0; i < 8; i++)
			times[cpu].all += t[i];
	}
}

/* Hexadecimal: processed, dropped, time_squeeze; the CPU's number is the 13th. */
static void read_softnet(struct cpu_times *times, unsigned int n, FILE *f)
{
	char line[LINE_LEN];
	unsigned int dropped, squeezed, cpu;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*x %x %x %*x %*x %*x %*x %*x %*x %*x %*x %*x %x", &dropped,
			   &squeezed, &cpu) != 3 ||
		    cpu >= n)
			continue;
		times[cpu].has_softnet = true;
		times[cpu].drops = dropped;
		times[cpu].squeezes = squeezed;
	}
}

void cpu_times_of(struct cpu_times *times, unsigned int n, FILE *stat, FILE *softnet)
{
	memset(times, 0, n * sizeof(*times));
	read_times(times, n, stat);
	read_softnet(times, n, softnet);
}

void cpus_read(struct cpus *c)
{
	struct cpu_times **to = c->first ? &c->last : &c->first;
	FILE *stat, *softnet;

	if (!c->n)
		c->n = sysconf(_SC_NPROCESSORS_CONF);
	if (!*to)
		*to = mem_new(c->n, sizeof(**to));
	*(to == &c->first ? &c->first_ns : &c->last_ns) = now_ns();
	stat = fopen("/proc/stat", "re");
	softnet = fopen("/proc/net/softnet_stat", "re");
	cpu_times_of(*to, c->n, stat, softnet);
	if (stat)
		fclose(stat);
	if (softnet)
		fclose(softnet);
}

struct why_cpu cpus_of(const struct cpus *c, __u32 cpu)
{
	struct why_cpu is = { .number = cpu };
	const struct cpu_times *a, *b;
	double all;

	if (!c->first || !c->last || cpu >= c->n)
		return is;
	a = &c->first[cpu];
	b = &c->last[cpu];
	all = b->all - a->all;
	if (!a->has_times || !b->has_times || !a->has_softnet || !b->has_softnet ||
	    b->all <= a->all)
		return is;
	is.is_known = true;
	/* The kernel may correct iowait downwards. */
	is.busy = b->idle > a->idle ? 1 - (b->idle - a->idle) / all : 1;
	is.softirq = (b->softirq - a->softirq) / all;
	is.stolen = (b->stolen - a->stolen) / all;
	/* 32 bits each, which wrap. */
	is.squeezes = (__u32)(b->squeezes - a->squeezes);
	is.drops = (__u32)(b->drops - a->drops);
	is.seconds = (c->last_ns - c->first_ns) / (double)NS_PER_S;
	return is;
}

void cpus_free(struct cpus *c)
{
	free(c->first);
	free(c->last);
}
