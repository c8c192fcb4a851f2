/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The server of bbrmon export: addresses, requests of every kind, and clients that take their time.
 * Server and clients are in one thread, so a server that waits for a client would hang here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "cli/err.h"
#include "export/http.h"
#include "kernel/clock.h"

#include "../capture.h"

#define TURNS 500 /* of the server, of at most 10 ms, before a test gives up */

/* ---- addresses */

static bool parses(const char *text, struct http_address *address)
{
	bool done;

	capture_begin();
	done = http_parse_address("--listen", text, address);
	capture_end();
	return done;
}

static void expect_v4(const char *text, const char *host, int port)
{
	struct http_address a;
	struct sockaddr_in *in = (struct sockaddr_in *)&a.addr;

	assert_true(parses(text, &a));
	assert_int_equal(a.addr.ss_family, AF_INET);
	assert_int_equal(a.len, sizeof(*in));
	assert_int_equal(in->sin_addr.s_addr, inet_addr(host));
	assert_int_equal(ntohs(in->sin_port), port);
	assert_string_equal(a.text, text);
}

static void expect_v6(const char *text, const char *host, int port, unsigned int scope)
{
	struct http_address a;
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)&a.addr;
	struct in6_addr want;

	assert_true(parses(text, &a));
	assert_int_equal(inet_pton(AF_INET6, host, &want), 1);
	assert_int_equal(a.addr.ss_family, AF_INET6);
	assert_int_equal(a.len, sizeof(*in));
	assert_memory_equal(&in->sin6_addr, &want, sizeof(want));
	assert_int_equal(ntohs(in->sin6_port), port);
	assert_int_equal(in->sin6_scope_id, scope);
}

static void addresses_that_are_taken(void **state)
{
	(void)state;
	expect_v4("127.0.0.1:9000", "127.0.0.1", 9000);
	expect_v4("0.0.0.0:0", "0.0.0.0", 0);
	expect_v4("10.1.2.3:65535", "10.1.2.3", 65535);
	expect_v6("[::1]:9000", "::1", 9000, 0);
	expect_v6("[::]:0", "::", 0, 0);
	expect_v6("[fe80::1%lo]:80", "fe80::1", 80, if_nametoindex("lo"));
}

static void addresses_that_are_none(void **state)
{
	static const char *const wrong[] = {
		"",
		":",
		"9000",
		":9000",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:65536",
		"127.0.0.1:99999999999999999999999",
		"127.0.0.1:-1",
		"127.0.0.1: 80",
		"127.0.0.1:80x",
		"127.0.0.1:0x50",
		"127.0.0:80",
		"127.0.0.256:80",
		"localhost:80",
		"::1:80",
		"::1",
		"[::1]",
		"[::1]80",
		"[]:80",
		"[::1:80",
		"::1]:80",
		"[fe80::1%no_such]:80",
		"[::g]:80",
		"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80",
	};
	struct http_address a;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char begin[128];

		if (parses(wrong[i], &a))
			fail_msg("taken: %s", wrong[i]);
		snprintf(begin, sizeof(begin), "--listen %s: ", wrong[i]);
		assert_non_null(strstr(captured_messages(), begin));
	}
}

/* ---- a server and its clients */

static struct http server;
static char accepted[64]; /* the Accept of the last request */

static bool handle(void *ctx, const char *path, const char *accept, struct http_page *page)
{
	assert_ptr_equal(ctx, &accepted);
	snprintf(accepted, sizeof(accepted), "%s", accept);
	if (!strcmp(path, "/none"))
		return false;
	page->type = "text/plain; version=1";
	if (!strcmp(path, "/big")) {
		page->size = 4 << 20;
		page->text = malloc(page->size);
		memset(page->text, 'x', page->size);
	} else if (strcmp(path, "/no-memory")) {
		page->text = strdup(path);
		page->size = strlen(path);
	}
	return true;
}

static int open_at(const char *text, struct http *h)
{
	struct http_address a;
	int ret;

	assert_true(http_parse_address("--listen", text, &a));
	capture_begin();
	ret = http_open(h, &a, NULL, handle, &accepted);
	capture_end();
	return ret;
}

