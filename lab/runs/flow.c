// SPDX-License-Identifier: GPL-2.0-only
/*
 * One TCP flow of the lab: a receiver that checks every byte, and a sender that samples its own socket.
 *
 *	flow -l PORT [-r RCVBUF] [-C CC]                receive one flow after another, for ever
 *	flow -c ADDR -p PORT [-C CC] [-m KBIT] [-M MSS] [-i MS] [-e NS] [-s MS] [-a] [-n N] PATTERN...
 *	flow -u -c ADDR -p PORT [-e NS] [-s MS] PATTERN...         UDP that nobody answers, as load
 *
 * PATTERN is a sequence of "send:MS" (as fast as TCP takes it), "bytes:N", "rate:KBIT:MS" (paced by the
 * application), "pause:MS" and "cc:CC" (from here on with that congestion control). -m is
 * SO_MAX_PACING_RATE, -M TCP_MAXSEG, -s a delay before the start, counted from the time -e
 * (CLOCK_MONOTONIC, in nanoseconds) if there is one. The sender prints JSON lines: a sample of TCP_INFO
 * every -i milliseconds, and at the end what the receiver got. With -a it ends by a reset instead, what
 * is in its buffer is not sent, and a connection that is lost is no error. -n makes so many connections,
 * one after another, each with the pattern; each ends when all of it has arrived, and nothing is printed of
 * them but their number. The receiver prints what it got, too; SIGTERM ends it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lab/runs/program.h"

#define CHUNK 65536
#define DATAGRAM 1448
#define PERIOD_WORDS 65521
#define MANY_PACKETS (16 * 1448)
#define WARM_UP (1 << 20)
#define NS_PER_MS 1000000ull

static void sleep_until(uint64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/*
 * What is sent: random words, again and again after a prime number of them, so that a byte lost, doubled
 * or moved shows, unless it is a whole period of them. One chunk more than a period, so that every
 * chunk of the stream is in one piece somewhere.
 */
static uint64_t stream[PERIOD_WORDS + CHUNK / 8];

static void make_stream(void)
{
	for (uint64_t i = 0; i < PERIOD_WORDS + CHUNK / 8; i++) {
		uint64_t z = (i % PERIOD_WORDS + 1) * 0x9e3779b97f4a7c15ull; /* splitmix64 */

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
		stream[i] = z ^ (z >> 27);
	}
}

static const char *stream_at(uint64_t offset)
{
	return (const char *)stream + offset % (8ull * PERIOD_WORDS);
}

/* What the receiver answers at the end of a flow. */
struct verdict {
	uint64_t bytes;
	uint64_t wrong; /* bytes that differ from the pattern */
	uint64_t first_ns, last_ns; /* arrival of the first and the last byte */
};

static void on_term(int sig)
{
	(void)sig;
}

/*
 * From here on 16 packets wake the receiver, not each one: waking it took 15 % of the guest's instructions.
 * TCP acknowledges as before. Not from the start, because the receive window grows by what has been read.
 */
static void wait_for_many(int fd)
{
	int least = MANY_PACKETS;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)))
		die("SO_RCVLOWAT");
}

static void receive(struct verdict *v, const char *got, ssize_t n)
{
	v->last_ns = now_ns();
	if (!v->bytes)
		v->first_ns = v->last_ns;
	if (memcmp(got, stream_at(v->bytes), n))
		for (ssize_t i = 0; i < n; i++)
			v->wrong += got[i] != stream_at(v->bytes)[i];
	v->bytes += n;
}

static void serve(int fd)
{
	struct sigaction term = { .sa_handler = on_term }; /* no SA_RESTART: it ends read() */
	static char got[CHUNK];
	struct verdict v = {};
	bool warm = false;
	ssize_t n;

	sigaction(SIGTERM, &term, NULL);
	while ((n = read(fd, got, sizeof(got))) > 0) {
		receive(&v, got, n);
		if (!warm && v.bytes >= WARM_UP)
			wait_for_many(fd);
		warm = v.bytes >= WARM_UP;
	}
	if (n < 0 && errno != ECONNRESET && errno != EINTR) /* -a of the sender, and SIGTERM */
		fprintf(stderr, "flow: receiver: %s\n", strerror(errno));
	else if (n == 0 && write(fd, &v, sizeof(v)) != sizeof(v))
		fprintf(stderr, "flow: the answer to the sender: %s\n", strerror(errno));
	close(fd);
	printf("{\"received\":{\"bytes\":%llu,\"wrong_bytes\":%llu}}\n",
	       (unsigned long long)v.bytes, (unsigned long long)v.wrong);
	fflush(stdout);
}

static void listen_for_ever(int port, int rcvbuf, const char *cc)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int one = 1, fd = socket(AF_INET6, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (rcvbuf)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (cc && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die(cc);
	if (fd < 0 || bind(fd, (void *)&addr, sizeof(addr)) || listen(fd, 128))
		die("listen");
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int flow = accept(fd, NULL, NULL);

		if (flow < 0)
			continue;
		if (!fork()) {
			close(fd);
			serve(flow);
			_exit(0);
		}
		close(flow);
	}
}

