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

/*
 * The web configuration file that Prometheus' exporters share: TLS, and users with passwords. An
 * unknown key is refused, because ignoring it could leave open what it should close.
 */
enum web_client_auth {
	WEB_CLIENT_ANY, /* needs no certificate */
	WEB_CLIENT_VERIFY_IF_GIVEN,
	WEB_CLIENT_VERIFY,
};

/* A file, and what it was when it was read. */
struct web_file {
	char *path, *text;
	struct web_stamp {
		__u64 device, inode, size;
		__s64 changed_ns;
	} stamp;
};

enum {
	WEB_CONFIG,
	WEB_CERT,
	WEB_KEY,
	WEB_CLIENT_CA,
	WEB_FILES
};

struct web_user {
	char *name, *hash;
	char *proven; /* the last right password, so that it need not be hashed again */
};

struct web_config {
	struct web_file files[WEB_FILES]; /* path NULL: not used */
	enum web_client_auth client_auth;
	char min_version, max_version; /* '2', '3': TLS 1.2, 1.3 */
	bool has_tls;
	struct web_user *users;
	int n_users;
	__u64 rest_until_ns; /* no password is hashed before this time */
};

/* Reads the file and those that it names. Returns an exit status. web_config_free() in any case. */
int web_config_read(struct web_config *w, const char *path);
void web_config_free(struct web_config *w);

/* Takes over the passwords that are proven, for users whose hash is the same. */
void web_config_inherit(struct web_config *w, const struct web_config *from);

/* What the files are now: one that is missing has only zeros. */
void web_config_look(const struct web_config *w, struct web_stamp stamps[WEB_FILES]);

enum web_answer {
	WEB_RIGHT,
	WEB_WRONG,
	WEB_LATER, /* too many wrong passwords have been tried just now */
};

enum web_answer web_config_check(struct web_config *w, const char *user, const char *password);

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