static int begin(void **state)
{
	(void)state;
	return open_at("127.0.0.1:0", &server);
}

static int end(void **state)
{
	(void)state;
	http_close(&server);
	return 0;
}

static int connect_to(const struct http *h)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) },
				  .sin_port = htons(atoi(strrchr(h->url, ':') + 1)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void turn(void)
{
	struct pollfd fd = { .fd = http_fd(&server), .events = POLLIN };

	poll(&fd, 1, http_wait_ms(&server, 10));
	http_run(&server);
}

static char answer[8 << 20];

/* Reads until the server closes. Returns how much; -1: it does not close. */
static ssize_t read_answer(int fd)
{
	size_t n = 0;

	for (int i = 0; i < TURNS; i++) {
		ssize_t got;

		turn();
		while ((got = recv(fd, answer + n, sizeof(answer) - 1 - n, MSG_DONTWAIT)) > 0)
			n += got;
		answer[n] = 0;
		if (!got)
			return n;
	}
	return -1;
}

static const char *ask(const char *request)
{
	int fd = connect_to(&server);

	send_text(fd, request);
	assert_true(read_answer(fd) >= 0);
	close(fd);
	return answer;
}

static void expect_status(const char *status)
{
	char line[64];

	snprintf(line, sizeof(line), "HTTP/1.1 %s\r\n", status);
	if (strncmp(answer, line, strlen(line)))
		fail_msg("not %s, but: %.60s", status, answer);
}

static const char *body(void)
{
	const char *blank = strstr(answer, "\r\n\r\n");

	assert_non_null(blank);
	return blank + 4;
}

static void a_page(void **state)
{
	(void)state;
	ask("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: a/b;q=0.5\r\n\r\n");
	expect_status("200 OK");
	assert_non_null(strstr(answer, "\r\nContent-Type: text/plain; version=1\r\n"));
	assert_non_null(strcasestr(answer, "\r\nConnection: close\r\n"));
	assert_non_null(strstr(answer, "\r\nContent-Length: 8\r\n"));
	assert_string_equal(body(), "/metrics");
	assert_string_equal(accepted, "a/b;q=0.5");
	ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"); /* accepts anything */
	assert_string_equal(accepted, "");
}

static void only_the_head_of_a_page(void **state)
{
	(void)state;
	ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("200 OK");
	assert_non_null(strstr(answer, "\r\nContent-Length: 8\r\n"));
	assert_string_equal(body(), "");
}

static void requests_that_are_refused(void **state)
{
	static char long_request[64 << 10];

	(void)state;
	ask("GET /none HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("404 Not Found");
	assert_string_equal(body(), "not found: the metrics are at /metrics\n");
	ask("GET /no-memory HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("500 Internal Server Error");
	ask("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
	expect_status("405 Method Not Allowed");
	assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD\r\n"));
	ask("DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("405 Method Not Allowed");
	memset(long_request, 'x', sizeof(long_request) - 1);
	memcpy(long_request, "GET /", 5);
	ask(long_request); /* without an end, and longer than its memory */
	assert_null(strstr(answer, " 200 "));
	ask("no HTTP\r\n\r\n");
	assert_null(strstr(answer, " 200 "));
	/* It still serves. */
	ask("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("200 OK");
}

static void a_large_page_to_a_slow_client(void **state)
{
	int slow = connect_to(&server);

	(void)state;
	send_text(slow, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	for (int i = 0; i < 10; i++)
		turn(); /* it does not read */
	ask("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("200 OK");
	assert_true(read_answer(slow) > 4 << 20);
	expect_status("200 OK");
	assert_int_equal(strlen(body()), 4 << 20);
	close(slow);
}

static void a_client_that_says_nothing(void **state)
{
	int silent = connect_to(&server), half = connect_to(&server);

	(void)state;
	send_text(half, "GET /metrics HT");
	for (int i = 0; i < 10; i++)
		turn();
	ask("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("200 OK");
	send_text(half, "TP/1.1\r\nHost: x\r\n\r\n");
	assert_true(read_answer(half) > 0);
	expect_status("200 OK");
	close(half);
	close(silent);
}

static int open_connections(void)
{
	int n = 0;

	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		n += server.connections[i].fd >= 0;
	return n;
}

static void turns(int n)
{
	while (n--)
		turn();
}

static bool is_open(int fd)
{
	char byte;
	ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return got > 0 || (got < 0 && errno == EAGAIN);
}

static int connect_from(unsigned int host)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = { htonl(host) } };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) },
				  .sin_port = htons(atoi(strrchr(server.url, ':') + 1)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void close_all(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
	for (int i = 0; i < TURNS && open_connections(); i++)
		turn();
	assert_int_equal(open_connections(), 0);
}

/* The oldest makes room, and the newest is answered. */
static void more_connections_of_an_address_than_it_may_have(void **state)
{
	int silent[HTTP_PER_ADDRESS];

	(void)state;
	for (int i = 0; i < HTTP_PER_ADDRESS; i++)
		silent[i] = connect_to(&server);
	turns(30);
	assert_int_equal(open_connections(), HTTP_PER_ADDRESS);
	ask("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("200 OK");
	turns(3);
	assert_false(is_open(silent[0]));
	for (int i = 1; i < HTTP_PER_ADDRESS; i++)
		assert_true(is_open(silent[i]));
	close_all(silent, HTTP_PER_ADDRESS);
}

#define HOST(n) (INADDR_LOOPBACK + 256 * (1 + (n)))

/* Who holds most makes room first; with one connection each, the oldest one. */
static void more_connections_than_there_may_be(void **state)
{
	int silent[HTTP_WAITING], more[3];

	(void)state;
	for (int i = 0; i < HTTP_WAITING; i++) {
		silent[i] = connect_from(HOST(i < 10 ? i : i == 100 || i == 200 ? 100 : i));
		turn();
	}
	turns(30);
	assert_int_equal(open_connections(), HTTP_WAITING);
	for (int i = 0; i < 3; i++) {
		more[i] = connect_from(HOST(1000 + i));
		turns(3);
		assert_true(is_open(more[i]));
		assert_int_equal(open_connections(), HTTP_WAITING);
		assert_int_equal(is_open(silent[0]), i < 1);
		assert_int_equal(is_open(silent[1]), i < 2);
		assert_false(is_open(silent[100]));
	}
	close_all(more, 3);
	close_all(silent, HTTP_WAITING);
}

/* A client that was answered keeps its place while strangers come, even with connections that wait. */
static void a_known_client(void **state)
{
	int known, strangers[HTTP_WAITING + 20];

	(void)state;
	ask("GET /x HTTP/1.1\r\nHost: x\r\n\r\n"); /* from 127.0.0.1 */
	known = connect_to(&server);
	turns(3);
	for (int i = 0; i < HTTP_WAITING + 20; i++) {
		strangers[i] = connect_from(HOST(i));
		turn();
	}
	turns(30);
	assert_true(is_open(known));
	assert_false(is_open(strangers[0]));
	send_text(known, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(read_answer(known) > 0);
	expect_status("200 OK");
	close(known);
	close_all(strangers, HTTP_WAITING + 20);
}

/* A client keeps its place for ten minutes after its last answer. One that was refused gets none. */
static void who_is_known(void **state)
{
	(void)state;
	ask("GET /none HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_int_equal(server.known[0].at_ns + server.known[1].at_ns + server.known[2].at_ns +
				 server.known[3].at_ns,
			 0);
	for (int i = 0; i <= HTTP_KNOWN; i++) {
		int fd = connect_from(HOST(i));

		send_text(fd, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_true(read_answer(fd) > 0);
		close(fd);
	}
	/* The last one found no place. */
	for (int i = 0; i < HTTP_KNOWN; i++) {
		assert_true(server.known[i].at_ns);
		assert_int_not_equal((__u32)server.known[i].client.low, htonl(HOST(HTTP_KNOWN)));
		server.known[i].at_ns -= 601 * NS_PER_S;
	}
	ask("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
	for (int i = 0; i < HTTP_KNOWN; i++)
		if ((__u32)server.known[i].client.low == htonl(INADDR_LOOPBACK))
			return;
	fail_msg("a place that was not used for long is not given away");
}

/* Those that do not take their page cannot take the memory either, nor the place of one that does. */
static void more_clients_that_do_not_read(void **state)
{
	int deaf[3 * HTTP_ANSWERS], size = 1, answering = 0;

	(void)state;
	for (int i = 0; i < 3 * HTTP_ANSWERS; i++) {
		deaf[i] = connect_to(&server);
		setsockopt(deaf[i], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
		send_text(deaf[i], "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
		turns(2);
	}
	turns(10);
	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		answering += server.connections[i].fd >= 0;
	assert_int_equal(answering, HTTP_ANSWERS);
	ask("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_status("200 OK");
	assert_int_equal(strlen(body()), 4 << 20);
	close_all(deaf, 3 * HTTP_ANSWERS);
}

/* Clients of one address that say nothing do not cut off an answer to this address. */
static void an_answer_under_way(void **state)
{
	int silent[HTTP_PER_ADDRESS + 20], slow = connect_to(&server);

	(void)state;
	send_text(slow, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	turns(5);
	for (int i = 0; i < HTTP_PER_ADDRESS + 20; i++) {
		silent[i] = connect_to(&server);
		turn();
	}
	turns(5);
	assert_int_equal(open_connections(), HTTP_PER_ADDRESS);
	assert_true(read_answer(slow) > 4 << 20);
	expect_status("200 OK");
	assert_int_equal(strlen(body()), 4 << 20);
	close(slow);
	close_all(silent, HTTP_PER_ADDRESS + 20);
}

static void pass_time(__u64 seconds)
{
	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		server.connections[i].since_ns -= seconds * NS_PER_S;
	turns(2);
}

/* However slowly it sends or reads: its time ends. */
static void a_connection_that_lasts_too_long(void **state)
{
	int half = connect_to(&server), slow = connect_to(&server), size = 1;

	(void)state;
	setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	send_text(half, "GET");
	send_text(slow, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	turns(10);
	assert_int_equal(open_connections(), 2);
	pass_time(2);
	assert_int_equal(open_connections(), 2);
	pass_time(2);
	assert_false(is_open(half));
	assert_int_equal(open_connections(), 1);
	pass_time(5);
	assert_int_equal(open_connections(), 1);
	pass_time(2);
	assert_int_equal(open_connections(), 0);
	close(slow);
	close(half);
}

static void where_it_cannot_listen(void **state)
{
	struct http other;

	(void)state;
	assert_memory_equal(server.url, "http://127.0.0.1:", strlen("http://127.0.0.1:"));
	assert_int_equal(open_at(server.url + strlen("http://"), &other), EXIT_REFUSED);
	assert_non_null(strstr(captured_messages(), "Address already in use\n"
						    "  another program uses this port"));
	/* Of documentation: no machine has it. */
	assert_int_equal(open_at("192.0.2.1:0", &other), EXIT_REFUSED);
	assert_non_null(strstr(captured_messages(), "choose an address of this machine"));
}

static void the_wait_is_as_long_as_requested(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(http_wait_ms(&server, 7), 7);
	fd = connect_to(&server);
	for (int i = 0; i < 10; i++)
		turn();
	/* Then it looks whether the client is still silent. */
	assert_in_range(http_wait_ms(&server, 1000000), 1, 6000);
	close(fd);
}

#define TEST(name) cmocka_unit_test(name)
#define SERVED(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(addresses_that_are_taken),
		TEST(addresses_that_are_none),
		SERVED(a_page),
		SERVED(only_the_head_of_a_page),
		SERVED(requests_that_are_refused),
		SERVED(a_large_page_to_a_slow_client),
		SERVED(a_client_that_says_nothing),
		SERVED(more_connections_of_an_address_than_it_may_have),
		SERVED(more_connections_than_there_may_be),
		SERVED(a_known_client),
		SERVED(who_is_known),
		SERVED(more_clients_that_do_not_read),
		SERVED(an_answer_under_way),
		SERVED(a_connection_that_lasts_too_long),
		SERVED(where_it_cannot_listen),
		SERVED(the_wait_is_as_long_as_requested),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	capture_free();
	return failed;
}
