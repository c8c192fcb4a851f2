// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <net/if.h>
#include <netinet/in.h>

#include "cli/err.h"
#include "http.h"
#include "kernel/clock.h"

#define IDLE_S 5u /* that a client may do nothing at all */
#define WAIT_NS (3 * NS_PER_S) /* for a whole request, from the beginning of the connection */
#define LIFE_NS (10 * NS_PER_S) /* of a connection: Prometheus does not wait longer for an answer */
#define KNOWN_NS (600 * NS_PER_S) /* that a client is known since its last answer */
#define REQUEST_MEMORY (16u << 10) /* for the head of a request; more is refused */
#define BACKLOG 1024 /* that are not accepted yet: when it is full, a client tries again in 1 s */
#define ENDING_MS 20 /* between runs of a server that ends */
#define RUNS 32 /* of the server in one turn; each accepts up to ten connections */

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
	err_value(option, s, why);
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

/* A socket, or -1 after printing why there is none. */
static int listen_at(const struct http_address *address)
{
	int fd = socket(address->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, error;

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    !bind(fd, (const struct sockaddr *)&address->addr, address->len) &&
	    !listen(fd, BACKLOG))
		return fd;
	error = errno;
	if (fd >= 0)
		close(fd);
	err("--listen %s: cannot listen on this address: %s", address->text, strerror(error));
	if (error == EADDRINUSE)
		remedy("another program uses this port (ss -tlnp shows it); choose another: "
		       "--listen ADDR:PORT, with port 0 for any free one");
	if (error == EADDRNOTAVAIL)
		remedy("choose an address of this machine (ip address lists them)");
	return -1;
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
		 addr.ss_family == AF_INET6 ? "http%s://[%s]:%s" : "http%s://%s:%s",
		 h->web.has_tls ? "s" : "", host, port);
}

static struct http_client client_of(struct MHD_Connection *connection)
{
	const struct sockaddr *addr =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
			->client_addr;
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;
	struct http_client client = {};

	if (addr->sa_family == AF_INET)
		client.low = 1ull << 32 | ((const struct sockaddr_in *)addr)->sin_addr.s_addr;
	else if (IN6_IS_ADDR_V4MAPPED(in6))
		client.low = 1ull << 32 | in6->s6_addr32[3];
	else
		memcpy(&client.high, in6, sizeof(client.high));
	return client;
}

static bool is_same(const struct http_client *a, const struct http_client *b)
{
	return a->high == b->high && a->low == b->low;
}

static bool is_known(const struct http *h, const struct http_client *client, __u64 now)
{
	for (int i = 0; i < HTTP_KNOWN; i++)
		if (h->known[i].at_ns && now - h->known[i].at_ns < KNOWN_NS &&
		    is_same(&h->known[i].client, client))
			return true;
	return false;
}

static void remember(struct http *h, const struct http_client *client, __u64 now)
{
	int place = -1;

	for (int i = 0; i < HTTP_KNOWN; i++) {
		if (h->known[i].at_ns && is_same(&h->known[i].client, client)) {
			place = i;
			break;
		}
		if (!h->known[i].at_ns || now - h->known[i].at_ns >= KNOWN_NS)
			place = i;
	}
	if (place < 0)
		return;
	h->known[place].client = *client;
	h->known[place].at_ns = now;
}

/* The other connections of its client count it or, with -1, count it no more. */
static void count(struct http *h, struct http_connection *c, int n)
{
	c->same = 0;
	for (int i = 0; i < HTTP_CONNECTIONS; i++) {
		struct http_connection *other = &h->connections[i];

		if (other == c || other->fd < 0 || other->ending ||
		    !is_same(&other->client, &c->client))
			continue;
		other->same += n;
		c->same = other->same;
	}
	if (!c->same)
		c->same = 1;
}

