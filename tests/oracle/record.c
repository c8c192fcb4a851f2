// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records all callbacks of the kernel's own BBR, in a guest of the lab:
 *
 *	record FOLDER OUT READY [ABOUT]
 *	record -p
 *
 * FOLDER has record_bbr.bpf.o and record_bbr3.bpf.o: the kernel's functions decide which of them is
 * used. OUT is the recording (version 1: stream.h; version 3: bbr3/v3r.h). The file READY appears
 * once every callback is recorded. SIGTERM ends the recording. Prints as JSON what was called,
 * recorded and omitted. Kprobes count the calls, independently of BPF. ABOUT is a file with a JSON
 * object that goes into the header of a recording of version 3.
 *
 * -p prints instead where a debugger finds a socket that changes its congestion control, and the
 * socket's counters.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

#define MODULE "tcp_bbr"
#define CHANGE \
	"tcp_set_congestion_control" /* its first argument is the socket, the second the name */
#define POLL_NS 20000000
#define HZ_NS 400000000 /* time over which HZ is measured */
#define TRACING "/sys/kernel/tracing/"

static const struct recorder *const recorders[] = { &recorder_bbr, &recorder_bbr3 };

static volatile sig_atomic_t stopped;

void record_die(const char *what)
{
	fprintf(stderr, "record: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void rest(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* Without O_TRUNC: opening kprobe_events with it removes all probes. */
static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd))
		record_die(path);
}

/*
 * Makes kprobes count the calls from now on: those that they hit, and those that they missed
 * because they were running when an interrupt came.
 */
static void count_calls(const char *function)
{
	char text[128];

	snprintf(text, sizeof(text), "p:oracle/%s " MODULE ":%s\n", function, function);
	write_text(TRACING "kprobe_events", text);
	snprintf(text, sizeof(text), TRACING "events/oracle/%s/enable", function);
	write_text(text, "1");
}

static void read_calls(const struct recorder *r, __u64 calls[MAX_KINDS])
{
	FILE *f = fopen(TRACING "kprobe_profile", "r");
	unsigned long long met, missed;
	char function[64];

	while (f && fscanf(f, "%63s %llu %llu", function, &met, &missed) == 3)
		for (unsigned int i = 0; i < r->n_functions; i++)
			if (!strcmp(function, r->functions[i].name))
				calls[r->functions[i].kind] += met + missed;
	if (!f || fclose(f))
		record_die("number of calls");
}

static bool has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

/* True if the kernel has callbacks of each kind. It has one cwnd_event, or two. */
static bool is_of(const struct recorder *r, const struct btf *btf)
{
	bool found[MAX_KINDS] = {};

	for (unsigned int i = 0; i < r->n_functions; i++)
		found[r->functions[i].kind] |= has_function(btf, r->functions[i].name);
	for (unsigned int i = 0; i < r->n_kinds; i++)
		if (!found[i])
			return false;
	return true;
}

/* The recorder for the kernel's BBR. */
static const struct recorder *find_recorder(const struct btf *btf)
{
	for (size_t i = 0; i < sizeof(recorders) / sizeof(recorders[0]); i++)
		if (is_of(recorders[i], btf))
			return recorders[i];
	errno = EPROTO;
	record_die("the functions of module " MODULE);
}

static void choose(struct bpf_object *obj, const char *function, const char *half, bool exists)
{
	struct bpf_program *prog;
	char name[64];

	for (int i = 0; i < COPIES; i++) {
		snprintf(name, sizeof(name), "%s_%s%d", function, half, i);
		prog = bpf_object__find_program_by_name(obj, name);
		if (!prog)
			record_die(name);
		bpf_program__set_autoload(prog, exists);
	}
}

/* Leaves out the functions that this kernel's BBR does not have. */
static void choose_functions(const struct recorder *r, struct bpf_object *obj,
			     const struct btf *btf)
{
	for (unsigned int i = 0; i < r->n_functions; i++) {
		const char *function = r->functions[i].name;
		bool exists = has_function(btf, function);

		choose(obj, function, "begin", exists);
		choose(obj, function, "end", exists);
		if (exists)
			count_calls(function);
	}
}

static void attach_all(struct bpf_object *obj, const char *kind)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		const char *section = bpf_program__section_name(prog);

		if (bpf_program__autoload(prog) && !strncmp(section, kind, strlen(kind)) &&
		    !bpf_program__attach(prog))
			record_die(section);
	}
}

static struct clocks read_clocks(const struct bpf_object *obj)
{
	struct clocks clocks = {};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &clocks, .ctx_size_in = sizeof(clocks));
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "read_clocks");

	if (!prog || bpf_prog_test_run_opts(bpf_program__fd(prog), &opts))
		record_die("clocks");
	return clocks;
}

/* Jiffies per second. Without /proc/config.gz no BPF program can know them. */
static unsigned int measure_hz(const struct bpf_object *obj)
{
	static const unsigned int usual[] = { 100, 250, 300, 1000 };
	struct clocks from = read_clocks(obj), to;
	double hz;

	rest(HZ_NS);
	to = read_clocks(obj);
	hz = (to.jiffies - from.jiffies) * 1e9 / (to.ns - from.ns);
	for (int i = 0; i < 4; i++)
		if (fabs(hz / usual[i] - 1) < 0.05)
			return usual[i];
	errno = ERANGE;
	record_die("HZ");
}

