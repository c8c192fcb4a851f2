// SPDX-License-Identifier: GPL-2.0-only
/*
 * One TCP transfer in a guest of the lab, and the instructions that it takes.
 *
 *	cost [-w] [-f FUNC]... [-p PROG]... [-i ID]... [-s FROM:TO]... CC BYTES ADDR NETNS
 *
 * Sends BYTES to ADDR in NETNS, with the default congestion control if CC is "-". Records each call
 * of a kernel function (-f), of the newest BPF program of a name (-p) or of the program of an id
 * (-i), and each way from the return of a kernel function to that of another (-s). -w also counts
 * long calls, in which an interrupt came: waking a monitor takes one. Prints a JSON line for the
 * transfer, where busy_ns is the time that the CPU was not idle, and a line for each span.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cost.h"
#include "lab/runs/program.h"

#define CHUNK 131072
#define MAX_SPANS 8
#define PORT 5001
#define OBJECT "/cost.bpf.o"
#define REST_US 100000 /* for all processes to become idle before a transfer */

/* A span that is being recorded. */
struct span {
	const char *name;
	struct bpf_object *obj;
};

static struct bpf_program *program(const struct span *s, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(s->obj, name);

	if (!prog)
		die(name);
	return prog;
}

static void aim(const struct span *s, const char *name, int target_fd, const char *function)
{
	if (bpf_program__set_attach_target(program(s, name), target_fd, function))
		die(function);
}

/* Attaches `begin` and `end`; the object's other program is left out. */
static void start_span(const struct span *s, const char *begin, const char *end)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, s->obj)
	{
		const char *name = bpf_program__name(prog);

		bpf_program__set_autoload(prog, !strcmp(name, begin) || !strcmp(name, end));
	}
	if (bpf_object__load(s->obj) || !bpf_program__attach(program(s, begin)) ||
	    !bpf_program__attach(program(s, end)))
		die(s->name);
}

static void open_span(struct span *s, const char *name)
{
	s->name = name;
	s->obj = bpf_object__open_file(OBJECT, NULL);
	if (!s->obj)
		die(OBJECT);
}

/* The newest program of a name. */
static int find_program(const char *name)
{
	__u32 id = 0;
	int found = -1;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &len) || strcmp(info.name, name) ||
		    (info.type != BPF_PROG_TYPE_STRUCT_OPS && info.type != BPF_PROG_TYPE_TRACING)) {
			close(fd);
			continue;
		}
		if (found >= 0)
			close(found);
		found = fd;
	}
	if (found < 0)
		die(name);
	return found;
}

static void span_of_calls(struct span *s, const char *name, int target_fd)
{
	open_span(s, name);
	aim(s, "entry", target_fd, name);
	aim(s, "end", target_fd, name);
	start_span(s, "entry", "end");
}

static void span_of_id(struct span *s, __u32 id)
{
	int fd = bpf_prog_get_fd_by_id(id);
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		die("the program of this id");
	span_of_calls(s, strdup(info.name), fd);
}

static void span_between(struct span *s, char *name)
{
	char *to = strchr(name, ':');

	if (!to)
		die(name);
	open_span(s, strdup(name));
	*to++ = 0;
	aim(s, "after", 0, name);
	aim(s, "end", 0, to);
	start_span(s, "after", "end");
}

/* The least count of instructions that `share` of all calls do not exceed. */
static unsigned int quantile(const struct cost_span *span, uint64_t calls, double share)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < COST_PLACES - 1; i++) {
		sum += span->calls[i];
		if (sum && sum >= calls * share)
			break;
	}
	return i;
}

static void print_span(const struct span *s, unsigned int limit)
{
	static struct cost_span span;
	uint64_t calls = 0, sum = 0;
	unsigned int max = 0;
	__u32 zero = 0;
	int fd = bpf_object__find_map_fd_by_name(s->obj, ".data.span");

	if (bpf_map_lookup_elem(fd, &zero, &span))
		die(s->name);
	for (unsigned int i = 0; i < COST_PLACES; i++) {
		if (span.calls[i])
			max = i;
		if (i >= limit) {
			span.interrupted += span.calls[i];
			continue;
		}
		calls += span.calls[i];
		sum += span.calls[i] * i;
	}
	printf("{\"span\":\"%s\",\"calls\":%llu,\"interrupted\":%llu,\"mean\":%.2f,\"min\":%u,"
	       "\"median\":%u,\"p90\":%u,\"p99\":%u,\"max\":%u}\n",
	       s->name, (unsigned long long)calls, (unsigned long long)span.interrupted,
	       calls ? (double)sum / calls : 0.0, quantile(&span, calls, 0),
	       quantile(&span, calls, 0.5), quantile(&span, calls, 0.9),
	       quantile(&span, calls, 0.99), max);
}

