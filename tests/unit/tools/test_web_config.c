/* SPDX-License-Identifier: GPL-2.0-only */
/* The web configuration file of bbrmon export: what is refused, where, and who is let in. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include <cmocka.h>

#include "cli/err.h"
#include "export/http.h"
#include "kernel/clock.h"

#include "../capture.h"

/* Of "secret". */
#define HASH "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"
#define TEN "$2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u"
#define CERT "tls_server_config:\n  cert_file: none.crt\n  key_file: none.key\n"

static char dir[] = "/tmp/bbrmon_web_XXXXXX";
static char path[sizeof(dir) + 16];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/web.yml", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static int read_bytes(struct web_config *w, const char *text, size_t size)
{
	FILE *f = fopen(path, "w");
	int ret;

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0600), 0);
	capture_begin();
	ret = web_config_read(w, path);
	capture_end();
	return ret;
}

static int read_text(struct web_config *w, const char *text)
{
	return read_bytes(w, text, strlen(text));
}

static void expect_refused(const char *text, size_t size, const char *why)
{
	struct web_config w;

	if (!read_bytes(&w, text, size))
		fail_msg("taken: %s", text);
	if (!strstr(captured_messages(), why))
		fail_msg("%s\nnot %s, but: %s", text, why, captured_messages());
	web_config_free(&w);
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{ "a: 1\n", "web.yml: line 1: bbrmon does not know a\n" },
		{ "\n\nhttp_server_config: {http2: true}\n",
		  "line 3: bbrmon does not know http_server" },
		{ "tls_server_config:\n  cert_file: a\n  cipher_suites: [X]\n",
		  "line 3: bbrmon does not know cipher_suites\n" },
		{ "tls_server_config:\n  cert: |\n    x\n", "line 2: bbrmon does not know cert\n" },
		{ "tls_server_config:\n", "line 1: this must be a list" },
		{ "tls_server_config: {}\n",
		  "line 1: tls_server_config needs cert_file and key_file" },
		{ "tls_server_config: {cert_file: x}\n", "needs cert_file and key_file" },
		{ "tls_server_config: {key_file: x}\n", "needs cert_file and key_file" },
		{ "tls_server_config: {cert_file: }\n", "line 1: cert_file must be the name" },
		{ "tls_server_config: {cert_file: [x]}\n", "line 1: cert_file must be the name" },
		{ CERT "  min_version: TLS11\n", "line 4: min_version must be TLS12 or TLS13" },
		{ CERT "  max_version: 1.3\n", "line 4: max_version must be TLS12 or TLS13" },
		{ CERT "  min_version: TLS13\n  max_version: TLS12\n", "min_version is above" },
		{ CERT "  client_auth_type: RequireAnyClientCert\n",
		  "line 4: client_auth_type must be" },
		{ CERT "  client_auth_type: RequireAndVerifyClientCert\n", "go together" },
		{ CERT "  client_ca_file: ca\n", "go together" },
		{ CERT "  key_file: other\n", "line 4: key_file is there twice" },
		{ CERT, "none.crt: No such file or directory" },
		{ "tls_server_config: {cert_file: /dev/null, key_file: /x}\n",
		  "cannot read /dev/null: it is not a regular file" },
		{ "basic_auth_users:\n  a: secret\n",
		  "line 2: the password of user a is not a hash of bcrypt" },
		{ "basic_auth_users:\n  a: " HASH "0\n", "is not a hash of bcrypt" },
		{ "basic_auth_users:\n  a: $2x"
		  "$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n",
		  "is not a hash of bcrypt" },
		{ "basic_auth_users:\n  a: $2y"
		  "$ 5$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n",
		  "is not a hash of bcrypt" },
		{ "basic_auth_users:\n  a: $2y"
		  "$02$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n",
		  "is not a hash of bcrypt" },
		{ "basic_auth_users:\n  a: $2y"
		  "$05$:bcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n",
		  "is not a hash of bcrypt" },
		{ "basic_auth_users:\n  a: $2y"
		  "$13$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n",
		  "cost may be at most 12" },
		{ "basic_auth_users:\n  a: [" HASH "]\n", "must have a hash" },
		{ "basic_auth_users:\n  a:\n", "must have a hash" },
		{ "basic_auth_users:\n  ? [a]\n  : " HASH "\n", "line 2: a key must be a text" },
		{ "basic_auth_users:\n  a:b: " HASH "\n", "line 2: a user's name has no colon" },
		{ "basic_auth_users: {}\n", "line 1: basic_auth_users names no user" },
		{ "basic_auth_users:\n", "line 1: this must be a list" },
		{ "- a\n", "line 1: this must be a list" },
		{ "a\n", "line 1: this must be a list" },
		{ "basic_auth_users: {a: " HASH "}\n---\nb: 1\n", "line 3: a second document" },
		{ "a: [\n", "web.yml: line 2: " },
		{ "basic_auth_users:\n\ta: b\n", "web.yml: line 2: " },
		{ "a: *b\n", "undefined alias" },
		{ "\xff\xfe\xff", "web.yml: line 1: " },
	};
	static char huge[(1 << 20) + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		expect_refused(wrong[i].text, strlen(wrong[i].text), wrong[i].why);
	expect_refused("a\0b", 3, "it is not a text");
	memset(huge, '#', sizeof(huge));
	expect_refused(huge, sizeof(huge), "it is larger than 1 MiB");
	assert_null(strstr(captured_messages(), HASH)); /* nothing secret is told */
}

