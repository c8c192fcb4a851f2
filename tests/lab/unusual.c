// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection over loopback, both ends in this process, of a kind that a congestion control rarely meets:
 *
 *	unusual plain|defer|fastopen|repair|zerocopy|tls|mptcp|sockmap CC COMMAND
 *
 *	defer      TCP_DEFER_ACCEPT: accepted only when the client has sent data
 *	fastopen   the first data is in the SYN
 *	repair     when half is through, the client's socket is replaced by another with its state (TCP_REPAIR)
 *	zerocopy   MSG_ZEROCOPY
 *	tls        the kernel encrypts (kTLS)
 *	mptcp      both sockets are MPTCP's
 *	sockmap    when half is through, a BPF program hands what one socket sends to the other one
 *
 * Each end sends BYTES and checks what comes. COMMAND runs when three quarters are through. Prints a JSON object.
 *
 *	unusual incast CC FLOWS BYTES FROM TO ADDRESS
 *
 * So many connections from network namespace FROM to ADDRESS in TO, all open before the first byte, and then all of
 * them send BYTES at once.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/errqueue.h>
#include <linux/tcp.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/runs/program.h"

#define PORT 6000
#define BYTES 400000
#define PERIOD 65521 /* a prime, so that a byte lost, doubled or moved shows */
#define WAIT_MS 20000
#define INCAST_WAIT_MS 300000 /* more than TCP_RTO_MAX, twice */
#define DEFER_S 5
#define NAME_BYTES 16 /* of a congestion control */

static uint8_t stream[PERIOD + BYTES];

static void set(int fd, int level, int option, const void *value, socklen_t size, const char *what)
{
	if (setsockopt(fd, level, option, value, size))
		die(what);
}

static void set_int(int fd, int level, int option, int value, const char *what)
{
	set(fd, level, option, &value, sizeof(value), what);
}

static int make_socket(const char *kind, const char *cc)
{
	int fd = socket(AF_INET, SOCK_STREAM, strcmp(kind, "mptcp") ? IPPROTO_TCP : IPPROTO_MPTCP);

	if (fd < 0)
		die("socket");
	if (*cc)
		set(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc), cc);
	return fd;
}

static struct sockaddr_in server = { .sin_family = AF_INET };

static int make_listener(const char *kind, const char *cc)
{
	int fd = make_socket(kind, cc);

	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	if (!strcmp(kind, "defer"))
		set_int(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, DEFER_S, "TCP_DEFER_ACCEPT");
	if (bind(fd, (const void *)&server, sizeof(server)) || listen(fd, 8))
		die("listen");
	return fd;
}

/* ---- the transfer */

struct end {
	int fd, flags; /* of send() */
	uint32_t sent, got, wrong,
		completed; /* bytes; zerocopy sends that the kernel is done with */
};

static bool send_some(struct end *end, uint32_t until)
{
	ssize_t n = end->sent < until ?
			    send(end->fd, stream + end->sent % PERIOD, until - end->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL | end->flags) :
			    0;

	if (n < 0 && errno != EAGAIN && errno != ENOBUFS)
		die("send");
	end->sent += n > 0 ? n : 0;
	return n > 0;
}

static bool receive_some(struct end *end)
{
	static uint8_t data[BYTES];
	ssize_t n = recv(end->fd, data, sizeof(data), MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN)
		die("recv");
	for (ssize_t i = 0; i < n; i++)
		end->wrong += data[i] != stream[(end->got + i) % PERIOD];
	end->got += n > 0 ? n : 0;
	return n > 0;
}

static void count_completed(struct end *end)
{
	char control[128];
	struct msghdr message = { .msg_control = control, .msg_controllen = sizeof(control) };

	while (end->flags & MSG_ZEROCOPY && recvmsg(end->fd, &message, MSG_ERRQUEUE) >= 0) {
		const struct sock_extended_err *found = (void *)CMSG_DATA(CMSG_FIRSTHDR(&message));

		if (found->ee_origin == SO_EE_ORIGIN_ZEROCOPY)
			end->completed += found->ee_data - found->ee_info + 1;
		message.msg_controllen = sizeof(control);
	}
}

