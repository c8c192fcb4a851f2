/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The web configuration file that Prometheus' exporters share: TLS, and users with passwords. An
 * unknown key is refused, because ignoring it could leave open what it should close.
 */
#ifndef TOOLS_WEB_CONFIG_H
#define TOOLS_WEB_CONFIG_H

#include <stdbool.h>

#include <linux/types.h>

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

#endif