struct sender {
	int fd;
	bool udp;
	int lost; /* errno with which the connection ended early */
	size_t chunk; /* bytes that are sent at once */
	uint64_t start, sample_every, next_sample;
	uint64_t sent;
};

static void print_sample(const struct sender *s)
{
	struct tcp_info ti = {};
	socklen_t len = sizeof(ti);

	if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &ti, &len))
		return;
	printf("{\"t_us\":%llu,\"rtt_us\":%u,\"min_rtt_us\":%u,\"cwnd\":%u,\"inflight\":%u,"
	       "\"retrans\":%u,\"lost\":%u,\"acked_bytes\":%llu,\"rate_bps\":%llu,"
	       "\"pacing_bps\":%llu,\"app_limited\":%u}\n",
	       (unsigned long long)(now_ns() - s->start) / 1000, ti.tcpi_rtt, ti.tcpi_min_rtt,
	       ti.tcpi_snd_cwnd, ti.tcpi_unacked - ti.tcpi_sacked - ti.tcpi_lost + ti.tcpi_retrans,
	       ti.tcpi_total_retrans, ti.tcpi_lost, (unsigned long long)ti.tcpi_bytes_acked,
	       (unsigned long long)ti.tcpi_delivery_rate * 8,
	       (unsigned long long)ti.tcpi_pacing_rate * 8, ti.tcpi_delivery_rate_app_limited);
}

static void sample_if_due(struct sender *s)
{
	uint64_t now = now_ns();

	if (!s->sample_every || now < s->next_sample)
		return;
	print_sample(s);
	s->next_sample += s->sample_every;
}

/* The connection is gone: so it goes on paths that lose most of what is sent. */
static void lose(struct sender *s)
{
	socklen_t len = sizeof(s->lost);

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &s->lost, &len) || !s->lost)
		s->lost = EPIPE;
}

/* Waits until the socket takes data (or only for the time), sampling meanwhile. */
static void wait_until(struct sender *s, uint64_t until, bool for_room)
{
	struct pollfd pfd = { .fd = s->udp ? -1 : s->fd, .events = for_room ? POLLOUT : 0 };

	for (;;) {
		uint64_t now, wake;
		struct timespec ts;

		sample_if_due(s);
		now = now_ns();
		if (now >= until)
			return;
		wake = s->sample_every && s->next_sample < until ? s->next_sample : until;
		wake = wake > now ? wake - now : 1;
		ts.tv_sec = wake / 1000000000;
		ts.tv_nsec = wake % 1000000000;
		if (ppoll(&pfd, 1, &ts, NULL) > 0) {
			if (pfd.revents & (POLLERR | POLLHUP)) {
				lose(s);
				return;
			}
			if (for_room)
				return;
		}
	}
}

/* Sends up to `most` bytes until the time is over. */
static void send_bytes(struct sender *s, uint64_t most, uint64_t until)
{
	while (most && !s->lost && now_ns() < until) {
		size_t len = most < s->chunk ? most : s->chunk;
		ssize_t n;

		n = send(s->fd, stream_at(s->sent), len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			s->sent += n;
			most -= n;
			sample_if_due(s);
		} else if (errno == EAGAIN) {
			wait_until(s, until, true);
		} else if (s->udp) {
			s->sent += len; /* nobody listens, or a queue is full: it is gone */
			most -= len;
		} else {
			s->lost = errno;
		}
	}
}

static void send_at_rate(struct sender *s, uint64_t kbit, uint64_t ms)
{
	uint64_t start = now_ns(), end = start + ms * NS_PER_MS;

	for (uint64_t tick = start; tick < end && !s->lost; tick += NS_PER_MS) {
		wait_until(s, tick, false);
		send_bytes(s, kbit / 8, end); /* kbit/s is bit/ms */
	}
}

