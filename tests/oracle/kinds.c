// SPDX-License-Identifier: GPL-2.0-only
/*
 * A differential fuzzer: the algorithm as compiled for a kind of ACK must do the same as the
 * algorithm for any ACK.
 *
 *	kinds [-f] [-b OBJECT] [-n MILLIONS] [-s SEED] RECORDING...
 *	kinds_bbr3 ...
 *
 * Takes recorded ACKs of the kernel's own BBR, or of Google's version 3, and changes some values of
 * each: to values that the rules compare with, and to those next to them; flags; nonsense. Runs
 * each twice (kinds.h), natively or with -b as BPF in the running kernel. Prints as JSON how many
 * ACKs of each kind there were, how many differed, and a digest of all results: two builds that do
 * the same have the same digest. With -f it stops at the first batch with a difference.
 *
 * Exit status: 0 nothing differs, 1 something does, 2 it cannot run.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "changes.h"

#define LIKE_RECORDED 4 /* one in this many batches has the recorded parameters */
#define MOST_ACKS 200000
#define MOST_PRINTED 5
static const char *const kind_names[] = {
	[SHELL_GENERAL] = "general",
	[SHELL_FAST_1] = "fast_1",
	[SHELL_FAST_2] = "fast_2",
	[SHELL_REGULAR] = "regular",
};
#define KINDS (sizeof(kind_names) / sizeof(kind_names[0]))

static struct replay recorded[MOST_ACKS];
static unsigned int acks;
static struct twice batch[KINDS_BATCH];
static struct replay made[KINDS_BATCH]; /* before they are run */
struct bbr_params params;
__u64 state;

static struct {
	__u64 of_kind[KINDS], different, digest;
} total;

static struct {
	int by_kind, as_any; /* programs */
	int params;
	struct twice *batch; /* NULL: run natively */
} bpf;

static void die(const char *what)
{
	fprintf(stderr, "kinds: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void load_bpf(const char *path)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	int map;

	if (!obj || bpf_object__load(obj))
		die(path);
	map = bpf_object__find_map_fd_by_name(obj, "batch");
	bpf.params = bpf_object__find_map_fd_by_name(obj, ".data.params");
	bpf.by_kind = bpf_program__fd(bpf_object__find_program_by_name(obj, "by_kind"));
	bpf.as_any = bpf_program__fd(bpf_object__find_program_by_name(obj, "as_any"));
	bpf.batch = mmap(NULL, sizeof(batch), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (map < 0 || bpf.params < 0 || bpf.by_kind < 0 || bpf.as_any < 0 ||
	    bpf.batch == MAP_FAILED)
		die(path);
}

static void run_program(int program)
{
	__u32 count = KINDS_BATCH;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &count, .ctx_size_in = sizeof(count));

	if (bpf_prog_test_run_opts(program, &opts) || opts.retval)
		die("running the BPF program");
}

static void run_as_bpf(void)
{
	if (bpf_map_update_elem(bpf.params, &(int){ 0 }, &params, 0))
		die("parameters of the BPF program");
	memcpy(bpf.batch, batch, sizeof(batch));
	run_program(bpf.by_kind);
	run_program(bpf.as_any);
	memcpy(batch, bpf.batch, sizeof(batch));
}

static void run_natively(void)
{
	for (unsigned int i = 0; i < KINDS_BATCH; i++) {
		run_of_kind(&batch[i].of_kind, &params);
		run_of_any(&batch[i].of_any, &params);
	}
}

struct replay *next_ack(void)
{
	return acks < MOST_ACKS ? &recorded[acks++] : NULL;
}

/* Sets a few parameters to any value in their range, in most batches. */
static void change_params(void)
{
	params = recorded_params;
	if (!below(LIKE_RECORDED))
		return;
#define X(key, n, unit, dflt, lo, hi, help) \
	if (!below(8))                      \
		params.key[below(n)] = within(lo, hi);
	BBR_PARAMS(X, BBR_NO_PARAM)
#undef X
}

static void make_batch(void)
{
	change_params();
	for (unsigned int i = 0; i < KINDS_BATCH; i++) {
		batch[i].of_kind = recorded[below(acks)];
		for (unsigned int n = below(5); n; n--)
			change(&batch[i].of_kind);
		batch[i].of_any = made[i] = batch[i].of_kind;
	}
}

/* FNV-1a */
static void digest(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		total.digest = (total.digest ^ ((const unsigned char *)data)[i]) * 0x100000001b3ull;
}

static void print_difference(const struct replay *of_kind, const struct replay *expected)
{
	const unsigned char *a = (const void *)of_kind, *b = (const void *)expected;

	fprintf(stderr, "kinds: there differ the bytes");
	for (size_t i = 0; i < sizeof(*of_kind); i++)
		if (a[i] != b[i] && i != offsetof(struct replay, sk.kind))
			fprintf(stderr, " %zu", i);
	fprintf(stderr, " of struct replay\n");
}

/* An ACK that the algorithm leaves to bbr_main() must be unchanged. */
static void compare(struct twice *t, const struct replay *before)
{
	struct replay of_kind = t->of_kind, expected = is_left(&t->of_kind) ? *before : t->of_any;

	total.of_kind[of_kind.sk.kind % KINDS]++;
	forget_kind(&of_kind);
	forget_kind(&expected);
	digest(&t->of_any.b, sizeof(t->of_any.b));
	digest(&t->of_any.sk.pacing_rate, sizeof(t->of_any.sk.pacing_rate));
	digest(&t->of_any.sk.cwnd, sizeof(t->of_any.sk.cwnd));
	digest(&t->of_any.sk.ssthresh, sizeof(t->of_any.sk.ssthresh));
	digest(&t->of_any.sk.app_limited, sizeof(t->of_any.sk.app_limited));
	if (memcmp(&of_kind, &expected, sizeof(of_kind)) && total.different++ < MOST_PRINTED)
		print_difference(&of_kind, &expected);
}

static void run_batches(__u64 count, bool until_one_differs)
{
	total.digest = 0xcbf29ce484222325ull;
	while (count-- && !(until_one_differs && total.different)) {
		make_batch();
		if (bpf.batch)
			run_as_bpf();
		else
			run_natively();
		for (unsigned int i = 0; i < KINDS_BATCH; i++)
			compare(&batch[i], &made[i]);
	}
}

int main(int argc, char **argv)
{
	bool until_one_differs = false;
	double millions = 1;
	int c;

	state = 1;
	while ((c = getopt(argc, argv, "b:fn:s:")) != -1) {
		switch (c) {
		case 'b':
			load_bpf(optarg);
			break;
		case 'f':
			until_one_differs = true;
			break;
		case 'n':
			millions = strtod(optarg, NULL);
			break;
		case 's':
			state = strtoull(optarg, NULL, 10) + 1;
			break;
		default:
			optind = argc;
		}
	}
	if (optind >= argc) {
		fputs("usage: kinds [-f] [-b OBJECT] [-n MILLIONS] [-s SEED] RECORDING...\n",
		      stderr);
		return 2;
	}
	while (optind < argc)
		read_recording(argv[optind++]);
	run_batches(millions * 1000000 / KINDS_BATCH + 1, until_one_differs);
	putchar('{');
	for (unsigned int i = 0; i < KINDS; i++)
		printf("\"%s\":%llu,", kind_names[i], total.of_kind[i]);
	printf("\"different\":%llu,\"digest\":\"%016llx\"}\n", total.different, total.digest);
	return total.different ? 1 : 0;
}
