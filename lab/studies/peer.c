// SPDX-License-Identifier: GPL-2.0-only
/*
 * A peer that lies, and then is honest: how long does a connection to it need for the next bytes?
 *
 *	peer DEVICE ADDRESS PEER CC SEED BYTES LIE_MS LIMIT_MS
 *
 * The peer is this process, behind a TUN device that it makes, with ADDRESS at the kernel's end. It connects a socket with CC
 * to PEER, which nobody else is, and writes to it as much as it takes. A path of the seed's rate, delay and buffer is between
 * them. For LIE_MS milliseconds the peer lies in its ACKs, by some of the lies below at a time, by others after 10 to 400 ms.
 * Then it sends one ACK with a true window, as a receiver does whose window opens, and is honest until BYTES have come, at most
 * for LIMIT_MS.
 *
 * What the peer ACKs it never asks for again, whether it came or not: that loss is its own. What it only SACKs it may ask for
 * again (RFC 2018). Its own time stamps go back only, as those of the future would make the kernel drop all later ACKs. All bytes
 * after its last lie have to come, unchanged. Prints one JSON object.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "receiver.h"

#define MOST_ON_WAY 4096 /* packets */
#define PERIOD 65521 /* bytes of the stream: a prime, so that a byte lost, doubled or moved shows */
#define WRITE_BYTES 16384
#define PAUSE_NS 1000000000ull /* longer than any path or pacing rate keeps data */

enum lie {
	SACK_UNSENT = 1 << 0,
	SACK_LOST = 1 << 1, /* what was sent, whether it came or not */
	DSACK = 1 << 2,
	DIVIDE = 1 << 3, /* an ACK for every few bytes */
	OPTIMISTIC = 1 << 4, /* ACK what is on its way, or lost */
	ACK_UNSENT = 1 << 5,
	ACK_OLD = 1 << 6,
	REPEAT = 1 << 7,
	WINDOW_SHRINKS = 1 << 8,
	WINDOW_CLOSED = 1 << 9,
	ECE = 1 << 10,
	ECHO_WRONG = 1 << 11, /* the time stamp that is echoed: older, of the future, or 0 */
	STAMP_BACK = 1 << 12, /* the peer's own time stamp */
	LOSE = 1 << 13, /* a third of the packets */
	SILENT = 1 << 14,
	LIES = 15,
};

struct packet {
	uint64_t arrives_ns;
	struct range data;
	uint32_t stamp;
};

struct peer {
	struct receiver r;
	int sock;
	uint64_t rate_bps, delay_ns, buffer_ns; /* of the path */
	uint64_t free_ns; /* when the path has sent all that it was given */
	struct packet on_way[MOST_ON_WAY];
	unsigned int first, count;
	uint32_t first_seq, sent; /* of the first byte; after the last that came into the path */
	bool is_open, is_over; /* the SYN was answered; a RST came */
	bool lying;
	unsigned int lies;
	uint64_t next_lies_ns, next_optimistic_ns;
	uint64_t written; /* bytes of the stream, into the socket */
	uint64_t wrong; /* packets that were not as written */
	uint64_t last_ns; /* when data came last */
	uint64_t waited_ns; /* the sum of the pauses without data, once the peer is honest */
	uint32_t least_cwnd;
	uint64_t least_pacing; /* bytes per second */
};

static uint64_t random_state;

/* splitmix64 */
static uint32_t random_below(uint32_t limit)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % limit;
}

static uint8_t stream[PERIOD + WRITE_BYTES]; /* a period, and the beginning of the next */

static void make_stream(void)
{
	for (uint32_t i = 0; i < sizeof(stream); i++)
		stream[i] = (i % PERIOD + 1) * 0x9e3779b1u >> 24;
}

static void choose_lies(struct peer *peer, uint64_t now)
{
	if (now < peer->next_lies_ns)
		return;
	peer->lies = 0;
	for (int n = 0; n < LIES; n++)
		peer->lies |= (random_below(6) == 0) << n;
	peer->next_lies_ns = now + (10 + random_below(390)) * NS_PER_MS;
}

