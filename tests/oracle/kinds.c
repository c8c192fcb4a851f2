// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the algorithm as compiled for a kind of ACK do what it does for any? A differential fuzzer:
 *
 *	kinds [-b OBJECT] [-n MILLIONS] [-s SEED] RECORDING...
 *
 * Takes recorded ACKs of the kernel's own BBR, changes some values of each (to the values that rules compare with, and
 * those beside; flags; nonsense), and has each computed twice (kinds.h), natively or with -b as BPF in the running
 * kernel. Prints as JSON how many there were of each kind, how many differed, and a digest of all results: that of two
 * builds is the same if they do the same. Exit status: 0 nothing differs, 1 something does, 2 it cannot run.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kinds.h"
#include "mainline.h"

#define MOST_ACKS 200000
#define MOST_PRINTED 5
#define LIKE_RECORDED 4 /* one in so many ACKs has the recorded parameters */

static struct replay recorded[MOST_ACKS];
static unsigned int acks;
static struct twice batch[KINDS_BATCH];
static struct bbr_params defaults, params;

static struct {
	__u64 of_kind[BBR_ORDINARY + 1], different, digest;
} total;

static struct {
	int program, params;
	struct twice *batch;
} bpf = { .program = -1 };

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
	bpf.program = bpf_program__fd(bpf_object__find_program_by_name(obj, "run"));
	bpf.batch = mmap(NULL, sizeof(batch), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (map < 0 || bpf.params < 0 || bpf.program < 0 || bpf.batch == MAP_FAILED)
		die(path);
}

static void run_as_bpf(void)
{
	__u32 count = KINDS_BATCH;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &count, .ctx_size_in = sizeof(count));

	if (bpf_map_update_elem(bpf.params, &(int){ 0 }, &params, 0))
		die("parameters of the BPF program");
	memcpy(bpf.batch, batch, sizeof(batch));
	if (bpf_prog_test_run_opts(bpf.program, &opts) || opts.retval)
		die("running the BPF program");
	memcpy(batch, bpf.batch, sizeof(batch));
}

static void run_natively(void)
{
	for (unsigned int i = 0; i < KINDS_BATCH; i++) {
		replay_callback(&batch[i].of_kind, &params);
		run_of_any(&batch[i].of_any, &params);
	}
}

static void read_recording(const char *path)
{
	struct callback cb;
	unsigned int socket;
	struct layout layout;
	struct stream in;
	struct header h;

	stream_open(&in, path, &h);
	if (layout_init(&layout, &h)) {
		fprintf(stderr, "kinds: %s: has another struct bbr\n", path);
		exit(2);
	}
	defaults = mainline_params(h.hz);
	while (stream_read(&in, &socket, &cb))
		if (cb.kind == CB_CONG_CONTROL && acks < MOST_ACKS)
			mainline_load(&layout, &cb, cb.jiffies[0], &recorded[acks++]);
	stream_close(&in);
}

/* xorshift64* */
static __u64 state;

