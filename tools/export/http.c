// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <microhttpd.h>
#include <net/if.h>

#include "kernel/clock.h"
#include "cli/err.h"
#include "http.h"

#define IDLE_S 5u /* that a client may be silent */
#define LIFE_NS \
	(20 * NS_PER_S) /* that a connection may last, if a client sends a byte now and then */
#define REQUEST_MEMORY (16u << 10) /* for the head of a request; more is refused */
#define BACKLOG 16

/* "127.0.0.1:9000", "[::1]:9000": the address without its brackets, and the port. */
static bool split(const char *address, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t len = colon ? (size_t)(colon - address) : 0;
	bool bracket = len > 2 && address[0] == '[' && address[len - 1] == ']';

	if (bracket) {
		address++;
		len -= 2;
	}
	if (!len || len >= size || (!bracket && memchr(address, ':', len)))
		return false;
	memcpy(host, address, len);
	host[len] = 0;
	*port = colon + 1;
	return **port;
}

static bool refuse_address(const char *option, const char *s, const char *why)
{
	err("%s %s: %s", option, s, why);
	remedy("give an address of this machine with a port: 127.0.0.1:10227, [::1]:10227");
	return false;
}

/* Numbers only, so that nothing is looked up: "127.0.0.1", "::1", "fe80::1%eth0". */
static bool parse_host(char *host, __u16 port, struct http_address *address)
{
	struct sockaddr_in *in4 = (struct sockaddr_in *)&address->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address->addr;
	char *interface;

	memset(&address->addr, 0, sizeof(address->addr));
	if (inet_pton(AF_INET, host, &in4->sin_addr) == 1) {
		in4->sin_family = AF_INET;
		in4->sin_port = htons(port);
		address->len = sizeof(*in4);
		return true;
	}
	interface = strchr(host, '%');
	if (interface) {
		*interface++ = 0;
		in6->sin6_scope_id = if_nametoindex(interface);
		if (!in6->sin6_scope_id)
			return false;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	address->len = sizeof(*in6);
	return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
}

bool http_parse_address(const char *option, const char *s, void *to)
{
	struct http_address *address = to;
	const char *port;
	char host[64];

	if (!split(s, host, sizeof(host), &port))
		return refuse_address(option, s, "not ADDRESS:PORT");
	if (strspn(port, "0123456789") != strlen(port) || strtoul(port, NULL, 10) > 65535)
		return refuse_address(option, s, "a port is 0 to 65535");
	if (!parse_host(host, strtoul(port, NULL, 10), address))
		return refuse_address(option, s, "not an address");
	address->text = s;
	return true;
}

/* A socket, or -errno. */
static int listen_at(const struct http_address *address)
{
	int fd = socket(address->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, error;

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    !bind(fd, (const struct sockaddr *)&address->addr, address->len) &&
	    !listen(fd, BACKLOG))
		return fd;
	error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

static int refuse_listening(const struct http_address *address, int error)
{
	err("--listen %s: cannot listen on this address: %s", address->text, strerror(-error));
	if (error == -EADDRINUSE)
		remedy("another program uses this port (ss -tlnp shows it); choose another: "
		       "--listen ADDR:PORT, with port 0 for any free one");
	if (error == -EADDRNOTAVAIL)
		remedy("choose an address of this machine (ip address lists them)");
	return EXIT_REFUSED;
}

static void make_url(struct http *h, int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	char host[64], port[8];

	h->url[0] = 0;
	if (getsockname(fd, (struct sockaddr *)&addr, &len) ||
	    getnameinfo((struct sockaddr *)&addr, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(h->url, sizeof(h->url),
		 addr.ss_family == AF_INET6 ? "http://[%s]:%s" : "http://%s:%s", host, port);
}

static enum MHD_Result send_page(struct MHD_Connection *connection, unsigned int status,
				 const struct http_page *page)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(page->size, page->text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result done;

	if (!response) {
		free(page->text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page->type);
	/* One request per connection: none of them has to last. */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	done = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return done;
}

static enum MHD_Result send_error(struct MHD_Connection *connection, unsigned int status,
				  const char *text)
{
	struct http_page page = { "text/plain; charset=utf-8", strdup(text), strlen(text) };

	return page.text ? send_page(connection, status, &page) : MHD_NO;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *data_size, void **request)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	struct http *h = ctx;
	struct http_page page = {};

	(void)version;
	(void)data;
	(void)data_size;
	(void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return send_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				  "only GET and HEAD are allowed\n");
	if (!h->handle(h->ctx, path, accept ? accept : "", &page))
		return send_error(connection, MHD_HTTP_NOT_FOUND,
				  "not found: the metrics are at /metrics\n");
	if (!page.text)
		return send_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return send_page(connection, MHD_HTTP_OK, &page);
}

static int fd_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void replace_fd(struct http *h, int fd, int by)
{
	for (int i = 0; i < HTTP_CONNECTIONS; i++) {
		if (h->connections[i].fd != fd)
			continue;
		h->connections[i].fd = by;
		h->connections[i].since_ns = now_ns();
		return;
	}
}

static void note_connection(void *ctx, struct MHD_Connection *connection, void **socket,
			    enum MHD_ConnectionNotificationCode what)
{
	(void)socket;
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		replace_fd(ctx, -1, fd_of(connection));
	else
		replace_fd(ctx, fd_of(connection), -1);
}

int http_open(struct http *h, const struct http_address *address, http_handler handle, void *ctx)
{
	int fd;

	fd = listen_at(address);
	if (fd < 0)
		return refuse_listening(address, fd);
	memset(h, 0, sizeof(*h));
	h->handle = handle;
	h->ctx = ctx;
	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		h->connections[i].fd = -1;
	make_url(h, fd);
	h->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, answer, h, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)HTTP_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)REQUEST_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, note_connection, h,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (h->daemon)
		return EXIT_DONE;
	err("--listen %s: cannot start the HTTP server: %s", address->text, strerror(errno));
	close(fd);
	return EXIT_REFUSED;
}

int http_fd(const struct http *h)
{
	return MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int http_wait_ms(const struct http *h, int most)
{
	unsigned MHD_LONG_LONG ms;

	return MHD_get_timeout(h->daemon, &ms) == MHD_YES && ms < (unsigned int)most ? (int)ms :
										       most;
}

void http_run(struct http *h)
{
	__u64 now = now_ns();

	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		if (h->connections[i].fd >= 0 && now - h->connections[i].since_ns > LIFE_NS)
			shutdown(h->connections[i].fd, SHUT_RDWR);
	MHD_run(h->daemon);
}

void http_close(struct http *h)
{
	MHD_stop_daemon(h->daemon);
}
