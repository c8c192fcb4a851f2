// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feeds recorded callbacks of a kernel's own BBR to the algorithm, and compares all that it leaves
 * behind, bit for bit:
 *
 *	replay [-b OBJECT] [-j] [-m MOST] RECORDING...
 *
 * Natively, or with -b as BPF in the running kernel (replay.bpf.o). Prints the first MOST (10)
 * callbacks that differ, and what was compared. Exit status: 0 nothing differs, 1 something does, 2
 * a recording or the kernel refuses.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "replayer.h"

static const struct replayer *const replayers[] = { &replayer_bbr, &replayer_bbr3 };
#define REPLAYERS (sizeof(replayers) / sizeof(replayers[0]))

/* An algorithm as BPF: its program, and the two maps that it uses. */
static struct engine {
	int program, params;
	char *batch; /* NULL: none, run natively */
} engines[REPLAYERS];

static struct {
	__u64 callbacks[REPLAYERS][MAX_KINDS], different, ticked;
} total;

static unsigned long most_printed = 10;

static void die(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void find_engine(struct engine *e, const struct bpf_object *obj, const struct replayer *of,
			const char *path)
{
	char program[32], batch[32], params[32];
	size_t stride = (of->replay_size + 7) / 8 * 8;
	int map;

	snprintf(program, sizeof(program), "replay_%s", of->name);
	snprintf(batch, sizeof(batch), "batch_%s", of->name);
	snprintf(params, sizeof(params), ".data.params_%s", of->name);
	map = bpf_object__find_map_fd_by_name(obj, batch);
	e->params = bpf_object__find_map_fd_by_name(obj, params);
	e->program = bpf_program__fd(bpf_object__find_program_by_name(obj, program));
	e->batch = mmap(NULL, BATCH * stride, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (map < 0 || e->params < 0 || e->program < 0 || e->batch == MAP_FAILED)
		die(path);
}

static void load_bpf(const char *path)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);

	if (!obj || bpf_object__load(obj))
		die(path);
	for (unsigned int i = 0; i < REPLAYERS; i++)
		find_engine(&engines[i], obj, replayers[i], path);
}

/* A recording during its replay, a batch at a time. */
struct session {
	const struct replayer *of;
	struct engine *engine;
	const char *path;
	void *recording, *params;
	char *callbacks, *replays; /* the batch */
	__u64 at, seen[MAX_KINDS];
	__u32 count;
};

static void *callback_at(struct session *s, __u32 i)
{
	return s->callbacks + i * s->of->callback_size;
}

static void *replay_at(struct session *s, __u32 i)
{
	return s->replays + i * s->of->replay_size;
}

static void run_as_bpf(struct session *s, void *replays, __u32 count)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &count, .ctx_size_in = sizeof(count));
	size_t size = s->of->replay_size, stride = (size + 7) / 8 * 8;

	for (__u32 i = 0; i < count; i++)
		memcpy(s->engine->batch + i * stride, (char *)replays + i * size, size);
	if (bpf_prog_test_run_opts(s->engine->program, &opts) || opts.retval)
		die("running the BPF program");
	for (__u32 i = 0; i < count; i++)
		memcpy((char *)replays + i * size, s->engine->batch + i * stride, size);
}

static void run(struct session *s, void *replays, __u32 count)
{
	if (s->engine->batch) {
		run_as_bpf(s, replays, count);
		return;
	}
	for (__u32 i = 0; i < count; i++)
		s->of->run((char *)replays + i * s->of->replay_size, s->params);
}

static void print_difference(const char *name, __u64 kernel, __u64 ours)
{
	printf(" %s: kernel %llu, ours %llu;", name, kernel, ours);
}

/*
 * If a jiffy passed during the callback, the kernel may have read the clock before or after that.
 * So such a callback must agree with one of the two.
 */
static bool agrees_after_tick(struct session *s, __u32 i, void *scratch)
{
	const void *cb = callback_at(s, i);

	if (!s->of->is_ticked(cb))
		return false;
	s->of->load(s->recording, cb, true, scratch);
	run(s, scratch, 1);
	return !s->of->compare(s->recording, cb, scratch, NULL);
}

static void compare(struct session *s, __u32 i)
{
	void *cb = callback_at(s, i), *scratch = replay_at(s, BATCH);
	__u32 kind, arg;

	if (!s->of->compare(s->recording, cb, replay_at(s, i), NULL))
		return;
	if (agrees_after_tick(s, i, scratch)) {
		total.ticked++;
		return;
	}
	if (total.different++ >= most_printed)
		return;
	kind = s->of->kind(cb, &arg);
	printf("%s: callback %llu, %s(%u):", s->path, s->at + i, s->of->kinds[kind], arg);
	s->of->compare(s->recording, cb, replay_at(s, i), print_difference);
	printf("\n");
}

