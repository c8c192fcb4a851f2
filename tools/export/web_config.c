// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <crypt.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include <gnutls/gnutls.h>
#include <sys/stat.h>

#include "cli/err.h"
#include "cli/text.h"
#include "kernel/clock.h"
#include "http.h"

#define FILE_MAX (1 << 20)
#define MAX_COST \
	12 /* of bcrypt: 2^12 rounds take a quarter of a second, in which nothing else is done */
#define HASH_LEN 60
/* A hash is followed by a pause of four times its length: guessing costs a fifth of the time. */
#define REST 4

/* ---- reading */

struct reader {
	struct web_config *w;
	yaml_document_t document;
};

__attribute__((format(printf, 3, 4))) static bool
refuse(const struct reader *r, const yaml_node_t *at, const char *fmt, ...)
{
	char why[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	err("--web-config %s: line %zu: %s", r->w->files[WEB_CONFIG].path, at->start_mark.line + 1,
	    why);
	return false;
}

static bool refuse_file(const struct web_file *file, const char *why)
{
	err("--web-config: cannot read %s: %s", file->path, why);
	return false;
}

static struct web_stamp stamp_of(const struct stat *st)
{
	return (struct web_stamp){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = st->st_size,
		.changed_ns = st->st_ctim.tv_sec * (__s64)NS_PER_S + st->st_ctim.tv_nsec,
	};
}

/* A secret: others should not be able to read it. */
static bool read_file(struct web_file *file, bool secret)
{
	int fd AUTO_CLOSE = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got, n = 0;
	struct stat st;

	if (fd < 0)
		return refuse_file(file, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return refuse_file(file, "it is not a regular file");
	file->stamp = stamp_of(&st);
	if (st.st_size > FILE_MAX)
		return refuse_file(file, "it is larger than 1 MiB");
	file->text = mem_new(1, st.st_size + 2);
	while ((got = read(fd, file->text + n, st.st_size + 1 - n)) > 0)
		n += got;
	if (got < 0)
		return refuse_file(file, strerror(errno));
	if (n > st.st_size)
		return refuse_file(file, "it grows while it is read");
	if (memchr(file->text, 0, n))
		return refuse_file(file, "it is not a text");
	if (secret && st.st_mode & (S_IROTH | S_IWOTH))
		err("--web-config: %s has secrets, and every user of this machine may read or "
		    "change it\n"
		    "chmod o= %s",
		    file->path, text_shell_word(file->path));
	return true;
}

static const yaml_node_t *node(struct reader *r, int index)
{
	return yaml_document_get_node(&r->document, index);
}

static const char *text(const yaml_node_t *n)
{
	return (const char *)n->data.scalar.value;
}

/* A text of one line, which is not empty. */
static bool is_text(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE && n->data.scalar.length &&
	       n->data.scalar.length == strcspn(text(n), "\n");
}

struct key {
	const char *name;
	bool (*read)(struct reader *r, const yaml_node_t *key, const yaml_node_t *value);
};

/* keys end with one without a name, which reads all others. */
static bool read_map(struct reader *r, const yaml_node_t *map, const struct key *keys)
{
	const yaml_node_pair_t *pair, *before;

	if (map->type != YAML_MAPPING_NODE)
		return refuse(r, map, "this must be a list of KEY: VALUE");
	for (pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = node(r, pair->key);
		const struct key *known = keys;

		if (!is_text(key))
			return refuse(r, key, "a key must be a text of one line");
		for (before = map->data.mapping.pairs.start; before < pair; before++)
			if (!strcmp(text(node(r, before->key)), text(key)))
				return refuse(r, key, "%s is there twice", text(key));
		while (known->name && strcmp(known->name, text(key)))
			known++;
		if (!known->read(r, key, node(r, pair->value)))
			return false;
	}
	return true;
}

static bool refuse_key(struct reader *r, const yaml_node_t *key, UNUSED const yaml_node_t *value)
{
	refuse(r, key, "bbrmon does not know %s", text(key));
	remedy("it knows tls_server_config with cert_file, key_file, client_ca_file, "
	       "client_auth_type, min_version and max_version, and basic_auth_users");
	return false;
}

/* As with the exporters, a relative path begins where the configuration is. */
static bool read_path(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	const char *name = text(key), *config = r->w->files[WEB_CONFIG].path;
	const char *slash = strrchr(config, '/');
	int which = *name == 'k' ? WEB_KEY : !strcmp(name, "cert_file") ? WEB_CERT : WEB_CLIENT_CA;
	struct web_file *file = &r->w->files[which];

	if (!is_text(value))
		return refuse(r, value, "%s must be the name of a file", name);
	mem_check(asprintf(&file->path, "%.*s%s",
			   *text(value) == '/' || !slash ? 0 : (int)(slash + 1 - config), config,
			   text(value)) >= 0);
	return true;
}

static bool read_version(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	char *version = text(key)[1] == 'i' ? &r->w->min_version : &r->w->max_version;

	if (!is_text(value) || (strcmp(text(value), "TLS12") && strcmp(text(value), "TLS13")))
		return refuse(r, value, "%s must be TLS12 or TLS13", text(key));
	*version = text(value)[4];
	return true;
}

static bool read_client_auth(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	static const char *const names[] = { "NoClientCert", "VerifyClientCertIfGiven",
					     "RequireAndVerifyClientCert" };

	for (int i = 0; i < 3 && is_text(value); i++) {
		if (!strcmp(text(value), names[i])) {
			r->w->client_auth = i;
			return true;
		}
	}
	return refuse(r, value, "%s must be %s, %s or %s", text(key), names[0], names[1], names[2]);
}

static bool read_tls(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	static const struct key keys[] = {
		{ "cert_file", read_path },
		{ "key_file", read_path },
		{ "client_ca_file", read_path },
		{ "client_auth_type", read_client_auth },
		{ "min_version", read_version },
		{ "max_version", read_version },
		{ NULL, refuse_key },
	};
	struct web_config *w = r->w;

	if (!read_map(r, value, keys))
		return false;
	if (!w->files[WEB_CERT].path || !w->files[WEB_KEY].path)
		return refuse(r, key, "%s needs cert_file and key_file", text(key));
	if (!w->files[WEB_CLIENT_CA].path != (w->client_auth == WEB_CLIENT_ANY))
		return refuse(r, key,
			      "client_ca_file and a client_auth_type that verifies go together");
	if (w->min_version > w->max_version)
		return refuse(r, key, "min_version is above max_version");
	/* The stand-ins of the static program know no version. */
	if (!gnutls_check_version(NULL)) {
		refuse(r, key, "this bbrmon is a static program, which has no TLS");
		remedy("use the program of a package, or a proxy in front of this one");
		return false;
	}
	w->has_tls = true;
	return true;
}

#define NO_HASH "is not a hash of bcrypt, such as htpasswd -nB NAME prints"

static const char *find_fault(const char *hash)
{
	static const char digits[] =
		"0123456789./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	char kind, cost[3];

	if (strlen(hash) != HASH_LEN || sscanf(hash, "$2%c$%2[0-9]$", &kind, cost) != 2 ||
	    !strchr("aby", kind) || strspn(hash + 7, digits) != HASH_LEN - 7 || hash[6] != '$' ||
	    atoi(cost) < 4 || crypt_checksalt(hash) == CRYPT_SALT_INVALID)
		return NO_HASH;
	if (atoi(cost) > MAX_COST)
		return "takes too long to check: bcrypt's cost may be at most 12";
	return NULL;
}

static bool read_user(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	struct web_config *w = r->w;
	const char *fault;

	if (strchr(text(key), ':'))
		return refuse(r, key, "a user's name has no colon");
	fault = is_text(value) ? find_fault(text(value)) : "must have a hash of its password";
	if (fault) /* the hash itself is a secret */
		return refuse(r, value, "the password of user %s %s", text(key), fault);
	MEM_ADD(w->users, w->n_users) =
		(struct web_user){ mem_copy(text(key)), mem_copy(text(value)), NULL };
	return true;
}

static bool read_users(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
	static const struct key keys[] = { { NULL, read_user } };

	/* Who writes this wants passwords. */
	return read_map(r, value, keys) &&
	       (r->w->n_users || refuse(r, key, "%s names no user", text(key)));
}

static bool refuse_syntax(const struct reader *r, const yaml_parser_t *parser)
{
	err("--web-config %s: line %zu: %s", r->w->files[WEB_CONFIG].path,
	    parser->problem_mark.line + 1, parser->problem ? parser->problem : "out of memory");
	return false;
}

/* Documents of one file: the second would not be read, so there must be none. */
static bool parse(struct reader *r, yaml_parser_t *parser)
{
	static const struct key keys[] = {
		{ "tls_server_config", read_tls },
		{ "basic_auth_users", read_users },
		{ NULL, refuse_key },
	};
	yaml_document_t next AUTO(yaml_document_delete) = {};
	const yaml_node_t *root;

	if (!yaml_parser_load(parser, &r->document))
		return refuse_syntax(r, parser);
	root = yaml_document_get_root_node(&r->document);
	if (!root)
		return true;
	if (!read_map(r, root, keys))
		return false;
	if (!yaml_parser_load(parser, &next))
		return refuse_syntax(r, parser);
	return !yaml_document_get_root_node(&next) ||
	       refuse(r, yaml_document_get_root_node(&next), "a second document begins here");
}

static bool refuse_tls(const char *what, const char *path, int error)
{
	err("--web-config: %s %s: %s", what, path, gnutls_strerror(error));
	return false;
}

/* The HTTP server would only say that it cannot start. */
static bool check_tls(const struct web_config *w)
{
	const struct web_file *ca = &w->files[WEB_CLIENT_CA];
	gnutls_datum_t cert = { (unsigned char *)w->files[WEB_CERT].text,
				strlen(w->files[WEB_CERT].text) };
	gnutls_datum_t key = { (unsigned char *)w->files[WEB_KEY].text,
			       strlen(w->files[WEB_KEY].text) };
	gnutls_certificate_credentials_t credentials;
	bool done = true;
	int ret = gnutls_certificate_allocate_credentials(&credentials);

	if (ret)
		return refuse_tls("cert_file", w->files[WEB_CERT].path, ret);
	ret = gnutls_certificate_set_x509_key_mem2(credentials, &cert, &key, GNUTLS_X509_FMT_PEM,
						   NULL, 0);
	if (ret < 0)
		done = refuse_tls("cert_file and key_file", w->files[WEB_CERT].path, ret);
	if (done && ca->path) {
		gnutls_datum_t trust = { (unsigned char *)ca->text, strlen(ca->text) };

		ret = gnutls_certificate_set_x509_trust_mem(credentials, &trust,
							    GNUTLS_X509_FMT_PEM);
		if (ret <= 0)
			done = refuse_tls("client_ca_file", ca->path,
					  ret ? ret : GNUTLS_E_NO_CERTIFICATE_FOUND);
	}
	gnutls_certificate_free_credentials(credentials);
	return done;
}

int web_config_read(struct web_config *w, const char *path)
{
	struct web_file *config = &w->files[WEB_CONFIG];
	struct reader r = { .w = w };
	yaml_parser_t parser;
	bool done;

	*w = (struct web_config){ .min_version = '2', .max_version = '3' };
	config->path = mem_copy(path);
	mem_check(yaml_parser_initialize(&parser));
	done = read_file(config, true);
	if (done) {
		yaml_parser_set_input_string(&parser, (unsigned char *)config->text,
					     strlen(config->text));
		done = parse(&r, &parser);
		yaml_document_delete(&r.document);
	}
	yaml_parser_delete(&parser);
	for (int i = WEB_CERT; i < WEB_FILES && done; i++)
		done = !w->files[i].path || read_file(&w->files[i], i == WEB_KEY);
	return done && (!w->has_tls || check_tls(w)) ? EXIT_DONE : EXIT_USAGE;
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void web_config_free(struct web_config *w)
{
	for (int i = 0; i < WEB_FILES; i++) {
		free(w->files[i].path);
		forget(w->files[i].text);
	}
	for (int i = 0; i < w->n_users; i++) {
		free(w->users[i].name);
		free(w->users[i].hash);
		forget(w->users[i].proven);
	}
	free(w->users);
	memset(w, 0, sizeof(*w));
}

void web_config_look(const struct web_config *w, struct web_stamp stamps[WEB_FILES])
{
	struct stat st;

	memset(stamps, 0, WEB_FILES * sizeof(*stamps));
	for (int i = 0; i < WEB_FILES; i++)
		if (w->files[i].path && !stat(w->files[i].path, &st))
			stamps[i] = stamp_of(&st);
}

/* ---- passwords */

static struct web_user *find_user(const struct web_config *w, const char *name)
{
	for (int i = 0; i < w->n_users; i++)
		if (!strcmp(w->users[i].name, name))
			return &w->users[i];
	return NULL;
}

void web_config_inherit(struct web_config *w, const struct web_config *from)
{
	w->rest_until_ns = from->rest_until_ns;
	for (int i = 0; i < w->n_users; i++) {
		const struct web_user *user = find_user(from, w->users[i].name);

		if (user && user->proven && !strcmp(user->hash, w->users[i].hash))
			w->users[i].proven = strdup(user->proven);
	}
}

/* The time depends on the length of the given password, and not on where it differs. */
static bool is_same(const char *secret, const char *given)
{
	size_t n = strlen(secret), len = strlen(given);
	unsigned char differs = n != len;

	for (size_t i = 0; i < len; i++)
		differs |= given[i] ^ secret[i % (n + 1)];
	return !differs;
}

static bool is_hash_of(const char *hash, const char *password)
{
	static struct crypt_data data;
	const char *made;
	bool same;

	memset(&data, 0, sizeof(data));
	made = crypt_r(password, hash, &data);
	same = made && is_same(hash, made);
	explicit_bzero(&data, sizeof(data));
	return same;
}

enum web_answer web_config_check(struct web_config *w, const char *name, const char *password)
{
	struct web_user *user = find_user(w, name);
	__u64 began = now_ns();
	bool right;

	if (user && user->proven && is_same(user->proven, password))
		return WEB_RIGHT;
	if (began < w->rest_until_ns)
		return WEB_LATER;
	/* An unknown name takes as long, so that nobody can find out which names exist. */
	right = is_hash_of(user ? user->hash : w->users[0].hash, password) && user;
	w->rest_until_ns = now_ns() + REST * (now_ns() - began);
	if (!right)
		return WEB_WRONG;
	forget(user->proven);
	user->proven = strdup(password);
	return WEB_RIGHT;
}