static void lie_in_blocks(const struct peer *peer, struct answer *a)
{
	uint32_t unacked = distance(a->ack, peer->sent);

	if (peer->lies & DSACK) {
		a->sack_count = 0;
		add_sack(a, (struct range){ a->ack - 1 - random_below(10 * MSS), a->ack });
	}
	if (peer->lies & SACK_LOST && unacked > MSS) {
		uint32_t start = a->ack + 1 + random_below(unacked - 1);

		add_sack(a, (struct range){ start, start + 1 + random_below(peer->sent - start) });
	}
	if (peer->lies & SACK_UNSENT) {
		uint32_t start = peer->sent + (1 << 22) + random_below(1 << 24);

		add_sack(a, (struct range){ start, start + 1 + random_below(1 << 20) });
	}
}

static void lie_in_header(const struct peer *peer, struct answer *a)
{
	if (peer->lies & ACK_UNSENT && random_below(2))
		a->ack = peer->sent + (1 << 22) + random_below(1 << 24);
	else if (peer->lies & ACK_OLD && random_below(2))
		a->ack -= random_below(20 * MSS);
	if (peer->lies & WINDOW_SHRINKS)
		a->window = random_below(20 * MSS);
	if (peer->lies & WINDOW_CLOSED)
		a->window = 0;
	a->ece = !!(peer->lies & ECE);
	if (peer->lies & ECHO_WRONG) {
		const uint32_t wrong[] = { a->echo - random_below(FIRST_STAMP),
					   a->echo + random_below(FIRST_STAMP), 0 };

		a->echo = wrong[random_below(3)];
	}
	if (peer->lies & STAMP_BACK && random_below(2))
		a->stamp -= random_below(FIRST_STAMP);
}

static void answer_with_lies(struct peer *peer, struct answer a, uint32_t acked_before)
{
	uint32_t steps = peer->lies & DIVIDE ? 2 + random_below(8) : 1;
	uint32_t times = peer->lies & REPEAT ? 2 + random_below(8) : 1;
	uint32_t ahead = distance(acked_before, a.ack);

	if (peer->lies & SILENT)
		return;
	lie_in_blocks(peer, &a);
	for (uint32_t n = 1; n <= steps; n++) {
		struct answer part = a;

		part.ack = acked_before + (uint64_t)ahead * n / steps;
		lie_in_header(peer, &part);
		for (uint32_t i = 0; i < times; i++)
			send_answer(&peer->r, &part);
	}
}

static struct tcp_info info_of(const struct peer *peer)
{
	struct tcp_info info = {};
	socklen_t size = sizeof(info);

	if (getsockopt(peer->sock, IPPROTO_TCP, TCP_INFO, &info, &size))
		die("TCP_INFO");
	return info;
}

/* Whether a window or a rate becomes 0. */
static void look_at_socket(struct peer *peer)
{
	struct tcp_info info = info_of(peer);

	peer->least_cwnd =
		info.tcpi_snd_cwnd < peer->least_cwnd ? info.tcpi_snd_cwnd : peer->least_cwnd;
	peer->least_pacing = earliest(peer->least_pacing, info.tcpi_pacing_rate);
}

static void end_pause(struct peer *peer)
{
	uint64_t now = now_ns();

	if (!peer->lying && now - peer->last_ns > PAUSE_NS)
		peer->waited_ns += now - peer->last_ns;
	peer->last_ns = now;
}

static void arrive(struct peer *peer, const struct packet *p)
{
	uint32_t acked_before = peer->r.acked;
	struct answer a;

	if (p->data.start != p->data.end)
		end_pause(peer);
	/* A receiver answers data, and what is old, such as a probe of its window. */
	if (p->data.start == p->data.end && distance(p->data.start, peer->r.acked) <= 0)
		return;
	look_at_socket(peer);
	a = receive(&peer->r, p->data, p->stamp);
	if (peer->lying)
		answer_with_lies(peer, a, acked_before);
	else
		send_answer(&peer->r, &a);
}

static void begin(struct peer *peer, const struct tcphdr *tcp, uint32_t stamp)
{
	struct answer a;

	peer->r.sender_port = tcp->source;
	peer->first_seq = peer->r.acked = peer->sent = ntohl(tcp->seq) + 1;
	peer->r.echo = stamp;
	peer->is_open = true;
	a = honest_answer(&peer->r);
	a.syn = true;
	a.ece = tcp->ece && tcp->cwr; /* it takes ECN if that is offered */
	send_answer(&peer->r, &a);
}