/* A callback consists of its socket's address and the record. */
static int on_callback(void *ctx, void *data, size_t size)
{
	const struct recorder *r = ctx;
	const __u64 *socket = data;

	(void)size;
	r->write(*socket, socket + 1);
	return 0;
}

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void create(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0644);

	if (fd < 0 || close(fd))
		record_die(path);
}

static struct totals read_totals(const struct recorder *r, const struct bpf_object *obj)
{
	int fd = bpf_object__find_map_fd_by_name(obj, ".bss.counts"), key = 0;
	struct totals totals = {};
	struct counts counts;

	if (bpf_map_lookup_elem(fd, &key, &counts))
		record_die("counters");
	read_calls(r, totals.calls);
	memcpy(totals.recorded, counts.recorded, sizeof(counts.recorded));
	memcpy(totals.omitted, counts.omitted, sizeof(counts.omitted));
	for (unsigned int i = 0; i < r->n_kinds; i++)
		totals.missing += totals.calls[i] - totals.recorded[i] - totals.omitted[i];
	return totals;
}

static void print_totals(const struct recorder *r, const struct totals *totals)
{
	__u64 called = 0, recorded = 0, omitted = 0;

	printf("{\"algorithm\":\"%s\",\"calls\":{", r->name);
	for (unsigned int i = 0; i < r->n_kinds; i++) {
		printf("%s\"%s\":%llu", i ? "," : "", r->kinds[i], totals->calls[i]);
		called += totals->calls[i];
		recorded += totals->recorded[i];
		omitted += totals->omitted[i];
	}
	printf("},\"called\":%llu,\"recorded\":%llu,\"omitted\":%llu}\n", called, recorded,
	       omitted);
	if (totals->missing)
		fprintf(stderr, "record: %llu callbacks are missing\n", totals->missing);
}

static unsigned int offset_of(const struct btf *btf, const char *type, const char *member)
{
	const struct btf_type *t =
		btf__type_by_id(btf, btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT));

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return btf_member_bit_offset(t, i) / 8;
	record_die(member);
}

static int print_places(const struct btf *vmlinux)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long address;
	char name[128];

	while (f && fscanf(f, "%llx %*c %127s%*[^\n]", &address, name) == 2)
		if (!strcmp(name, CHANGE)) {
			printf("{\"" CHANGE "\":%llu,\"delivered\":%u,\"lost\":%u}\n", address,
			       offset_of(vmlinux, "tcp_sock", "delivered"),
			       offset_of(vmlinux, "tcp_sock", "lost"));
			return 0;
		}
	record_die("the address of " CHANGE);
}

/* Opens the programs of an algorithm. They are not loaded yet. */
static struct bpf_object *open_programs(const struct recorder *r, const char *folder)
{
	char path[4096];
	struct bpf_object *obj;

	snprintf(path, sizeof(path), "%s/record_%s.bpf.o", folder, r->name);
	obj = bpf_object__open_file(path, NULL);
	if (!obj)
		record_die(path);
	return obj;
}

static void begin(const struct recorder *r, struct bpf_object *obj, const struct btf *btf,
		  const char *path, const char *about)
{
	struct utsname name;

	uname(&name);
	write_text(TRACING "tracing_on", "0"); /* the kprobes only count */
	choose_functions(r, obj, btf);
	if (bpf_object__load(obj))
		record_die(r->name);
	r->create(path, &(struct recorded_kernel){ .btf = btf,
						   .programs = bpf_object__btf(obj),
						   .release = name.release,
						   .hz = measure_hz(obj),
						   .about = about });
	attach_all(obj, "fexit");
	attach_all(obj, "fentry");
}

static int record(const struct btf *btf, char **argv)
{
	const struct recorder *r = find_recorder(btf);
	struct bpf_object *obj = open_programs(r, argv[1]);
	struct ring_buffer *ring;
	struct totals totals;

	begin(r, obj, btf, argv[2], argv[4]);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "ring"), on_callback,
				(void *)r, NULL);
	if (!ring)
		record_die("ring buffer");
	create(argv[3]);
	while (!stopped) {
		ring_buffer__consume(ring);
		rest(POLL_NS);
	}
	totals = read_totals(r, obj);
	ring_buffer__consume(ring);
	r->finish(&totals);
	print_totals(r, &totals);
	return totals.missing || fflush(stdout);
}

int main(int argc, char **argv)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	struct btf *btf = btf__load_module_btf(MODULE, vmlinux);

	if (argc == 2 && !strcmp(argv[1], "-p"))
		return print_places(vmlinux);
	if (argc != 4 && argc != 5) {
		fputs("usage: record FOLDER OUT READY [ABOUT] | record -p\n", stderr);
		return 1;
	}
	if (!btf)
		record_die("the BTF of module " MODULE);
	signal(SIGTERM, on_signal);
	return record(btf, argv);
}
