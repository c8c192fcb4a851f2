// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records all callbacks of the kernel's own BBR, in a guest of the lab:
 *
 *	record OBJECT OUT READY
 *	record -p
 *
 * OBJECT is record.bpf.o, OUT the recording (stream.h). The file READY appears when every callback from then
 * on is recorded. SIGTERM ends it. Prints what was called, recorded and lost as JSON. How often the
 * functions were called is counted by probes of the kernel's tracing, which have nothing to do with BPF.
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

#include "stream.h"

#define MODULE "tcp_bbr"
#define CHANGE \
	"tcp_set_congestion_control" /* its first argument is the socket, the second the name */
#define POLL_NS 20000000
#define HZ_NS 400000000 /* over which HZ is measured */
#define TRACING "/sys/kernel/tracing/"
#define SOCKETS (1 << 16) /* slots of the table of addresses */

static volatile sig_atomic_t stopped;

static void die(const char *what)
{
	fprintf(stderr, "record: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void rest(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* The members of the kernel's struct bbr, as its BTF has them. */
static void read_layout(const struct btf *btf, struct header *h)
{
	int id = btf__find_by_name_kind(btf, "bbr", BTF_KIND_STRUCT);
	const struct btf_type *t = btf__type_by_id(btf, id);

	if (id < 0 || t->size != CA_PRIV_SIZE || btf_vlen(t) > MAX_FIELDS)
		die("struct bbr of " MODULE);
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		struct field *f = &h->field[h->fields++];

		snprintf(f->name, sizeof(f->name), "%s", btf__name_by_offset(btf, m->name_off));
		f->offset = btf_member_bit_offset(t, i);
		f->bits = btf_member_bitfield_size(t, i);
		if (!f->bits)
			f->bits = 8 * btf__resolve_size(btf, m->type);
	}
}

/* Without O_TRUNC: opening kprobe_events with it removes all probes. */
static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd))
		die(path);
}

/*
 * From now on the kernel's own probes count the calls: those that they met, and those that they missed as
 * they were busy in what an interrupt came into.
 */
static void count_calls(const char *function)
{
	char text[128];

	snprintf(text, sizeof(text), "p:oracle/%s " MODULE ":%s\n", function, function);
	write_text(TRACING "kprobe_events", text);
	snprintf(text, sizeof(text), TRACING "events/oracle/%s/enable", function);
	write_text(text, "1");
}

/* In the order of enum callback_kind; the last one is what cwnd_event became in part. */
static const struct {
	const char *function;
	enum callback_kind kind;
} functions[] = {
	{ "bbr_init", CB_INIT },
	{ "bbr_main", CB_CONG_CONTROL },
	{ "bbr_cwnd_event", CB_CWND_EVENT },
	{ "bbr_cwnd_event_tx_start", CB_CWND_EVENT },
	{ "bbr_set_state", CB_SET_STATE },
	{ "bbr_ssthresh", CB_SSTHRESH },
	{ "bbr_undo_cwnd", CB_UNDO_CWND },
	{ "bbr_min_tso_segs", CB_MIN_TSO_SEGS },
	{ "bbr_sndbuf_expand", CB_SNDBUF_EXPAND },
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static void read_calls(__u64 calls[CALLBACK_KINDS])
{
	FILE *f = fopen(TRACING "kprobe_profile", "r");
	unsigned long long met, missed;
	char function[64];

	while (f && fscanf(f, "%63s %llu %llu", function, &met, &missed) == 3)
		for (size_t i = 0; i < FUNCTIONS; i++)
			if (!strcmp(function, functions[i].function))
				calls[functions[i].kind] += met + missed;
	if (!f || fclose(f))
		die("number of calls");
}

static void choose(struct bpf_object *obj, const char *function, const char *half, bool exists)
{
	struct bpf_program *prog;
	char name[64];

	for (int i = 0; i < COPIES; i++) {
		snprintf(name, sizeof(name), "%s_%s%d", function, half, i);
		prog = bpf_object__find_program_by_name(obj, name);
		if (!prog)
			die(name);
		bpf_program__set_autoload(prog, exists);
	}
}

/* Leaves those out that this kernel's BBR does not have; each kind must be there, though. */
static void choose_functions(struct bpf_object *obj, const struct btf *btf)
{
	bool found[CALLBACK_KINDS] = {};

	for (size_t i = 0; i < FUNCTIONS; i++) {
		const char *function = functions[i].function;
		bool exists = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) > 0;

		choose(obj, function, "begin", exists);
		choose(obj, function, "end", exists);
		found[functions[i].kind] |= exists;
		if (exists)
			count_calls(function);
	}
	for (int i = 0; i < CALLBACK_KINDS; i++)
		if (!found[i]) {
			errno = ENOENT;
			die(functions[i].function);
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
			die(section);
	}
}