static __u64 any(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static __u32 below(__u32 n)
{
	return (any() >> 32) * n >> 32;
}

static __u64 beside(__u64 v)
{
	return v + below(5) - 2;
}

/* Of any order of magnitude. */
static __u64 of_any_size(void)
{
	return any() >> below(64);
}

/* Within its range, more often at its ends than not. */
static __u32 within(__u32 lo, __u32 hi)
{
	switch (below(4)) {
	case 0:
		return lo;
	case 1:
		return hi;
	default:
		return lo + below(hi - lo + 1);
	}
}

static void change_params(void)
{
	params = defaults;
	if (!below(LIKE_RECORDED))
		return;
#define X(key, n, unit, dflt, lo, hi, help) \
	if (!below(8))                      \
		params.key[below(n)] = within(lo, hi);
	BBR_PARAMS(X, BBR_NO_PARAM)
#undef X
}

/* Its values fall and its times rise, as in any that the filter itself has made. */
static void change_filter(struct bbr *b)
{
	__u32 win = params.bw_win[0], ages[3] = { win, win / 2, win / 4 };
	struct minmax_sample *s = b->bw.s;

	s[0].t = b->round_count - beside(ages[below(3)]);
	for (int i = 1; i < 3; i++) {
		s[i].t =
			below(2) ? s[i - 1].t : s[i - 1].t + below(b->round_count - s[i - 1].t + 1);
		s[i].v = below(2) ? s[i - 1].v : s[i - 1].v - below(s[i - 1].v / 4 + 1);
	}
}

/* A rate at one of the filter's values. */
static void change_rate(struct replay *r)
{
	__u64 v = r->b.bw.s[below(3)].v;

	r->rs.interval_us = 1 + below(1 << (1 + below(20)));
	r->rs.delivered = (v * r->rs.interval_us >> BW_SCALE) + below(2);
	if (below(2) && r->rs.delivered > 0 && v)
		r->rs.interval_us = beside(((__u64)r->rs.delivered << BW_SCALE) / v);
}

static void change_sample(struct replay *r)
{
	static const __s64 intervals[] = { -1, 0, 1, 1ll << 32, (1ll << 32) + 1, (1ll << 40) + 77 };

	switch (below(8)) {
	case 0:
		r->rs.interval_us = intervals[below(6)];
		break;
	case 1:
		r->rs.delivered = below(2) ? (int)below(4) - 1 : (int)of_any_size();
		break;
	case 2:
		r->rs.losses = below(3);
		break;
	case 3:
		r->rs.acked_sacked = below(2) ? below(3) : of_any_size();
		break;
	case 4:
		r->rs.is_app_limited = below(2);
		r->rs.is_ack_delayed = below(2);
		break;
	case 5:
		r->rs.prior_delivered = beside(r->b.next_round_delivered);
		break;
	case 6:
		r->rs.rtt_us = below(4) ? (__s64)beside(r->b.min_rtt_us) : -(__s64)of_any_size();
		break;
	default:
		change_rate(r);
	}
}

static void change_flags(struct bbr *b, struct bbr_sock *sk)
{
	switch (below(10)) {
	case 0:
		b->mode = below(4);
		break;
	case 1:
		b->prev_ca_state = below(5);
		break;
	case 2:
		sk->ca_state = below(5);
		break;
	case 3:
		b->packet_conservation ^= 1;
		break;
	case 4:
		b->idle_restart ^= 1;
		break;
	case 5:
		b->has_seen_rtt ^= 1;
		break;
	case 6:
		b->watched ^= 1;
		break;
	case 7:
		b->lt_use_bw ^= 1;
		b->lt_bw = of_any_size();
		break;
	case 8:
		b->lt_is_sampling ^= 1;
		b->lt_rtt_cnt = below(128);
		break;
	default:
		b->full_bw_reached ^= 1;
		b->full_bw_cnt = below(32);
	}
}

static void change_clock(struct bbr *b, struct bbr_sock *sk)
{
	switch (below(5)) {
	case 0:
		sk->now_ms = beside(b->min_rtt_stamp + params.min_rtt_win[0]);
		break;
	case 1:
		sk->delivered_mstamp = beside(b->cycle_mstamp + b->min_rtt_us);
		break;
	case 2:
		sk->tcp_wstamp_ns = beside(sk->tcp_clock_cache) + below(2) * below(10000000);
		break;
	case 3:
		b->ack_epoch_mstamp = beside(sk->delivered_mstamp - below(100000));
		break;
	default:
		*(below(2) ? &sk->delivered_mstamp : &b->ack_epoch_mstamp) = of_any_size();
	}
}

static void change_phase(struct bbr *b, struct bbr_rs *rs)
{
	__u64 bdp = (__u64)b->bw.s[0].v * b->min_rtt_us >> BW_SCALE;

	b->cycle_idx = below(8);
	b->pacing_gain = params.probe_bw_gains[b->cycle_idx];
	rs->prior_in_flight = beside(bdp * b->pacing_gain >> BBR_SCALE) + below(2) * below(20);
}

static void change_aggregation(struct bbr *b, const struct bbr_sock *sk)
{
	__u64 us = sk->delivered_mstamp - b->ack_epoch_mstamp;

	b->ack_epoch_acked =
		below(4) ? beside(b->bw.s[0].v * us >> BW_SCALE) : beside(params.ack_epoch_max[0]);
	b->extra_acked[below(2)] = below(3) ? below(100) : of_any_size();
	b->extra_acked_win_rtts = below(32);
	b->extra_acked_win_idx = below(2);
}

static void change_socket(struct bbr *b, struct bbr_sock *sk)
{
	switch (below(8)) {
	case 0:
		sk->cwnd = below(2) ? below(8) : of_any_size();
		break;
	case 1:
		sk->pacing_rate = of_any_size() >> 16;
		break;
	case 2:
		sk->mss = below(2) ? 1 + below(65535) : beside(sk->mss);
		break;
	case 3:
		sk->inflight = below(2) ? below(100) : of_any_size();
		break;
	case 4:
		sk->snd_cwnd_clamp = of_any_size();
		break;
	case 5:
		sk->max_pacing_rate = of_any_size();
		break;
	case 6:
		sk->srtt_us = below(2) * of_any_size();
		break;
	default:
		b->min_rtt_us = below(2) ? BBR_RTT_NONE : (__u32)of_any_size();
	}
}

static void change(struct replay *r)
{
	switch (below(8)) {
	case 0:
		change_filter(&r->b);
		break;
	case 1:
	case 2:
		change_sample(r);
		break;
	case 3:
		change_flags(&r->b, &r->sk);
		break;
	case 4:
		change_clock(&r->b, &r->sk);
		break;
	case 5:
		change_phase(&r->b, &r->rs);
		break;
	case 6:
		change_aggregation(&r->b, &r->sk);
		break;
	default:
		change_socket(&r->b, &r->sk);
	}
}

static void make_batch(void)
{
	change_params();
	for (unsigned int i = 0; i < KINDS_BATCH; i++) {
		batch[i].of_kind = recorded[below(acks)];
		for (unsigned int n = below(5); n; n--)
			change(&batch[i].of_kind);
		batch[i].of_any = batch[i].of_kind;
	}
}

/* FNV-1a */
static void digest(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		total.digest = (total.digest ^ ((const unsigned char *)data)[i]) * 0x100000001b3ull;
}

static void print_difference(const struct twice *t)
{
	const unsigned char *a = (const void *)&t->of_kind, *b = (const void *)&t->of_any;

	fprintf(stderr, "kinds: of kind %u differ the bytes", t->of_kind.sk.kind);
	for (size_t i = 0; i < sizeof(t->of_kind); i++)
		if (a[i] != b[i] && i != offsetof(struct replay, sk.kind))
			fprintf(stderr, " %zu", i);
	fprintf(stderr, " of struct replay\n");
}

static void compare(struct twice *t)
{
	struct replay of_kind = t->of_kind;

	total.of_kind[of_kind.sk.kind & BBR_ORDINARY]++;
	of_kind.sk.kind = 0;
	digest(&of_kind.b, sizeof(of_kind.b));
	digest(&of_kind.sk.pacing_rate, sizeof(of_kind.sk.pacing_rate));
	digest(&of_kind.sk.cwnd, sizeof(of_kind.sk.cwnd));
	digest(&of_kind.sk.ssthresh, sizeof(of_kind.sk.ssthresh));
	digest(&of_kind.sk.app_limited, sizeof(of_kind.sk.app_limited));
	if (memcmp(&of_kind, &t->of_any, sizeof(of_kind)) && total.different++ < MOST_PRINTED)
		print_difference(t);
}

static void run_batches(__u64 count)
{
	total.digest = 0xcbf29ce484222325ull;
	while (count--) {
		make_batch();
		if (bpf.program >= 0)
			run_as_bpf();
		else
			run_natively();
		for (unsigned int i = 0; i < KINDS_BATCH; i++)
			compare(&batch[i]);
	}
}

int main(int argc, char **argv)
{
	double millions = 1;
	int c;

	state = 1;
	while ((c = getopt(argc, argv, "b:n:s:")) != -1) {
		switch (c) {
		case 'b':
			load_bpf(optarg);
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
		fputs("usage: kinds [-b OBJECT] [-n MILLIONS] [-s SEED] RECORDING...\n", stderr);
		return 2;
	}
	while (optind < argc)
		read_recording(argv[optind++]);
	run_batches(millions * 1000000 / KINDS_BATCH + 1);
	printf("{\"ordinary\":%llu,\"lossless\":%llu,\"cycling\":%llu,\"calm\":%llu,\"any\":%llu,"
	       "\"different\":%llu,"
	       "\"digest\":\"%016llx\"}\n",
	       total.of_kind[BBR_ORDINARY], total.of_kind[BBR_CALM | BBR_LOSSLESS],
	       total.of_kind[BBR_CALM | BBR_CYCLING], total.of_kind[BBR_CALM], total.of_kind[0],
	       total.different, total.digest);
	return total.different ? 1 : 0;
}