static void replay_batch(struct session *s)
{
	run(s, s->replays, s->count);
	for (__u32 i = 0; i < s->count; i++)
		compare(s, i);
	s->at += s->count;
	s->count = 0;
}

static void take(struct session *s)
{
	void *cb = callback_at(s, s->count);
	__u32 arg;

	s->of->load(s->recording, cb, false, replay_at(s, s->count));
	s->seen[s->of->kind(cb, &arg)]++;
	if (++s->count == BATCH)
		replay_batch(s);
}

/*
 * Recordings of version 1 are gzip files, those of version 3 zstd files. Version 1's reader refuses
 * all others.
 */
static unsigned int algorithm_of(const char *path)
{
	static const unsigned char zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
	unsigned char start[sizeof(zstd)] = {};
	FILE *file = fopen(path, "rb");
	bool is_zstd;

	if (!file)
		return 0;
	is_zstd = fread(start, 1, sizeof(start), file) == sizeof(start) &&
		  !memcmp(start, zstd, sizeof(zstd));
	fclose(file);
	return is_zstd;
}

static void replay_file(const char *path)
{
	unsigned int algorithm = algorithm_of(path);
	struct session s = {
		.of = replayers[algorithm],
		.engine = &engines[algorithm],
		.path = path,
	};

	s.params = calloc(1, s.of->params_size);
	s.callbacks = calloc(BATCH, s.of->callback_size);
	s.replays = calloc(BATCH + 1, s.of->replay_size);
	if (!s.params || !s.callbacks || !s.replays)
		die(path);
	s.recording = s.of->open(path, s.params);
	if (s.engine->batch && bpf_map_update_elem(s.engine->params, &(int){ 0 }, s.params, 0))
		die("parameters of the BPF program");
	while (s.of->read(s.recording, callback_at(&s, s.count)))
		take(&s);
	replay_batch(&s);
	s.of->close(s.recording, s.seen);
	for (unsigned int i = 0; i < s.of->n_kinds; i++)
		total.callbacks[algorithm][i] += s.seen[i];
	free(s.params);
	free(s.callbacks);
	free(s.replays);
}

/* Number of callbacks of a kind, over all algorithms that have one of this name. */
static __u64 callbacks_of(const char *kind)
{
	__u64 sum = 0;

	for (unsigned int a = 0; a < REPLAYERS; a++)
		for (unsigned int i = 0; i < replayers[a]->n_kinds; i++)
			if (!strcmp(replayers[a]->kinds[i], kind))
				sum += total.callbacks[a][i];
	return sum;
}

/*
 * True if there is nothing left to print for this kind: its algorithm was not replayed, or an
 * earlier algorithm printed it.
 */
static bool is_printed(unsigned int algorithm, const char *kind)
{
	__u64 sum = 0;

	for (unsigned int i = 0; i < MAX_KINDS; i++)
		sum += total.callbacks[algorithm][i];
	for (unsigned int a = 0; a < algorithm && sum; a++)
		for (unsigned int i = 0; i < replayers[a]->n_kinds; i++)
			if (!strcmp(replayers[a]->kinds[i], kind) && total.callbacks[a][i])
				sum = 0;
	return !sum;
}

static void print_kinds(const char *format, const char *next)
{
	const char *separator = "";

	for (unsigned int a = 0; a < REPLAYERS; a++) {
		for (unsigned int i = 0; i < replayers[a]->n_kinds; i++) {
			const char *kind = replayers[a]->kinds[i];

			if (is_printed(a, kind))
				continue;
			printf(format, separator, kind, callbacks_of(kind));
			separator = next;
		}
	}
}

static void print_total(bool as_json)
{
	const char *format = as_json ? "%s\"%s\":%llu" : "%s%s %llu";
	__u64 sum = 0;

	for (unsigned int a = 0; a < REPLAYERS; a++)
		for (unsigned int i = 0; i < MAX_KINDS; i++)
			sum += total.callbacks[a][i];
	printf(as_json ? "{\"callbacks\":%llu,\"different\":%llu,\"ticked\":%llu,\"kinds\":{" :
			 "%llu callbacks, %llu different, %llu with a tick within (",
	       sum, total.different, total.ticked);
	print_kinds(format, as_json ? "," : ", ");
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