/* The stamp of a segment, whose options Linux writes as here. */
static uint32_t stamp_of(const struct tcphdr *tcp)
{
	const uint8_t *p = (const uint8_t *)(tcp + 1), *end = (const uint8_t *)tcp + 4 * tcp->doff;

	while (p + 10 <= end && *p) {
		uint32_t stamp;

		if (*p == 8) {
			memcpy(&stamp, p + 2, sizeof(stamp));
			return ntohl(stamp);
		}
		p += *p == 1 ? 1 : p[1];
	}
	return 0;
}

/* A segment comes into the path: it is lost, or arrives later. */
static void enter_path(struct peer *peer, const uint8_t *bytes, size_t size)
{
	const struct iphdr *ip = (const void *)bytes;
	const struct tcphdr *tcp = (const void *)(bytes + 4 * ip->ihl);
	uint32_t length = size - 4 * ip->ihl - 4 * tcp->doff, seq = ntohl(tcp->seq);
	struct packet p = { .data = { seq, seq + length }, .stamp = stamp_of(tcp) };
	uint64_t now = now_ns();

	if (ip->version != 4 || ip->protocol != IPPROTO_TCP)
		return;
	if (tcp->rst)
		peer->is_over = true;
	if (tcp->syn)
		begin(peer, tcp, p.stamp);
	if (tcp->syn || tcp->rst || !peer->is_open)
		return;
	if (memcmp(bytes + size - length, stream + (seq - peer->first_seq) % PERIOD, length)) {
		peer->wrong++;
		return;
	}
	if (distance(peer->sent, p.data.end) > 0)
		peer->sent = p.data.end;
	if (peer->lying && length && peer->lies & OPTIMISTIC && now >= peer->next_optimistic_ns) {
		uint32_t acked_before = peer->r.acked;

		peer->next_optimistic_ns = now + peer->delay_ns / 4;
		advance(&peer->r, peer->sent);
		answer_with_lies(peer, honest_answer(&peer->r), acked_before);
	}
	if (peer->free_ns < now)
		peer->free_ns = now;
	if (peer->free_ns - now > peer->buffer_ns || peer->count == MOST_ON_WAY ||
	    (peer->lying && peer->lies & LOSE && random_below(3) == 0))
		return;
	peer->free_ns += size * 8000000000ull / peer->rate_bps;
	p.arrives_ns = peer->free_ns + peer->delay_ns;
	peer->on_way[(peer->first + peer->count++) % MOST_ON_WAY] = p;
}

/* Writes as much as the socket takes. Returns 0 or the socket's error. */
static int fill_socket(struct peer *peer)
{
	ssize_t n;

	while ((n = send(peer->sock, stream + peer->written % PERIOD, WRITE_BYTES,
			 MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
		peer->written += n;
	return errno == EAGAIN || errno == EINPROGRESS || errno == EALREADY ? 0 : errno;
}

static int make_device(const char *name, struct in_addr address)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = address };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC),
	    control = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr))
		die("/dev/net/tun");
	memcpy(&ifr.ifr_addr, &at, sizeof(at));
	if (ioctl(control, SIOCSIFADDR, &ifr))
		die("address");
	inet_pton(AF_INET, "255.255.255.0", &at.sin_addr);
	memcpy(&ifr.ifr_addr, &at, sizeof(at));
	if (ioctl(control, SIOCSIFNETMASK, &ifr))
		die("netmask");
	ifr.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(control, SIOCSIFFLAGS, &ifr))
		die("up");
	close(control);
	return fd;
}

