// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

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

/* Hands on whole records; returns how many bytes it has used. */
static size_t hand_on(struct reading *r, size_t size)
{
	size_t at = 0;

	for (; at + sizeof(struct why_socket) <= size && !r->enough;
	     at += sizeof(struct why_socket)) {
		struct why_socket s;

		memcpy(&s, r->counts->buffer + at, sizeof(s));
		s.name[sizeof(s.name) - 1] = 0;
		r->enough = !r->handle(r->ctx, &s);
	}
	return at;
}

static int read_all(struct reading *r, int fd)
{
	char *buffer = r->counts->buffer;
	size_t held = 0, used;
	ssize_t n;

	while (!r->enough) {
		n = read(fd, buffer + held, BUFFER_SIZE - held);
		if (!n)
			break;
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) /* after a million others */
			continue;
		if (n < 0)
			return -errno;
		held += n;
		used = hand_on(r, held);
		held -= used;
		memmove(buffer, buffer + used, held);
	}
	return 0;
}

/* An iterator belongs to the namespace in which it is created. */
static int read_namespace(const struct netns *ns, void *data)
{
	struct reading *r = data;
	int fd = bpf_iter_create(r->counts->program->links.read_sockets_fd), error;

	error = fd < 0 ? -errno : read_all(r, fd);
	if (fd >= 0)
		close(fd);
	if (!error)
		return r->enough ? -1 : EXIT_DONE;
	err("cannot read the connections of the network namespace %s: %s", ns->name,
	    strerror(-error));
	return EXIT_REFUSED;
}

int kernel_counts_read(struct kernel_counts *k, const char *netns, why_socket_handler handle,
		       void *ctx)
{
	struct reading r = { .counts = k, .handle = handle, .ctx = ctx };
	int ret = netns_visit_all(netns, read_namespace, &r);

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