/* Until both ends have sent and got so many bytes of all. */
static void transfer(struct end ends[2], uint32_t until)
{
	while (ends[0].got < until || ends[1].got < until) {
		bool moved = false;

		for (int n = 0; n < 2; n++) {
			moved |= send_some(&ends[n], until);
			moved |= receive_some(&ends[n]);
			count_completed(&ends[n]);
		}
		if (!moved) {
			struct pollfd fds[] = { { .fd = ends[0].fd, .events = POLLIN },
						{ .fd = ends[1].fd, .events = POLLIN } };

			if (poll(fds, 2, WAIT_MS) == 0) {
				errno = ETIMEDOUT;
				die("transfer");
			}
		}
	}
}

/* ---- the kinds */

static uint32_t get_queue(int fd, int queue)
{
	uint32_t seq;
	socklen_t size = sizeof(seq);

	set_int(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, queue, "TCP_REPAIR_QUEUE");
	if (getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &size))
		die("TCP_QUEUE_SEQ");
	return seq;
}

static void set_queue(int fd, int queue, uint32_t seq)
{
	set_int(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, queue, "TCP_REPAIR_QUEUE");
	set(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, sizeof(seq), "TCP_QUEUE_SEQ");
}

/* Another socket with the state of an idle one, as after the restore of a checkpoint. */
static int replace(int old, const char *cc)
{
	struct tcp_repair_window window;
	struct sockaddr_in local;
	struct tcp_info info;
	uint32_t stamp, received, sent;
	socklen_t size = sizeof(local);
	int fd;

	set_int(old, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_ON, "TCP_REPAIR");
	received = get_queue(old, TCP_RECV_QUEUE);
	sent = get_queue(old, TCP_SEND_QUEUE);
	if (getsockname(old, (void *)&local, &size) ||
	    getsockopt(old, IPPROTO_TCP, TCP_INFO, &info, &(socklen_t){ sizeof(info) }) ||
	    getsockopt(old, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window,
		       &(socklen_t){ sizeof(window) }) ||
	    getsockopt(old, IPPROTO_TCP, TCP_TIMESTAMP, &stamp, &(socklen_t){ sizeof(stamp) }))
		die("the old socket");
	close(old);

	fd = make_socket("repair", cc);
	set_int(fd, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_ON, "TCP_REPAIR");
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	set_queue(fd, TCP_RECV_QUEUE, received);
	set_queue(fd, TCP_SEND_QUEUE, sent);
	if (bind(fd, (void *)&local, sizeof(local)) ||
	    connect(fd, (const void *)&server, sizeof(server)))
		die("connect");
	set(fd, IPPROTO_TCP, TCP_REPAIR_OPTIONS,
	    (struct tcp_repair_opt[]){ { 2, info.tcpi_snd_mss },
				       { 3, info.tcpi_snd_wscale | info.tcpi_rcv_wscale << 16 },
				       { 4, 0 },
				       { 8, 0 } },
	    4 * sizeof(struct tcp_repair_opt), "TCP_REPAIR_OPTIONS");
	set(fd, IPPROTO_TCP, TCP_TIMESTAMP, &stamp, sizeof(stamp), "TCP_TIMESTAMP");
	set(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, sizeof(window), "TCP_REPAIR_WINDOW");
	set_int(fd, IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_OFF, "TCP_REPAIR");
	return fd;
}

static void encrypt(int fd)
{
	const struct tls12_crypto_info_aes_gcm_128 keys = {
		.info = { .version = TLS_1_2_VERSION, .cipher_type = TLS_CIPHER_AES_GCM_128 },
		.key = "0123456789abcde",
	};

	set(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls"), "TCP_ULP");
	set(fd, SOL_TLS, TLS_TX, &keys, sizeof(keys), "TLS_TX");
	set(fd, SOL_TLS, TLS_RX, &keys, sizeof(keys), "TLS_RX");
}

static int bpf(int command, union bpf_attr *attr, const char *what)
{
	int fd = syscall(SYS_bpf, command, attr, sizeof(*attr));

	if (fd < 0)
		die(what);
	return fd;
}

/* A program for what sockets of the map send: place 0 is the socket that sends to PORT. */
static int make_redirecting(int map)
{
	const struct bpf_insn insns[] = {
		{ BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct sk_msg_md, local_port), 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0 },
		{ BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1, PORT },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 1 },
		{ BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, map },
		{},
		{ BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, BPF_F_INGRESS },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_msg_redirect_map },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SK_MSG,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(*insns),
		.license = (uintptr_t)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr, "BPF_PROG_TYPE_SK_MSG");
}