static void what_is_taken(void **state)
{
	struct web_config w;

	(void)state;
	assert_int_equal(read_text(&w, ""), EXIT_DONE);
	assert_false(w.has_tls || w.n_users);
	web_config_free(&w);
	assert_int_equal(read_text(&w, "basic_auth_users: {a: " HASH ", b: '" TEN "'}\n"),
			 EXIT_DONE);
	assert_int_equal(w.n_users, 2);
	assert_string_equal(captured_messages(), "");
	web_config_free(&w);
}

static void a_file_that_everybody_may_read(void **state)
{
	struct web_config w;

	(void)state;
	assert_int_equal(read_text(&w, ""), EXIT_DONE);
	web_config_free(&w);
	chmod(path, 0644);
	capture_begin();
	assert_int_equal(web_config_read(&w, path), EXIT_DONE);
	capture_end();
	web_config_free(&w);
	assert_non_null(strstr(captured_messages(), "web.yml has secrets, and every user"));
	assert_non_null(strstr(captured_messages(), "chmod o= "));
}

static void who_is_let_in(void **state)
{
	struct web_config w, next;

	(void)state;
	assert_int_equal(read_text(&w, "basic_auth_users: {a: " HASH ", b: '" TEN "'}\n"),
			 EXIT_DONE);
	assert_int_equal(web_config_check(&w, "a", "secret"), WEB_RIGHT);
	/* After each password that was calculated there is a rest, but not for one that is proven. */
	assert_int_equal(web_config_check(&w, "b", "secret"), WEB_LATER);
	assert_int_equal(web_config_check(&w, "a", "secret"), WEB_RIGHT);
	for (int i = 0; i < 4; i++) {
		static const char *const wrong[][2] = {
			{ "a", "Secret" }, { "a", "" }, { "c", "secret" }, { "b", "secret2" }
		};
		__u64 began = now_ns();

		w.rest_until_ns = 0;
		assert_int_equal(web_config_check(&w, wrong[i][0], wrong[i][1]), WEB_WRONG);
		assert_true(w.rest_until_ns - began >= 4 * (w.rest_until_ns - now_ns()) / 5);
		assert_int_equal(web_config_check(&w, "b", "secret"), WEB_LATER);
		assert_int_equal(web_config_check(&w, "a", "secret"), WEB_RIGHT);
	}
	w.rest_until_ns = 0;
	assert_int_equal(web_config_check(&w, "b", "secret"), WEB_RIGHT);

	/* What is proven stays so for the same hash, and for no other. */
	assert_int_equal(read_text(&next, "basic_auth_users: {a: " HASH ", b: '" HASH "'}\n"),
			 EXIT_DONE);
	web_config_inherit(&next, &w);
	next.rest_until_ns = ~0ull;
	assert_int_equal(web_config_check(&next, "a", "secret"), WEB_RIGHT);
	assert_int_equal(web_config_check(&next, "b", "secret"), WEB_LATER);
	web_config_free(&next);
	web_config_free(&w);
}

static void files_that_change(void **state)
{
	struct web_stamp stamps[WEB_FILES];
	struct web_config w;

	(void)state;
	assert_int_equal(read_text(&w, ""), EXIT_DONE);
	web_config_look(&w, stamps);
	assert_memory_equal(&stamps[WEB_CONFIG], &w.files[WEB_CONFIG].stamp, sizeof(stamps[0]));
	assert_int_equal(truncate(path, 1), 0);
	web_config_look(&w, stamps);
	assert_memory_not_equal(&stamps[WEB_CONFIG], &w.files[WEB_CONFIG].stamp, sizeof(stamps[0]));
	/* What mends a key that could not be read changes the times of its inode alone. */
	web_config_free(&w);
	assert_int_equal(read_text(&w, ""), EXIT_DONE);
	usleep(50000); /* the clock of a file's times has coarse steps */
	assert_int_equal(chmod(path, 0640), 0);
	web_config_look(&w, stamps);
	assert_memory_not_equal(&stamps[WEB_CONFIG], &w.files[WEB_CONFIG].stamp, sizeof(stamps[0]));
	unlink(path);
	web_config_look(&w, stamps);
	assert_int_equal(stamps[WEB_CONFIG].inode, 0);
	web_config_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(what_is_taken),
		cmocka_unit_test(a_file_that_everybody_may_read),
		cmocka_unit_test(who_is_let_in),
		cmocka_unit_test(files_that_change),
	};
	int failed = cmocka_run_group_tests(tests, make_dir, remove_dir);

	capture_free();
	return failed;
}