static void change_cc(const struct sender *s, const char *cc)
{
	if (setsockopt(s->fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die(cc);
}

static void run_pattern(struct sender *s, const char *step)
{
	unsigned long long a, b;

	if (strncmp(step, "cc:", 3) == 0)
		change_cc(s, step + 3);
	else if (sscanf(step, "send:%llu", &a) == 1)
		send_bytes(s, UINT64_MAX, now_ns() + a * NS_PER_MS);
	else if (sscanf(step, "bytes:%llu", &a) == 1)
		send_bytes(s, a, UINT64_MAX);
	else if (sscanf(step, "rate:%llu:%llu", &a, &b) == 2)
		send_at_rate(s, a, b);
	else if (sscanf(step, "pause:%llu", &a) == 1)
		wait_until(s, now_ns() + a * NS_PER_MS, false);
	else {
		fprintf(stderr, "flow: %s: not a pattern\n", step);
		exit(1);
	}
}

/* Waits until all has arrived. */
static struct verdict end_of_stream(const struct sender *s)
{
	struct verdict v;

	shutdown(s->fd, SHUT_WR);
	if (recv(s->fd, &v, sizeof(v), MSG_WAITALL) != sizeof(v))
		die("the receiver's answer");
	return v;
}

static void finish(struct sender *s, const char *cc)
{
	char used[16] = "";
	socklen_t len = sizeof(used);
	struct verdict v;
	uint64_t ns;

	getsockopt(s->fd, IPPROTO_TCP, TCP_CONGESTION, used, &len);
	v = end_of_stream(s);
	print_sample(s);
	ns = v.last_ns - v.first_ns;
	printf("{\"end\":{\"cc\":\"%.15s\",\"asked\":\"%s\",\"sent_bytes\":%llu,\"received_bytes\":"
	       "%llu,\"wrong_bytes\":%llu,\"goodput_bps\":%llu}}\n",
	       used, cc ? cc : "", (unsigned long long)s->sent, (unsigned long long)v.bytes,
	       (unsigned long long)v.wrong, ns ? (unsigned long long)(v.bytes * 8e9 / ns) : 0);
}

/* Ends the connection here and now. */
static void reset(const struct sender *s)
{
	struct linger at_once = { .l_onoff = 1 };

	setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(s->fd);
}

struct target {
	const char *addr, *cc;
	int port, mss;
	unsigned int max_rate; /* bytes/s */
};

static void connect_to(struct sender *s, const struct target *t)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(t->port) };
	char mapped[64];

	snprintf(mapped, sizeof(mapped), strchr(t->addr, ':') ? "%s" : "::ffff:%s", t->addr);
	if (inet_pton(AF_INET6, mapped, &to.sin6_addr) != 1)
		die(t->addr);
	s->fd = socket(AF_INET6, s->udp ? SOCK_DGRAM : SOCK_STREAM, 0);
	if (t->cc)
		change_cc(s, t->cc);
	if (t->max_rate)
		setsockopt(s->fd, SOL_SOCKET, SO_MAX_PACING_RATE, &t->max_rate,
			   sizeof(t->max_rate));
	if (t->mss && setsockopt(s->fd, IPPROTO_TCP, TCP_MAXSEG, &t->mss, sizeof(t->mss)))
		die("TCP_MAXSEG");
	s->sent = 0;
	s->start = now_ns();
	if (s->fd < 0 || connect(s->fd, (void *)&to, sizeof(to)))
		die("connect");
	s->next_sample = now_ns();
}

static void run(struct sender *s, const struct target *t, char **steps)
{
	connect_to(s, t);
	while (*steps && !s->lost)
		run_pattern(s, *steps++);
}

/* One connection after another. */
static void run_many(struct sender *s, const struct target *t, char **steps, unsigned int count)
{
	unsigned int n;

	for (n = 0; n < count && !s->lost; n++) {
		run(s, t, steps);
		if (!s->lost && end_of_stream(s).bytes != s->sent)
			die("not all arrived");
		close(s->fd);
	}
	printf("{\"connections\":%u}\n", n);
}

int main(int argc, char **argv)
{
	struct target target = { .port = 5001 };
	struct sender s = {};
	int c, listen_port = 0, rcvbuf = 0;
	unsigned int start_ms = 0, connections = 1;
	bool abort_at_end = false;
	uint64_t epoch = now_ns();

	while ((c = getopt(argc, argv, "l:r:c:p:C:m:M:i:e:s:an:u")) != -1) {
		switch (c) {
		case 'l':
			listen_port = atoi(optarg);
			break;
		case 'r':
			rcvbuf = atoi(optarg);
			break;
		case 'c':
			target.addr = optarg;
			break;
		case 'p':
			target.port = atoi(optarg);
			break;
		case 'C':
			target.cc = optarg;
			break;
		case 'm':
			target.max_rate = atoi(optarg) * 125;
			break;
		case 'M':
			target.mss = atoi(optarg);
			break;
		case 'i':
			s.sample_every = atoi(optarg) * NS_PER_MS;
			break;
		case 'e':
			epoch = strtoull(optarg, NULL, 10);
			break;
		case 's':
			start_ms = atoi(optarg);
			break;
		case 'a':
			abort_at_end = true;
			break;
		case 'n':
			connections = atoi(optarg);
			break;
		case 'u':
			s.udp = true;
			break;
		default:
			return 1;
		}
	}
	make_stream();
	if (listen_port)
		listen_for_ever(listen_port, rcvbuf, target.cc);
	if (!target.addr || optind == argc) {
		fputs("usage: flow -l PORT [-C CC] | flow -c ADDR -p PORT [-C CC] PATTERN...\n",
		      stderr);
		return 1;
	}
	s.chunk = s.udp ? DATAGRAM : CHUNK;
	sleep_until(epoch + start_ms * NS_PER_MS);
	if (connections > 1)
		run_many(&s, &target, argv + optind, connections);
	else
		run(&s, &target, argv + optind);
	if (s.lost) {
		printf("{\"lost\":\"%s\"}\n", strerror(s.lost));
		return abort_at_end ? 0 : 1;
	}
	if (connections > 1)
		return 0;
	if (abort_at_end || s.udp)
		reset(&s);
	else
		finish(&s, target.cc);
	return 0;
}