/* How long the (only) CPU has been idle, to the nanosecond. */
static uint64_t idle_ns(void)
{
	unsigned long long ns = 0;
	char line[256];
	FILE *f = fopen("/proc/timer_list", "r");

	if (!f)
		die("/proc/timer_list");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " .idle_sleeptime : %llu", &ns) == 1)
			break;
	fclose(f);
	return ns;
}

static void enter_netns(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
}

static void receive(const char *netns, const struct sockaddr_in *addr)
{
	static char buf[CHUNK];
	int listener, fd, on = 1;

	enter_netns(netns);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	/* After losses it may be this end that keeps the last connection in TIME_WAIT. */
	if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(listener, (const void *)addr, sizeof(*addr)) || listen(listener, 1))
		die("listen");
	fd = accept(listener, NULL, NULL);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	_exit(0); /* closes the connection: the sender sees the end */
}

static void send_all(int fd, uint64_t bytes)
{
	static char buf[CHUNK];

	while (bytes) {
		ssize_t n = write(fd, buf, bytes < CHUNK ? bytes : CHUNK);

		if (n <= 0)
			die("write");
		bytes -= n;
	}
	shutdown(fd, SHUT_WR);
	if (read(fd, buf, 1))
		die("the receiver's end");
}

static void transfer(const char *cc, uint64_t bytes, const char *to, const char *netns)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct tcp_info ti = {};
	socklen_t len = sizeof(ti);
	uint64_t start, idle;
	pid_t receiver;

	if (inet_pton(AF_INET, to, &addr.sin_addr) != 1)
		die(to);
	receiver = fork();
	if (!receiver)
		receive(netns, &addr);
	if (strcmp(cc, "-") && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die(cc);
	usleep(REST_US);

	idle = idle_ns();
	start = now_ns();
	if (connect(fd, (void *)&addr, sizeof(addr)))
		die("connect");
	send_all(fd, bytes);
	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len);
	start = now_ns() - start;
	idle = idle_ns() - idle;
	close(fd);
	waitpid(receiver, NULL, 0);
	printf("{\"transfer\":\"%s\",\"bytes\":%llu,\"elapsed_ns\":%llu,\"busy_ns\":%llu,"
	       "\"segs_out\":%u,\"segs_in\":%u,\"retrans\":%u}\n",
	       cc, (unsigned long long)bytes, (unsigned long long)start,
	       (unsigned long long)(start - idle), ti.tcpi_segs_out, ti.tcpi_segs_in,
	       ti.tcpi_total_retrans);
}

int main(int argc, char **argv)
{
	struct span spans[MAX_SPANS];
	unsigned int limit = COST_INTERRUPT;
	int c, count = 0;

	while ((c = getopt(argc, argv, "wf:p:i:s:")) != -1) {
		if (count == MAX_SPANS)
			return 1;
		if (c == 'w')
			limit = COST_PLACES;
		else if (c == 'f')
			span_of_calls(&spans[count++], optarg, 0);
		else if (c == 'p')
			span_of_calls(&spans[count++], optarg, find_program(optarg));
		else if (c == 'i')
			span_of_id(&spans[count++], strtoul(optarg, NULL, 10));
		else if (c == 's')
			span_between(&spans[count++], optarg);
		else
			return 1;
	}
	argv += optind;
	if (argc - optind != 4) {
		fputs("usage: cost [-w] [-f FUNC] [-p PROG] [-i ID] [-s FROM:TO] CC BYTES ADDR "
		      "NETNS\n",
		      stderr);
		return 1;
	}
	transfer(argv[0], strtoull(argv[1], NULL, 10), argv[2], argv[3]);
	for (int i = 0; i < count; i++)
		print_span(&spans[i], limit);
	return 0;
}