static void connect_socket(struct peer *peer, const char *cc)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr = peer->r.address,
				  .sin_port = peer->r.port };

	peer->sock = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (setsockopt(peer->sock, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die(cc);
	if (connect(peer->sock, (void *)&to, sizeof(to)) && errno != EINPROGRESS)
		die("connect");
}

/* Waits for a packet, for room in the socket, and at most until then. Returns true if there is room. */
static bool wait_until(const struct peer *peer, uint64_t until)
{
	struct pollfd fds[] = { { .fd = peer->sock, .events = POLLOUT },
				{ .fd = peer->r.tun, .events = POLLIN } };
	uint64_t now = now_ns(), left = until > now ? until - now : 0;
	struct timespec ts = { left / 1000000000, left % 1000000000 };

	ppoll(fds, 2, &ts, NULL);
	return fds[0].revents;
}

static void take_packets(struct peer *peer)
{
	uint8_t bytes[2 * MTU];
	ssize_t n;

	while ((n = read(peer->r.tun, bytes, sizeof(bytes))) > 0)
		enter_path(peer, bytes, n);
}

static void deliver_packets(struct peer *peer)
{
	while (peer->count && peer->on_way[peer->first].arrives_ns <= now_ns()) {
		struct packet p = peer->on_way[peer->first];

		peer->first = (peer->first + 1) % MOST_ON_WAY;
		peer->count--;
		arrive(peer, &p);
	}
}

/* Runs until then, or until so many bytes have come, if not 0. Returns 0 or the socket's error. */
static int run(struct peer *peer, uint64_t until, uint64_t bytes)
{
	uint32_t begin = peer->r.acked;
	int error = 0;

	while (now_ns() < until && (!bytes || (uint32_t)distance(begin, peer->r.acked) < bytes)) {
		uint64_t next = until;

		if (peer->lying)
			choose_lies(peer, now_ns());
		take_packets(peer);
		deliver_packets(peer);
		if (peer->count)
			next = earliest(next, peer->on_way[peer->first].arrives_ns);
		if (peer->lying)
			next = earliest(next, peer->next_lies_ns);
		if (wait_until(peer, next))
			error = fill_socket(peer);
		if (error || peer->is_over)
			return error ? error : ECONNRESET;
	}
	return 0;
}

/* The path between the two, by the seed. */
static void make_path(struct peer *peer)
{
	peer->rate_bps = 2000000ull + random_below(8000) * 1000ull;
	peer->delay_ns = (20 + random_below(60)) * NS_PER_MS;
	peer->buffer_ns = (10 + random_below(190)) * NS_PER_MS;
}

static void print_result(const struct peer *peer, char **argv, int error,
			 const struct tcp_info *at_switch, uint32_t bytes, uint64_t honest_ns)
{
	printf("{\"cc\":\"%s\",\"seed\":%s,\"bytes\":%u,\"us\":%llu,\"errno\":%d,", argv[4],
	       argv[5], bytes, (unsigned long long)(now_ns() - honest_ns) / 1000, error);
	printf("\"waited_us\":%llu,\"wrong_packets\":%llu,\"least_cwnd_packets\":%u,"
	       "\"least_pacing_bytes_per_s\":%llu,",
	       (unsigned long long)peer->waited_ns / 1000, (unsigned long long)peer->wrong,
	       peer->least_cwnd, (unsigned long long)peer->least_pacing);
	printf("\"at_switch\":{\"cwnd_packets\":%u,\"rto_us\":%u,\"backoff\":%u,\"probes\":%u,"
	       "\"ecn\":%d}}\n",
	       at_switch->tcpi_snd_cwnd, at_switch->tcpi_rto, at_switch->tcpi_backoff,
	       at_switch->tcpi_probes, !!(at_switch->tcpi_options & TCPI_OPT_ECN));
}

int main(int argc, char **argv)
{
	static struct peer peer = {
		.r = { .port = 0x5114 }, .lying = true, .least_cwnd = ~0u, .least_pacing = ~0ull
	};
	const struct linger reset = { .l_onoff = 1 };
	struct tcp_info at_switch;
	uint64_t honest_ns;
	uint32_t lied_to;
	int error;

	if (argc != 9 || !inet_aton(argv[2], &peer.r.sender) ||
	    !inet_aton(argv[3], &peer.r.address)) {
		fprintf(stderr, "usage: peer DEVICE ADDRESS PEER CC SEED BYTES LIE_MS LIMIT_MS\n");
		return 1;
	}
	random_state = strtoull(argv[5], NULL, 10) << 32; /* far from the states of other seeds */
	make_stream();
	make_path(&peer);
	peer.r.tun = make_device(argv[1], peer.r.sender);
	connect_socket(&peer, argv[4]);
	error = run(&peer, now_ns() + strtoull(argv[7], NULL, 10) * NS_PER_MS, 0);

	at_switch = info_of(&peer);
	honest_ns = peer.last_ns = now_ns();
	lied_to = peer.r.acked;
	peer.lying = false;
	if (!error) {
		struct answer opened = honest_answer(&peer.r);

		send_answer(&peer.r, &opened);
		error = run(&peer, honest_ns + strtoull(argv[8], NULL, 10) * NS_PER_MS,
			    strtoull(argv[6], NULL, 10));
	}
	look_at_socket(&peer);
	end_pause(&peer);
	print_result(&peer, argv, error, &at_switch, peer.r.acked - lied_to, honest_ns);
	setsockopt(peer.sock, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(peer.sock);
	return 0;
}