/* The server closes it in its next run. Nothing of it stays in the kernel, as it would after a FIN. */
static void end(struct http *h, struct http_connection *c)
{
	const struct linger at_once = { .l_onoff = 1 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	shutdown(c->fd, SHUT_RDWR);
	c->ending = true;
	count(h, c, -1);
}

/*
 * Ends the oldest connection, of those that are answered or not, of this client; NULL: of the one
 * that has most.
 */
static void end_one(struct http *h, bool answered, const struct http_client *client)
{
	struct http_connection *victim = NULL;
	__u64 now = now_ns();
	int most = 0;

	for (int i = 0; i < HTTP_CONNECTIONS; i++) {
		struct http_connection *c = &h->connections[i];
		int n = c->same;

		if (c->fd < 0 || c->ending || c->answered != answered ||
		    (client && !is_same(&c->client, client)))
			continue;
		if (is_known(h, &c->client, now))
			n -= HTTP_KEPT;
		if (!victim || n > most || (n == most && c->since_ns < victim->since_ns)) {
			victim = c;
			most = n;
		}
	}
	if (victim)
		end(h, victim);
}

static int how_many(const struct http *h, bool answered)
{
	int n = 0;

	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		n += h->connections[i].fd >= 0 && !h->connections[i].ending &&
		     h->connections[i].answered == answered;
	return n;
}

static void begin(struct http *h, struct MHD_Connection *connection, void **socket)
{
	int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	struct http_connection *c = h->connections;

	*socket = NULL;
	while (c->fd >= 0) {
		/* Two servers, one of which ends, may have more than that together. */
		if (++c == h->connections + HTTP_CONNECTIONS) {
			shutdown(fd, SHUT_RDWR);
			return;
		}
	}
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->since_ns = now_ns();
	c->client = client_of(connection);
	*socket = c;
	count(h, c, 1);
	if (c->same > HTTP_PER_ADDRESS)
		end_one(h, false, &c->client);
	else if (how_many(h, false) > HTTP_WAITING)
		end_one(h, false, NULL);
}

static void note_connection(void *ctx, struct MHD_Connection *connection, void **socket,
			    enum MHD_ConnectionNotificationCode what)
{
	struct http_connection *c = *socket;
	struct http *h = ctx;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		begin(h, connection, socket);
		return;
	}
	if (!c)
		return;
	if (!c->ending)
		count(h, c, -1);
	c->fd = -1;
}

static struct http_connection *connection_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static void note_answer(void *ctx, struct MHD_Connection *connection, UNUSED void **request,
			enum MHD_RequestTerminationCode how)
{
	struct http_connection *c = connection_of(connection);

