// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_calls.h"
#include "cli/err.h"
#include "kernel/clock.h"
#include "kernel/netns.h"
#include "connection.h"
#include "why.lskel.h"

#define RECORDS 256
#define BUFFER_SIZE (RECORDS * WHY_SOCKET_SIZE)
#define LOG_SIZE (1 << 20)

/* One reading. */
struct reading {
	struct kernel_counts *counts;
	why_socket_handler handle;
	void *ctx;
	bool enough;
};

static int load(struct why_bpf **program, char *log)
{
	int error;

	*program = why_bpf__open();
	if (!*program)
		return -ENOMEM;
	if (log) {
		(*program)->ctx.log_level = 1;
		(*program)->ctx.log_buf = (unsigned long)log;
		(*program)->ctx.log_size = LOG_SIZE;
	}
	error = why_bpf__load(*program);
	if (!error)
		error = why_bpf__attach(*program);
	if (error) {
		why_bpf__destroy(*program);
		*program = NULL;
	}
	return error;
}

int kernel_counts_open(struct kernel_counts *k)
{
	struct why_bpf *again = NULL;
	char *log AUTO_FREE = NULL;
	int error;

	memset(k, 0, sizeof(*k));
	k->buffer = mem_new(1, BUFFER_SIZE);
	error = load(&k->program, NULL);
	if (!error)
		return EXIT_DONE;
	/* Loads it again, for the kernel's reasons. */
	log = mem_new(1, LOG_SIZE);
	if (!load(&again, log))
		why_bpf__destroy(again);
	note("%s", log);
	kernel_counts_close(k);
	err_bpf(error, "the kernel refused the BPF program that reads what it counts of sockets");
	remedy("-v shows the kernel's reasons");
	return EXIT_REFUSED;
}

/* Hands on whole records; returns how many bytes it has used, -1: that is enough. */
static ssize_t hand_on(void *reading, size_t size)
{
	struct reading *r = reading;
	size_t at = 0;

	for (; at + WHY_SOCKET_SIZE <= size && !r->enough; at += WHY_SOCKET_SIZE) {
		struct why_socket s = {};

		memcpy(&s, r->counts->buffer + at, WHY_SOCKET_SIZE);
		s.name[sizeof(s.name) - 1] = 0;
		r->enough = !r->handle(r->ctx, &s);
	}
	return r->enough ? -1 : (ssize_t)at;
}

/* An iterator belongs to the namespace in which it is created. */
static int read_namespace(const struct netns *ns, void *data)
{
	struct reading *r = data;
	int error = iterator_read(r->counts->program->links.read_sockets_fd, r->counts->buffer,
				  BUFFER_SIZE, hand_on, r);

	if (!error)
		return r->enough ? -1 : EXIT_DONE;
	return err_refused("cannot read the connections of the network namespace %s: %s", ns->name,
			   strerror(-error));
}

static bool takes_any(UNUSED const struct netns_use *use, UNUSED void *data)
{
	return true;
}

int kernel_counts_read(struct kernel_counts *k, const char *netns, why_socket_handler handle,
		       void *ctx)
{
	struct reading r = { .counts = k, .handle = handle, .ctx = ctx };
	int ret = netns_visit_all(netns, takes_any, read_namespace, &r);

	return r.enough ? EXIT_DONE : ret;
}

void kernel_counts_close(struct kernel_counts *k)
{
	if (k->program)
		why_bpf__destroy(k->program);
	free(k->buffer);
	k->program = NULL;
	k->buffer = NULL;
}

/* ---- CPUs */

#define LINE_LEN 1024

void cpu_times_of(struct cpu_times *times, unsigned int n, FILE *stat, FILE *softnet)
{
	char line[LINE_LEN];
	unsigned long long t[8];
	unsigned int dropped, squeezed, cpu;

	memset(times, 0, n * sizeof(*times));
	/* "cpu1 user nice system idle iowait irq softirq steal guest guest_nice" */
	while (stat && fgets(line, sizeof(line), stat)) {
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
	/* Hexadecimal: processed, dropped, time_squeeze; the CPU's number is the 13th. */
	while (softnet && fgets(line, sizeof(line), softnet)) {
		if (sscanf(line, "%*x %x %x %*x %*x %*x %*x %*x %*x %*x %*x %*x %x", &dropped,
			   &squeezed, &cpu) != 3 ||
		    cpu >= n)
			continue;
		times[cpu].has_softnet = true;
		times[cpu].drops = dropped;
		times[cpu].squeezes = squeezed;
	}
}

void cpus_read(struct cpus *c)
{
	struct cpu_times **to = c->first ? &c->last : &c->first;
	FILE *stat AUTO_FCLOSE = NULL, *softnet AUTO_FCLOSE = NULL;

	if (!c->n)
		c->n = sysconf(_SC_NPROCESSORS_CONF);
	if (!*to)
		*to = mem_new(c->n, sizeof(**to));
	*(to == &c->first ? &c->first_ns : &c->last_ns) = now_ns();
	stat = fopen("/proc/stat", "re");
	softnet = fopen("/proc/net/softnet_stat", "re");
	cpu_times_of(*to, c->n, stat, softnet);
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
