/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small HTTP server for GET, in the caller's thread. It never waits for a client, and clients that
 * only hold connections do not keep others out: when there are too many, the oldest one of the
 * address that holds most makes room. A new client is never refused, because it may be the one
 * that scrapes, behind the same proxy as the others.
 */
#ifndef TOOLS_HTTP_H
#define TOOLS_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>
#include <sys/socket.h>

#include "web_config.h"

struct MHD_Daemon;

#define HTTP_WAITING 256 /* connections that have not sent a whole request */
#define HTTP_ANSWERS 16 /* at once, each of them with its page in memory */
#define HTTP_PER_ADDRESS 128 /* connections of one address */
#define HTTP_KEPT 4 /* connections that an address which scraped lately keeps */
#define HTTP_KNOWN 4 /* such addresses */
/* The rest are connections that are about to be closed. */
#define HTTP_CONNECTIONS (HTTP_WAITING + HTTP_ANSWERS + 32)

struct http_address {
	const char *text; /* "127.0.0.1:9000", "[::1]:9000" */
	struct sockaddr_storage addr;
	socklen_t len;
};

struct http_page {
	const char *type;
	char *text; /* the server frees it */
	size_t size;
};

/* Makes the page of a path. False: there is none. page->text NULL: it cannot be made now. */
typedef bool (*http_handler)(void *ctx, const char *path, const char *accept,
			     struct http_page *page);

/* An IPv4 address, or the 64 bits of an IPv6 network, of which one host has all addresses. */
struct http_client {
	__u64 high, low;
};

struct http_connection {
	int fd; /* -1: unused */
	bool answered, ending;
	unsigned int status; /* of its answer */
	int same; /* connections of this client */
	struct http_client client;
	__u64 since_ns;
};

struct http {
	struct MHD_Daemon *daemon;
	http_handler handle;
	void *ctx;
	char url[80]; /* "http://127.0.0.1:10227" */
	int listen_fd;
	struct web_config web; /* its first file has no path: none was given */
	/* When its files change: the server that ends its connections, with what it had before. */
	struct MHD_Daemon *ending;
	struct web_config ending_web;
	__u64 looked_ns;
	struct web_stamp seen[WEB_FILES], tried[WEB_FILES];
	struct http_connection connections[HTTP_CONNECTIONS];
	/* Clients that got a whole page lately. Who is here is not displaced by who comes later. */
	struct {
		struct http_client client;
		__u64 at_ns; /* 0: unused */
	} known[HTTP_KNOWN];
};

/* Parser of an option (options.h) whose value is a struct http_address. */
bool http_parse_address(const char *option, const char *s, void *to);

/*
 * Listens at the address; *h must not be moved afterwards. web_config: the file with TLS and
 * passwords, or NULL. Returns an exit status.
 */
int http_open(struct http *h, const struct http_address *address, const char *web_config,
	      http_handler handle, void *ctx);

/* A descriptor that is readable when http_run() has work, and the longest wait for that. */
int http_fd(const struct http *h);
int http_wait_ms(const struct http *h, int most);
void http_run(struct http *h);
void http_close(struct http *h);

#endif