	if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK && c && c->status == MHD_HTTP_OK)
		remember(ctx, &c->client, now_ns());
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
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Basic realm=\"bbrmon\"");
	if (status == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	connection_of(connection)->status = status;
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

static bool has_certificate(const struct http *h, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (void *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int status = ~0u;
	int ret;

	if (h->web.client_auth == WEB_CLIENT_ANY)
		return true;
	if (!info)
		return false;
	ret = gnutls_certificate_verify_peers(info->tls_session, &purpose, 1, &status);
	if (ret == GNUTLS_E_NO_CERTIFICATE_FOUND)
		return h->web.client_auth == WEB_CLIENT_VERIFY_IF_GIVEN;
	return !ret && !status;
}

/* Returns MHD_HTTP_OK, or the status to refuse with. */
static unsigned int check_user(struct http *h, struct MHD_Connection *connection)
{
	enum web_answer is = WEB_WRONG;
	char *user, *password = NULL;

	if (!h->web.n_users)
		return MHD_HTTP_OK;
	user = MHD_basic_auth_get_username_password(connection, &password);
	if (user && password) {
		is = web_config_check(&h->web, user, password);
		explicit_bzero(password, strlen(password));
	}
	MHD_free(user);
	MHD_free(password);
	return is == WEB_RIGHT ? MHD_HTTP_OK :
	       is == WEB_LATER ? MHD_HTTP_TOO_MANY_REQUESTS :
				 MHD_HTTP_UNAUTHORIZED;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *connection, const char *path,
			      const char *method, UNUSED const char *version,
			      UNUSED const char *data, UNUSED size_t *data_size,
			      UNUSED void **request)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	struct http_connection *c = connection_of(connection);
	struct http *h = ctx;
	struct http_page page = {};
	unsigned int allowed;

	if (!c)
		return MHD_NO;
	if (!c->answered && !c->ending) {
		if (how_many(h, true) >= HTTP_ANSWERS)
			end_one(h, true, NULL);
		c->answered = true;
	}
	if (!has_certificate(h, connection))
		return send_error(connection, MHD_HTTP_FORBIDDEN,
				  "a certificate of the client is needed\n");
	allowed = check_user(h, connection);
	if (allowed == MHD_HTTP_UNAUTHORIZED)
		return send_error(connection, allowed, "the name or the password is wrong\n");
	if (allowed != MHD_HTTP_OK)
		return send_error(connection, allowed,
				  "too many passwords are being tried: try again\n");
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

/* With its own copy of the listening socket. */
static struct MHD_Daemon *start(struct http *h, const struct web_config *web)
{
	char versions[64];
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, web->files[WEB_CERT].text },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, web->files[WEB_KEY].text },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, versions },
		{ MHD_OPTION_HTTPS_MEM_TRUST, 0, web->files[WEB_CLIENT_CA].text },
		{ MHD_OPTION_END, 0, NULL },
	};
	int fd = fcntl(h->listen_fd, F_DUPFD_CLOEXEC, 0);
	struct MHD_Daemon *daemon;

	if (fd < 0)
		return NULL;
	snprintf(versions, sizeof(versions), "NORMAL:-VERS-ALL%s%s",
		 web->max_version == '3' ? ":+VERS-TLS1.3" : "",
		 web->min_version == '2' ? ":+VERS-TLS1.2" : "");
	if (!web->has_tls)
		tls[0].option = MHD_OPTION_END;
	else if (!web->files[WEB_CLIENT_CA].text)
		tls[3].option = MHD_OPTION_END;
	daemon = MHD_start_daemon(
		MHD_USE_EPOLL | (web->has_tls ? MHD_USE_TLS : 0), 0, NULL, NULL, answer, h,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MEMORY,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, h, MHD_OPTION_NOTIFY_COMPLETED,
		note_answer, h, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, tls,
		MHD_OPTION_END);
	if (!daemon)
		close(fd);
	return daemon;
}

static bool is_loopback(const struct http_address *address)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)&address->addr)->sin6_addr;
	const struct sockaddr_in *in4 = (const struct sockaddr_in *)&address->addr;

	if (address->addr.ss_family == AF_INET)
		return ntohl(in4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(in6) ||
	       (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == IN_LOOPBACKNET);
}

static void warn_of_open_door(const struct http *h, const struct http_address *address)
{
	bool asks = h->web.n_users || h->web.client_auth == WEB_CLIENT_VERIFY;

	if (is_loopback(address) || (h->web.has_tls && asks))
		return;
	err("--listen %s: other machines can connect, and there is no %s\n"
	    "--web-config FILE adds them; see bbrmon(8)",
	    address->text,
	    h->web.has_tls ? "password" :
	    asks	   ? "encryption" :
			     "encryption and no password");
}

