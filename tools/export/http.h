/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small HTTP server for GET, in the caller's thread. It never waits for a client: a slow one
 * occupies a connection for some seconds, and costs nothing else.
 */
#ifndef TOOLS_HTTP_H
#define TOOLS_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>
#include <sys/socket.h>

struct MHD_Daemon;

#define HTTP_CONNECTIONS 16 /* at once; others wait for one of them to end */

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

struct http {
	struct MHD_Daemon *daemon;
	http_handler handle;
	void *ctx;
	char url[80]; /* "http://127.0.0.1:10227" */
	/* Open connections, and since when: none may last long. */
	struct {
		int fd; /* -1: unused */
		__u64 since_ns;
	} connections[HTTP_CONNECTIONS];
};

/* Parser of an option (options.h) whose value is a struct http_address. */
bool http_parse_address(const char *option, const char *s, void *to);

/* Listens at the address; *h must not be moved afterwards. Returns an exit status. */
int http_open(struct http *h, const struct http_address *address, http_handler handle, void *ctx);

/* A descriptor that is readable when http_run() has work, and the longest wait for that. */
int http_fd(const struct http *h);
int http_wait_ms(const struct http *h, int most);
void http_run(struct http *h);
void http_close(struct http *h);

#endif