static void redirect(const struct end ends[2])
{
	union bpf_attr of_map = {
		.map_type = BPF_MAP_TYPE_SOCKMAP,
		.key_size = sizeof(int),
		.value_size = sizeof(int),
		.max_entries = 2,
	};
	int map = bpf(BPF_MAP_CREATE, &of_map, "BPF_MAP_TYPE_SOCKMAP");
	union bpf_attr attach = {
		.target_fd = map,
		.attach_bpf_fd = make_redirecting(map),
		.attach_type = BPF_SK_MSG_VERDICT,
	};

	bpf(BPF_PROG_ATTACH, &attach, "BPF_SK_MSG_VERDICT");
	for (int n = 0; n < 2; n++) {
		union bpf_attr update = {
			.map_fd = map,
			.key = (uintptr_t)&n,
			.value = (uintptr_t)&ends[n].fd,
		};

		bpf(BPF_MAP_UPDATE_ELEM, &update, "BPF_MAP_UPDATE_ELEM");
	}
}

static void begin(const char *kind, int listener, struct end ends[2])
{
	struct end *client = &ends[0];
	struct pollfd pending = { .fd = listener, .events = POLLIN };

	if (!strcmp(kind, "fastopen")) {
		client->sent = sendto(client->fd, stream, 1000, MSG_FASTOPEN, (const void *)&server,
				      sizeof(server));
		if (client->sent != 1000)
			die("MSG_FASTOPEN");
	} else if (connect(client->fd, (const void *)&server, sizeof(server))) {
		die("connect");
	}
	if (!strcmp(kind, "defer")) {
		if (poll(&pending, 1, 500)) {
			fprintf(stderr, "unusual: it is accepted without data\n");
			exit(1);
		}
		send_some(client, 1000);
	}
	ends[1].fd = accept(listener, NULL, NULL);
	if (ends[1].fd < 0)
		die("accept");
	for (int n = 0; n < 2; n++) {
		if (!strcmp(kind, "tls"))
			encrypt(ends[n].fd);
		if (!strcmp(kind, "zerocopy")) {
			set_int(ends[n].fd, SOL_SOCKET, SO_ZEROCOPY, 1, "SO_ZEROCOPY");
			ends[n].flags = MSG_ZEROCOPY;
		}
	}
}

static void print_end(const char *name, const struct end *end)
{
	struct tcp_info info = {};
	char cc[NAME_BYTES] = "";

	getsockopt(end->fd, IPPROTO_TCP, TCP_CONGESTION, cc, &(socklen_t){ sizeof(cc) });
	getsockopt(end->fd, IPPROTO_TCP, TCP_INFO, &info, &(socklen_t){ sizeof(info) });
	printf(",\"%s\":{\"cc\":\"%.*s\",\"bytes\":%u,\"wrong_bytes\":%u,\"completed\":%u,\"tcp_"
	       "bytes\":%llu,\"syn_data\":%s}",
	       name, NAME_BYTES, cc, end->got, end->wrong, end->completed,
	       (unsigned long long)info.tcpi_bytes_acked,
	       info.tcpi_options & TCPI_OPT_SYN_DATA ? "true" : "false");
}

/* ---- many at once */

static void enter(const char *netns)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

struct incast {
	uint32_t flows, bytes;
	struct end *senders, *receivers;
	uint32_t whole; /* receivers that have it all */
	uint64_t began_ns, first_ns,
		last_ns; /* the last two: of a receiver that got its last byte */
};