static struct clocks read_clocks(const struct bpf_object *obj)
{
	struct clocks clocks = {};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &clocks, .ctx_size_in = sizeof(clocks));
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "read_clocks");

	if (!prog || bpf_prog_test_run_opts(bpf_program__fd(prog), &opts))
		die("clocks");
	return clocks;
}

/* Jiffies a second, which no BPF program of a kernel without /proc/config.gz can know. */
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
	die("HZ");
	return 0;
}

/* Sockets get numbers by their addresses, which later ones may have again. */
static unsigned int number_of(__u64 address)
{
	static __u64 addresses[SOCKETS];
	static unsigned int numbers[SOCKETS], count;
	unsigned int slot = (address >> 6) * 0x9e3779b1u % SOCKETS;

	while (addresses[slot] && addresses[slot] != address)
		slot = (slot + 1) % SOCKETS;
	if (!addresses[slot]) {
		if (count == SOCKETS / 2) {
			errno = ENOSPC;
			die("table of sockets");
		}
		addresses[slot] = address;
		numbers[slot] = ++count;
	}
	return numbers[slot];
}

static int on_callback(void *out, void *data, size_t size)
{
	const struct recorded *rec = data;

	(void)size;
	stream_write(out, number_of(rec->socket), &rec->cb);
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
		die(path);
}

/* Returns how many callbacks are missing. */
static __u64 print_counts(const struct bpf_object *obj, const __u64 calls[CALLBACK_KINDS])
{
	static const char *const names[] = CALLBACK_NAMES;
	int fd = bpf_object__find_map_fd_by_name(obj, ".bss.counts"), key = 0;
	__u64 called = 0, recorded = 0, missing = 0;
	struct counts counts;

	if (bpf_map_lookup_elem(fd, &key, &counts))
		die("counters");
	printf("{\"calls\":{");
	for (int i = 0; i < CALLBACK_KINDS; i++) {
		printf("%s\"%s\":%llu", i ? "," : "", names[i], calls[i]);
		called += calls[i];
		recorded += counts.recorded[i];
		missing += calls[i] - counts.recorded[i];
	}
	printf("},\"called\":%llu,\"recorded\":%llu,\"dropped\":%llu}\n", called, recorded,
	       counts.dropped);
	return missing;
}

static unsigned int offset_of(const struct btf *btf, const char *type, const char *member)
{
	const struct btf_type *t =
		btf__type_by_id(btf, btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT));

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return btf_member_bit_offset(t, i) / 8;
	die(member);
	return 0;
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
	die("the address of " CHANGE);
	return 1;
}

int main(int argc, char **argv)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	struct btf *btf = btf__load_module_btf(MODULE, vmlinux);
	struct header header = {};
	struct bpf_object *obj;
	struct ring_buffer *ring;
	struct stream out;
	struct utsname name;
	__u64 calls[CALLBACK_KINDS] = {}, missing;

	if (argc == 2 && !strcmp(argv[1], "-p"))
		return print_places(vmlinux);
	if (argc != 4) {
		fputs("usage: record OBJECT OUT READY | record -p\n", stderr);
		return 1;
	}
	if (!btf)
		die("the BTF of module " MODULE);
	signal(SIGTERM, on_signal);
	read_layout(btf, &header);
	uname(&name);
	snprintf(header.release, sizeof(header.release), "%.63s", name.release);
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj)
		die(argv[1]);
	write_text(TRACING "tracing_on", "0"); /* the probes are to count only */
	choose_functions(obj, btf);
	if (bpf_object__load(obj))
		die(argv[1]);
	header.hz = measure_hz(obj);
	stream_create(&out, argv[2], &header, Z_BEST_SPEED);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "ring"), on_callback, &out,
				NULL);
	if (!ring)
		die("ring buffer");
	attach_all(obj, "fexit");
	attach_all(obj, "fentry");
	create(argv[3]);
	while (!stopped) {
		ring_buffer__consume(ring);
		rest(POLL_NS);
	}
	read_calls(calls);
	ring_buffer__consume(ring);
	stream_finish(&out, calls);
	missing = print_counts(obj, calls);
	if (missing)
		fprintf(stderr, "record: %llu callbacks are missing\n", missing);
	return missing || fflush(stdout);
}
