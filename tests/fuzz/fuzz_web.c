// SPDX-License-Identifier: GPL-2.0-only
/*
 * The web configuration of bbrmon export on arbitrary files. What is taken is safe: whoever is let in
 * has a hash that can be checked, in bounded time, and TLS has all that belongs to it.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/stat.h>
#include <stdbool.h>
#include <unistd.h>

#include "cli/err.h"
#include "export/http.h"
#include "fuzz.h"

static unsigned long taken, refused, without, users, several, tls, bad_key;
static char *message;
static size_t message_len;

static void report(void)
{
	say_reached("taken", taken);
	say_reached("refused", refused);
	say_reached("nothing in it", without);
	say_reached("users", users);
	say_reached("several users", several);
	say_reached("TLS that is described well, with files that are missing or wrong", tls);
	say_reached("an unknown key", bad_key);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	err_init("bbrmon", false);
	return atexit(report);
}

static void check_users(const struct web_config *w)
{
	for (int i = 0; i < w->n_users; i++) {
		const struct web_user *user = &w->users[i];

		CHECK(*user->name && !strpbrk(user->name, ":\n"));
		CHECK(strlen(user->hash) == 60 && !strncmp(user->hash, "$2", 2));
		CHECK(atoi(user->hash + 4) >= 4 && atoi(user->hash + 4) <= 12);
		for (int k = 0; k < i; k++)
			CHECK(strcmp(user->name, w->users[k].name));
	}
	users += w->n_users > 0;
	several += w->n_users > 1;
}

/* Every message is one line about the file or one that it names, and perhaps a line of advice. */
static void check_message(bool done)
{
	CHECK(done || message_len);
	if (!message_len)
		return;
	CHECK(!strncmp(message, "bbrmon: --web-config", 20));
	CHECK(message[message_len - 1] == '\n');
	for (size_t i = 0; i + 1 < message_len; i++)
		CHECK((unsigned char)message[i] >= ' ' || message[i] == '\n');
	bad_key += !!strstr(message, "does not know");
	tls += !!strstr(message, "--web-config: ");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("web", MFD_CLOEXEC);
	struct web_config w;
	char path[64];
	FILE *said;
	bool done;

	CHECK(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	said = open_memstream(&message, &message_len);
	CHECK(said);
	err_to(said);
	done = !web_config_read(&w, path);
	err_to(NULL);
	CHECK(!fclose(said));
	check_message(done);
	if (done) {
		check_users(&w);
		without += !w.n_users && !w.has_tls;
	}
	taken += done;
	refused += !done;
	web_config_free(&w);
	free(message);
	close(fd);
	return 0;
}