int http_open(struct http *h, const struct http_address *address, const char *web_config,
	      http_handler handle, void *ctx)
{
	memset(h, 0, sizeof(*h));
	h->handle = handle;
	h->ctx = ctx;
	for (int i = 0; i < HTTP_CONNECTIONS; i++)
		h->connections[i].fd = -1;
	if (web_config && web_config_read(&h->web, web_config)) {
		web_config_free(&h->web);
		return EXIT_USAGE;
	}
	h->listen_fd = listen_at(address);
	if (h->listen_fd < 0) {
		web_config_free(&h->web);
		return EXIT_REFUSED;
	}
	make_url(h, h->listen_fd);
	h->daemon = start(h, &h->web);
	if (h->daemon) {
		warn_of_open_door(h, address);
		return EXIT_DONE;
	}
	err("--listen %s: cannot start the HTTP server: %s", address->text, strerror(errno));
	close(h->listen_fd);
	web_config_free(&h->web);
	return EXIT_REFUSED;
}

/* The old server ends its connections, each of which lasts some seconds at most. */
static void change_web(struct http *h, struct web_config *web)
{
	struct MHD_Daemon *daemon = start(h, web);

	if (!daemon) {
		err("--web-config %s: cannot start the HTTP server: %s",
		    web->files[WEB_CONFIG].path, strerror(errno));
		web_config_free(web);
		return;
	}
	web_config_inherit(web, &h->web);
	close(MHD_quiesce_daemon(h->daemon));
	h->ending = h->daemon;
	h->ending_web = h->web;
	h->daemon = daemon;
	h->web = *web;
}

/* Reads the files again when they have changed, and stayed so for a second: there are several. */
static void look_at_files(struct http *h, __u64 now)
{
	struct web_stamp stamps[WEB_FILES];
	struct web_config web;
	bool same = true;

	if (!h->web.files[WEB_CONFIG].path || h->ending || now - h->looked_ns < NS_PER_S)
		return;
	h->looked_ns = now;
	web_config_look(&h->web, stamps);
	for (int i = 0; i < WEB_FILES; i++)
		same = same && !memcmp(&stamps[i], &h->web.files[i].stamp, sizeof(stamps[i]));
	if (same || memcmp(stamps, h->seen, sizeof(stamps)) ||
	    !memcmp(stamps, h->tried, sizeof(stamps))) {
		memcpy(h->seen, stamps, sizeof(stamps));
		return;
	}
	memcpy(h->tried, stamps, sizeof(stamps));
	if (!web_config_read(&web, h->web.files[WEB_CONFIG].path)) {
		change_web(h, &web);
		return;
	}
	remedy("what was read before is still used");
	web_config_free(&web);
}

int http_fd(const struct http *h)
{
	return MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int http_wait_ms(const struct http *h, int most)
{
	unsigned MHD_LONG_LONG ms;

	if (h->ending && most > ENDING_MS)
		most = ENDING_MS;
	return MHD_get_timeout(h->daemon, &ms) == MHD_YES && ms < (unsigned int)most ? (int)ms :
										       most;
}

void http_run(struct http *h)
{
	const union MHD_DaemonInfo *info;
	__u64 now = now_ns();

	for (int i = 0; i < HTTP_CONNECTIONS; i++) {
		struct http_connection *c = &h->connections[i];

		if (c->fd >= 0 && !c->ending &&
		    now - c->since_ns > (c->answered ? LIFE_NS : WAIT_NS))
			end(h, c);
	}
	look_at_files(h, now);
	if (h->ending) {
		MHD_run(h->ending);
		info = MHD_get_daemon_info(h->ending, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
	}
	if (h->ending && !info->num_connections) {
		MHD_stop_daemon(h->ending);
		web_config_free(&h->ending_web);
		h->ending = NULL;
	}
	for (int i = 0; i < RUNS; i++) {
		struct pollfd fd = { .fd = http_fd(h), .events = POLLIN };

		if (i && http_wait_ms(h, 1) && poll(&fd, 1, 0) <= 0)
			break;
		MHD_run(h->daemon);
	}
}

void http_close(struct http *h)
{
	MHD_stop_daemon(h->daemon);
	if (h->ending)
		MHD_stop_daemon(h->ending);
	close(h->listen_fd);
	web_config_free(&h->web);
	web_config_free(&h->ending_web);
}
