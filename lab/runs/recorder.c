// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records a run of the lab until SIGTERM: every ACK at the senders (recorder.bpf.c), and the queue of
 * a device in the network namespace that it runs in.
 *
 *	recorder OBJECT DEVICE EPOCH_FILE <TIMES >RECORDING
 *
 * It begins when TIMES, a pipe, gives it three numbers of milliseconds: from and until when RTTs
 * count, and the sample interval. The epoch, time 0 of the run, is a little later; EPOCH_FILE gets
 * it in nanoseconds of CLOCK_MONOTONIC. Each line of the recording is a JSON array whose first member
 * says what it is:
 *
 *	["flow", t_us, flow, acks, rtt_min_us, rtt_max_us, rtt_us, srtt_us, min_rtt_us, cwnd, inflight,
 *	 lost, retrans, acked_bytes, rate_bps, pacing_bps, ca_state]
 *		a flow in one sample interval that had ACKs: state after the last, RTTs of all
 *	["mode", t_us, flow, mode]		of BBR, when it changes
 *	["queue", t_us, packets, bytes, drops, sent_packets, sent_bytes]
 *	["rtt", flow, acks, min_us, median_us, p95_us, max_us]	of the RTTs that count
 *	["end", acks, acks_dropped]
 *
 * "@@T ms" on stderr, once a second of virtual time, is for the lab's progress line.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "lab/runs/program.h"
#include "recorder.h"

#define EPOCH_DELAY_NS 200000000ull /* time for the flows' processes to be there */
#define NS_PER_MS 1000000ull

static volatile sig_atomic_t stopped;

static uint64_t epoch_ns, from_ns, until_ns, sample_ns;
static uint64_t acks_seen;

static struct flow {
	struct ack last;
	uint64_t slot; /* the sample interval of what follows */
	uint32_t acks, rtt_min_us, rtt_max_us;
	uint32_t *rtts; /* of the ACKs between from_ns and until_ns */
	size_t rtt_count, rtt_room;
	int mode;
} flows[FLOWS];

static long long run_us(uint64_t ns)
{
	return ((long long)ns - (long long)epoch_ns) / 1000;
}

/* Ends the sample interval of a flow. */
static void print_sample(struct flow *f)
{
	const struct ack *a = &f->last;

	if (!f->acks)
		return;
	printf("[\"flow\",%lld,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%llu,%llu,%llu,%u]\n",
	       run_us(a->time_ns), a->flow, f->acks, f->rtt_min_us, f->rtt_max_us, a->rtt_us,
	       a->srtt_us, a->min_rtt_us, a->cwnd, a->inflight, a->lost, a->retrans, a->acked_bytes,
	       a->rate * 8, a->pacing_rate * 8, a->ca_state);
	f->acks = 0;
}

static void keep_rtt(struct flow *f, uint32_t rtt_us)
{
	if (f->rtt_count == f->rtt_room) {
		f->rtt_room = f->rtt_room ? 2 * f->rtt_room : 4096;
		f->rtts = realloc(f->rtts, f->rtt_room * sizeof(*f->rtts));
		if (!f->rtts)
			die("memory for RTTs");
	}
	f->rtts[f->rtt_count++] = rtt_us;
}

static int on_ack(void *context, void *data, size_t size)
{
	const struct ack *a = data;
	struct flow *f = &flows[a->flow];
	uint64_t slot = a->time_ns / sample_ns;

	(void)context, (void)size;
	if (a->time_ns < epoch_ns) /* a connection that only prepares the path */
		return 0;
	acks_seen++;
	if (slot != f->slot)
		print_sample(f);
	f->slot = slot;
	f->rtt_min_us = f->acks && f->rtt_min_us < a->rtt_us ? f->rtt_min_us : a->rtt_us;
	f->rtt_max_us = f->acks && f->rtt_max_us > a->rtt_us ? f->rtt_max_us : a->rtt_us;
	f->acks++;
	f->last = *a;
	if (a->time_ns >= from_ns && a->time_ns < until_ns)
		keep_rtt(f, a->rtt_us);
	if (a->mode != f->mode)
		printf("[\"mode\",%lld,%u,%u]\n", run_us(a->time_ns), a->flow, a->mode);
	f->mode = a->mode;
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The smallest value that this share of all values does not exceed. */
static uint32_t percentile(const struct flow *f, unsigned int percent)
{
	size_t rank = (f->rtt_count * percent + 99) / 100;

	return f->rtts[rank ? rank - 1 : 0];
}

static void print_rtts(struct flow *f, int flow)
{
	if (!f->rtt_count)
		return;
	qsort(f->rtts, f->rtt_count, sizeof(*f->rtts), compare);
	printf("[\"rtt\",%d,%zu,%u,%u,%u,%u]\n", flow, f->rtt_count, f->rtts[0], percentile(f, 50),
	       percentile(f, 95), f->rtts[f->rtt_count - 1]);
}

/* One qdisc of the dump: prints it if it is the device's root. */
static int on_qdisc(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct gnet_stats_queue *queue = NULL;
	const struct gnet_stats_basic *basic = NULL;
	const struct nlattr *attr, *nested;

	if (tc->tcm_ifindex != *(int *)data || tc->tcm_parent != TC_H_ROOT)
		return MNL_CB_OK;
	mnl_attr_for_each(attr, nlh, sizeof(*tc))
	{
		if (mnl_attr_get_type(attr) != TCA_STATS2)
			continue;
		mnl_attr_for_each_nested(nested, attr)
		{
			if (mnl_attr_get_type(nested) == TCA_STATS_QUEUE)
				queue = mnl_attr_get_payload(nested);
			else if (mnl_attr_get_type(nested) == TCA_STATS_BASIC)
				basic = mnl_attr_get_payload(nested);
		}
	}
	if (queue && basic)
		printf("[\"queue\",%lld,%u,%u,%u,%u,%llu]\n", run_us(now_ns()), queue->qlen,
		       queue->backlog, queue->drops, basic->packets,
		       (unsigned long long)basic->bytes);
	return MNL_CB_OK;
}

static void print_queue(struct mnl_socket *nl, int ifindex)
{
	static unsigned int seq;
	char buf[65536];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc;
	ssize_t n;
	int left = 1;

	nlh->nlmsg_type = RTM_GETQDISC;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++seq;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_ifindex = ifindex;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		die("RTM_GETQDISC");
	while (left > 0 && (n = mnl_socket_recvfrom(nl, buf, sizeof(buf))) > 0)
		left = mnl_cb_run(buf, n, seq, mnl_socket_get_portid(nl), on_qdisc, &ifindex);
	if (left < 0)
		die("RTM_GETQDISC");
}

static struct bpf_object *attach(const char *path)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	struct bpf_program *prog;

	if (!obj || bpf_object__load(obj))
		die(path);
	prog = bpf_object__find_program_by_name(obj, "on_segment");
	if (!prog || !bpf_program__attach(prog))
		die("fexit of tcp_rcv_established");
	return obj;
}