static void watch(int epoll, int fd, uint32_t events, uint32_t number)
{
	struct epoll_event event = { .events = events | EPOLLET, .data.u32 = number };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void open_all(struct incast *in, const char *cc, char **where)
{
	int listener;

	enter(where[1]);
	listener = make_listener("plain", cc);
	enter(where[0]);
	server.sin_addr.s_addr = inet_addr(where[2]);
	for (uint32_t i = 0; i < in->flows; i++) {
		in->senders[i].fd = make_socket("plain", cc);
		if (connect(in->senders[i].fd, (const void *)&server, sizeof(server)))
			die("connect");
		in->receivers[i].fd = accept(listener, NULL, NULL);
		if (in->receivers[i].fd < 0)
			die("accept");
	}
}

static void note_received(struct incast *in, struct end *receiver)
{
	while (receive_some(receiver))
		;
	if (receiver->got != in->bytes || receiver->completed)
		return;
	receiver->completed = 1;
	in->last_ns = now_ns();
	if (!in->whole++)
		in->first_ns = in->last_ns;
}

/* Senders have the numbers from 0 on, receivers those behind. */
static void transfer_all(struct incast *in)
{
	struct epoll_event events[64];
	int epoll = epoll_create1(0), n;

	in->began_ns = now_ns();
	for (uint32_t i = 0; i < in->flows; i++) {
		watch(epoll, in->senders[i].fd, EPOLLOUT, i);
		watch(epoll, in->receivers[i].fd, EPOLLIN, in->flows + i);
	}
	while (in->whole < in->flows) {
		n = epoll_wait(epoll, events, 64, INCAST_WAIT_MS);
		if (n <= 0) {
			errno = ETIMEDOUT;
			die("incast");
		}
		for (int i = 0; i < n; i++) {
			uint32_t number = events[i].data.u32;

			if (number >= in->flows)
				note_received(in, &in->receivers[number - in->flows]);
			else
				while (send_some(&in->senders[number], in->bytes))
					;
		}
	}
}

static void print_incast(const char *cc, const struct incast *in)
{
	uint64_t wrong = 0, resent = 0, sent = 0, windows = 0;

	for (uint32_t i = 0; i < in->flows; i++) {
		struct tcp_info info = {};

		getsockopt(in->senders[i].fd, IPPROTO_TCP, TCP_INFO, &info,
			   &(socklen_t){ sizeof(info) });
		wrong += in->receivers[i].wrong;
		resent += info.tcpi_total_retrans;
		sent += info.tcpi_data_segs_out;
		windows += info.tcpi_snd_cwnd;
	}
	printf("{\"incast\":\"%s\",\"flows\":%u,\"bytes\":%u,\"whole\":%u,\"wrong_bytes\":%llu,",
	       cc, in->flows, in->bytes, in->whole, (unsigned long long)wrong);
	printf("\"sent\":%llu,\"resent\":%llu,\"cwnd\":%.1f,\"first_s\":%.3f,\"last_s\":%.3f}\n",
	       (unsigned long long)sent, (unsigned long long)resent, (double)windows / in->flows,
	       (in->first_ns - in->began_ns) / 1e9, (in->last_ns - in->began_ns) / 1e9);
}

static int incast(const char *cc, char **argv)
{
	struct incast in = { .flows = strtoul(argv[0], NULL, 10),
			     .bytes = strtoul(argv[1], NULL, 10) };
	struct rlimit files = { 2 * in.flows + 64, 2 * in.flows + 64 };

	in.senders = calloc(in.flows, sizeof(*in.senders));
	in.receivers = calloc(in.flows, sizeof(*in.receivers));
	if (!in.senders || !in.receivers || in.bytes > BYTES || setrlimit(RLIMIT_NOFILE, &files))
		die("incast");
	server.sin_addr.s_addr = htonl(INADDR_ANY);
	open_all(&in, cc, argv + 2);
	transfer_all(&in);
	print_incast(cc, &in);
	return 0;
}

int main(int argc, char **argv)
{
	struct end ends[2] = {};
	const char *kind, *cc;
	int listener;

	if (argc != (argc > 1 && !strcmp(argv[1], "incast") ? 8 : 4))
		return 1;
	kind = argv[1];
	cc = argv[2];
	for (uint32_t i = 0; i < sizeof(stream); i++)
		stream[i] = (i % PERIOD + 1) * 0x9e3779b1u >> 24;
	server.sin_port = htons(PORT);
	if (argc == 8)
		return incast(cc, argv + 3);
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = make_listener(kind, cc);
	ends[0].fd = make_socket(kind, cc);
	begin(kind, listener, ends);
	transfer(ends, BYTES / 2);
	if (!strcmp(kind, "repair"))
		ends[0].fd = replace(ends[0].fd, cc);
	if (!strcmp(kind, "sockmap"))
		redirect(ends);
	transfer(ends, BYTES / 4 * 3);
	if (system(argv[3]))
		return 1;
	transfer(ends, BYTES);
	printf("{\"kind\":\"%s\",\"asked_cc\":\"%s\"", kind, cc);
	print_end("client", &ends[0]);
	print_end("server", &ends[1]);
	printf("}\n");
	return 0;
}
