// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feeds recorded callbacks of the kernel's own BBR to the algorithm, and compares everything that it
 * leaves behind, bit for bit:
 *
 *	replay [-b OBJECT] [-j] [-m MOST] RECORDING...
 *
 * Natively, or with -b as BPF in the running kernel (replay.bpf.o). Prints the first MOST (10) callbacks that
 * differ, and what was compared. Exit status: 0 nothing differs, 1 something does, 2 a recording or the
 * kernel refuses.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mainline.h"

static const char *const kind_names[] = CALLBACK_NAMES;

static struct {
	__u64 callbacks[CALLBACK_KINDS], different, ticked;
} total;

static unsigned long most_printed = 10;

static void die(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* The algorithm as BPF: its program, and the two maps that it works on. */
static struct engine {
	int program, params;
	struct replay *batch;
	size_t stride;
} bpf = { .program = -1 };

static void load_bpf(const char *path)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	int map;

	if (!obj || bpf_object__load(obj))
		die(path);
	map = bpf_object__find_map_fd_by_name(obj, "batch");
	bpf.params = bpf_object__find_map_fd_by_name(obj, ".data.params");
	bpf.program = bpf_program__fd(bpf_object__find_program_by_name(obj, "replay"));
	bpf.stride = (sizeof(struct replay) + 7) / 8 * 8;
	bpf.batch = mmap(NULL, BATCH * bpf.stride, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (map < 0 || bpf.params < 0 || bpf.program < 0 || bpf.batch == MAP_FAILED)
		die(path);
}

static void run_as_bpf(struct replay *r, __u32 count)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &count, .ctx_size_in = sizeof(count));

	memcpy(bpf.batch, r, count * sizeof(*r));
	if (bpf_prog_test_run_opts(bpf.program, &opts) || opts.retval)
		die("running the BPF program");
	memcpy(r, bpf.batch, count * sizeof(*r));
}

static void run(struct replay *r, __u32 count, const struct bbr_params *params)
{
	if (bpf.program >= 0) {
		run_as_bpf(r, count);
		return;
	}
	for (__u32 i = 0; i < count; i++)
		replay_callback(&r[i], params);
}

/* A recording that is being replayed, a batch at a time. */
struct session {
	struct layout layout;
	struct bbr_params params;
	struct stream in;
	__u64 at, seen[CALLBACK_KINDS];
	__u32 count;
	struct callback cb[BATCH];
	struct replay r[BATCH];
};

static void print_difference(const char *name, __u64 kernel, __u64 ours)
{
	printf(" %s: kernel %llu, ours %llu;", name, kernel, ours);
}

/*
 * A jiffy may have passed in mid-callback, and the kernel have read the clock on either side of that. So
 * such a callback must agree with one of the two.
 */
static bool agrees_after_tick(struct session *s, __u32 i)
{
	struct replay r;

	if (s->cb[i].jiffies[0] == s->cb[i].jiffies[1])
		return false;
	mainline_load(&s->layout, &s->cb[i], s->cb[i].jiffies[1], &r);
	run(&r, 1, &s->params);
	return !mainline_compare(&s->layout, &s->cb[i], &r, NULL);
}

static void compare(struct session *s, __u32 i)
{
	const struct callback *cb = &s->cb[i];

	if (!mainline_compare(&s->layout, cb, &s->r[i], NULL))
		return;
	if (agrees_after_tick(s, i)) {
		total.ticked++;
		return;
	}
	if (total.different++ >= most_printed)
		return;
	printf("%s: callback %llu, %s(%u):", s->in.path, s->at + i, kind_names[cb->kind], cb->arg);
	mainline_compare(&s->layout, cb, &s->r[i], print_difference);
	printf("\n");
}

static void replay_batch(struct session *s)
{
	run(s->r, s->count, &s->params);
	for (__u32 i = 0; i < s->count; i++)
		compare(s, i);
	s->at += s->count;
	s->count = 0;
}

static void take(struct session *s)
{
	const struct callback *cb = &s->cb[s->count];

	mainline_load(&s->layout, cb, cb->jiffies[0], &s->r[s->count]);
	s->seen[cb->kind]++;
	if (++s->count == BATCH)
		replay_batch(s);
}

static void open_session(struct session *s, const char *path, struct header *h)
{
	const char *field;

	stream_open(&s->in, path, h);
	field = layout_init(&s->layout, h);
	if (field) {
		fprintf(stderr,
			"%s: the algorithm and the kernel's struct bbr do not share field %s\n",
			path, field);
		exit(2);
	}
	s->params = mainline_params(h->hz);
	if (bpf.program >= 0 && bpf_map_update_elem(bpf.params, &(int){ 0 }, &s->params, 0))
		die("parameters of the BPF program");
}

/* All that were called must be in the recording. */
static void check_calls(struct session *s)
{
	__u64 calls[CALLBACK_KINDS];

	stream_calls(&s->in, calls);
	if (!memcmp(calls, s->seen, sizeof(calls)))
		return;
	fprintf(stderr, "%s: is not complete\n", s->in.path);
	exit(2);
}

static void replay_file(const char *path)
{
	static struct session s;
	struct header h;
	unsigned int socket;

	s = (struct session){};
	open_session(&s, path, &h);
	while (stream_read(&s.in, &socket, &s.cb[s.count]))
		take(&s);
	replay_batch(&s);
	check_calls(&s);
	stream_close(&s.in);
	for (int i = 0; i < CALLBACK_KINDS; i++)
		total.callbacks[i] += s.seen[i];
}

static void print_total(bool as_json)
{
	const char *format = as_json ? "%s\"%s\":%llu" : "%s%s %llu";
	__u64 sum = 0;

	for (int i = 0; i < CALLBACK_KINDS; i++)
		sum += total.callbacks[i];
	printf(as_json ? "{\"callbacks\":%llu,\"different\":%llu,\"ticked\":%llu,\"kinds\":{" :
			 "%llu callbacks, %llu different, %llu with a tick within (",
	       sum, total.different, total.ticked);
	for (int i = 0; i < CALLBACK_KINDS; i++)
		printf(format, !i ? "" : as_json ? "," : ", ", kind_names[i], total.callbacks[i]);
	printf(as_json ? "}}\n" : ")\n");
}

int main(int argc, char **argv)
{
	bool as_json = false;
	int c;

	while ((c = getopt(argc, argv, "b:jm:")) != -1) {
		switch (c) {
		case 'b':
			load_bpf(optarg);
			break;
		case 'j':
			as_json = true;
			break;
		case 'm':
			most_printed = strtoul(optarg, NULL, 10);
			break;
		default:
			optind = argc;
		}
	}
	if (optind >= argc) {
		fputs("usage: replay [-b OBJECT] [-j] [-m MOST] RECORDING...\n", stderr);
		return 2;
	}
	while (optind < argc)
		replay_file(argv[optind++]);
	print_total(as_json);
	return total.different ? 1 : 0;
}
