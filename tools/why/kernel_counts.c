// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf_calls.h"
#include "cli/err.h"
#include "kernel/netns.h"
#include "kernel_counts.h"
#include "why.lskel.h"

#define RECORDS 256
#define BUFFER_SIZE (RECORDS * sizeof(struct why_socket))
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

/* Loads it again, for the kernel's reasons. */
static void explain(void)
{
	char *log = mem_new(1, LOG_SIZE);
	struct why_bpf *program = NULL;

	if (!load(&program, log))
		why_bpf__destroy(program);
	note("%s", log);
	free(log);
}

int kernel_counts_open(struct kernel_counts *k)
{
	int error;

	memset(k, 0, sizeof(*k));
	k->buffer = mem_new(1, BUFFER_SIZE);
	error = load(&k->program, NULL);
	if (!error)
		return EXIT_DONE;
	explain();
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

	for (; at + sizeof(struct why_socket) <= size && !r->enough;
	     at += sizeof(struct why_socket)) {
		struct why_socket s;

		memcpy(&s, r->counts->buffer + at, sizeof(s));
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
	err("cannot read the connections of the network namespace %s: %s", ns->name,
	    strerror(-error));
	return EXIT_REFUSED;
}

static bool is_wanted(const struct netns_use *use, void *data)
{
	(void)use;
	(void)data;
	return true;
}

int kernel_counts_read(struct kernel_counts *k, const char *netns, why_socket_handler handle,
		       void *ctx)
{
	struct reading r = { .counts = k, .handle = handle, .ctx = ctx };
	int ret = netns_visit_all(netns, is_wanted, read_namespace, &r);

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