/* ACKs that found the ring full: the recording is not complete then. */
static uint64_t dropped(struct bpf_object *obj)
{
	int fd = bpf_object__find_map_fd_by_name(obj, ".bss.drops"), key = 0;
	uint64_t count;

	if (bpf_map_lookup_elem(fd, &key, &count))
		die("number of dropped ACKs");
	return count;
}

static int timer_from_epoch(void)
{
	struct itimerspec when = {
		.it_value = { epoch_ns / 1000000000, epoch_ns % 1000000000 },
		.it_interval = { sample_ns / 1000000000, sample_ns % 1000000000 },
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL))
		die("timerfd");
	return fd;
}

static void show_progress(void)
{
	static long long shown = -1;
	long long s = run_us(now_ns()) / 1000000;

	if (s > shown)
		fprintf(stderr, "@@T %lld\n", s * 1000);
	shown = s > shown ? s : shown;
}

static void record(struct ring_buffer *ring, struct mnl_socket *nl, int ifindex)
{
	int timer = timer_from_epoch();
	uint64_t ticks;

	while (!stopped) {
		if (read(timer, &ticks, sizeof(ticks)) != sizeof(ticks))
			continue;
		ring_buffer__consume(ring);
		print_queue(nl, ifindex);
		show_progress();
	}
	ring_buffer__consume(ring);
	close(timer);
}

/* Creates EPOCH_FILE, which says that it waits for TIMES, and fills it. */
static void wait_for_times(const char *epoch_file)
{
	unsigned int from_ms, until_ms, sample_ms;
	FILE *f = fopen(epoch_file, "w");

	if (!f)
		die(epoch_file);
	if (scanf("%u %u %u", &from_ms, &until_ms, &sample_ms) != 3 || !sample_ms)
		die("times");
	epoch_ns = now_ns() + EPOCH_DELAY_NS;
	from_ns = epoch_ns + from_ms * NS_PER_MS;
	until_ns = epoch_ns + until_ms * NS_PER_MS;
	sample_ns = sample_ms * NS_PER_MS;
	if (fprintf(f, "%llu\n", (unsigned long long)epoch_ns) < 0 || fclose(f))
		die(epoch_file);
}

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

int main(int argc, char **argv)
{
	struct sigaction stop = { .sa_handler = on_signal }; /* no SA_RESTART: it ends read() */
	struct ring_buffer *ring;
	struct bpf_object *obj;
	struct mnl_socket *nl;

	if (argc != 4) {
		fputs("usage: recorder OBJECT DEVICE EPOCH_FILE\n", stderr);
		return 1;
	}
	sigaction(SIGTERM, &stop, NULL);
	obj = attach(argv[1]);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "acks"), on_ack, NULL, NULL);
	nl = mnl_socket_open(NETLINK_ROUTE);
	if (!ring || !nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		die("ring buffer or netlink");

	wait_for_times(argv[3]);
	record(ring, nl, if_nametoindex(argv[2]));
	for (int i = 0; i < FLOWS; i++)
		print_sample(&flows[i]);
	for (int i = 0; i < FLOWS; i++)
		print_rtts(&flows[i], i);
	printf("[\"end\",%llu,%llu]\n", (unsigned long long)acks_seen,
	       (unsigned long long)dropped(obj));
	return ferror(stdout) || fflush(stdout);
}
