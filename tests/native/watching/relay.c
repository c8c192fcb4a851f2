// SPDX-License-Identifier: GPL-2.0-only
/*
 * A path between two network namespaces, with the faults that a test asks for. Not every kernel has
 * netem and the policer of tc; this needs only tun devices.
 *
 *	relay NETNS NETNS key=value...
 *
 * Each namespace gets a device t0. What the first one sends meets, in this order: loss (thousandths
 * of the packets), a policer (police: kbit/s, burst: bytes), a bottleneck (rate: kbit/s, limit:
 * bytes of its queue), and the delay (us), which is all that the other direction meets. Prints a
 * line when the devices are there, and ends with its standard input.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#define NS_PER_S 1000000000ull
#define PACKET_MAX 2048

struct packet {
	struct packet *next;
	unsigned long long due_ns;
	size_t len;
	char data[PACKET_MAX];
};

struct direction {
	int from, to; /* the devices */
	struct packet *first, **end;
	bool has_faults;
	unsigned long long free_ns; /* when the bottleneck has sent what it has */
	double tokens; /* bytes that the policer lets pass */
	unsigned long long tokens_ns; /* as of then */
};

static struct {
	unsigned long long delay, rate, limit, loss, police, burst;
} path;

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int open_device(const char *netns)
{
	struct ifreq request = { .ifr_name = "t0", .ifr_flags = IFF_TUN | IFF_NO_PI };
	char name[256];
	int ns, fd;

	snprintf(name, sizeof(name), "/run/netns/%s", netns);
	ns = open(name, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		fail(name);
	close(ns);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
		fail("/dev/net/tun");
	return fd;
}

static bool is_policed(struct direction *d, size_t len, unsigned long long now)
{
	if (!path.police)
		return false;
	d->tokens += (now - d->tokens_ns) * (path.police * 125.0 / NS_PER_S);
	d->tokens_ns = now;
	if (d->tokens > path.burst)
		d->tokens = path.burst;
	if (d->tokens < len)
		return true;
	d->tokens -= len;
	return false;
}

/* When a packet leaves the bottleneck; 0: its queue is full. */
static unsigned long long leaves(struct direction *d, size_t len, unsigned long long now)
{
	unsigned long long begins = d->free_ns > now ? d->free_ns : now;

	if (!path.rate)
		return now;
	if ((begins - now) * (path.rate * 125.0 / NS_PER_S) + len > path.limit)
		return 0;
	d->free_ns = begins + len * NS_PER_S / (path.rate * 125);
	return d->free_ns;
}

/* When the packet arrives; 0: it does not. */
static unsigned long long arrives(struct direction *d, size_t len)
{
	unsigned long long now = now_ns(), at;

	if (!d->has_faults)
		return now + path.delay * 1000;
	if (random() % 1000 < (long)path.loss || is_policed(d, len, now))
		return 0;
	at = leaves(d, len, now);
	return at ? at + path.delay * 1000 : 0;
}

static void take(struct direction *d)
{
	static struct packet *p;
	ssize_t n;

	for (;;) {
		if (!p)
			p = malloc(sizeof(*p));
		if (!p)
			fail("malloc");
		n = read(d->from, p->data, sizeof(p->data));
		if (n <= 0)
			return;
		p->len = n;
		p->due_ns = arrives(d, n);
		if (!p->due_ns)
			continue;
		p->next = NULL;
		*d->end = p;
		d->end = &p->next;
		p = NULL;
	}
}

/* Hands over what has arrived. Returns when the next one does; ~0: none is under way. */
static unsigned long long give(struct direction *d)
{
	unsigned long long now = now_ns();
	struct packet *p;

	while ((p = d->first) && p->due_ns <= now) {
		/* A device that is down takes nothing. */
		if (write(d->to, p->data, p->len) < 0 && errno != EIO && errno != EINVAL)
			fail("write");
		d->first = p->next;
		if (!d->first)
			d->end = &d->first;
		free(p);
	}
	return p ? p->due_ns : ~0ull;
}

static void read_options(int argc, char **argv)
{
	struct {
		const char *key;
		unsigned long long *value;
	} const options[] = {
		{ "delay", &path.delay }, { "rate", &path.rate },     { "limit", &path.limit },
		{ "loss", &path.loss },	  { "police", &path.police }, { "burst", &path.burst },
	};

	for (int i = 3; i < argc; i++) {
		const char *value = strchr(argv[i], '=');
		size_t k = 0, n = sizeof(options) / sizeof(options[0]);

		while (k < n && value && strncmp(argv[i], options[k].key, value - argv[i]))
			k++;
		if (!value || k == n) {
			fprintf(stderr, "relay: %s?\n", argv[i]);
			exit(1);
		}
		*options[k].value = strtoull(value + 1, NULL, 10);
	}
}

int main(int argc, char **argv)
{
	const struct sched_param first = { .sched_priority = 1 };
	int a = open_device(argv[1]), b = open_device(argv[2]);
	struct direction there = { .from = a, .to = b, .has_faults = true };
	struct direction back = { .from = b, .to = a };
	struct pollfd fds[] = { { a, POLLIN, 0 }, { b, POLLIN, 0 }, { STDIN_FILENO, POLLIN, 0 } };

	read_options(argc, argv);
	there.end = &there.first;
	back.end = &back.first;
	there.tokens = path.burst;
	there.tokens_ns = now_ns();
	sched_setscheduler(0, SCHED_FIFO, &first); /* a busy machine is no part of the path */
	puts("ready");
	fflush(stdout);
	while (!fds[2].revents) {
		unsigned long long x = give(&there), y = give(&back), now = now_ns();
		unsigned long long due = x < y ? x : y, wait = due > now ? due - now : 0;
		struct timespec t = { wait / NS_PER_S, wait % NS_PER_S };

		if (ppoll(fds, 3, due == ~0ull ? NULL : &t, NULL) < 0)
			fail("poll");
		take(&there);
		take(&back);
	}
	return 0;
}
