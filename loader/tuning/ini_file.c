// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <ini.h>

#include "cli/err.h"
#include "tuning/ini_file.h"

#define MAX_LINE 8192 /* a rule may contain the path of a cgroup */

/* Settings that Debian's libinih has and a plain build lacks: there, lines are shorter. */
extern int ini_max_line __attribute__((weak));
extern bool ini_use_stack __attribute__((weak));
#define BOM "\xef\xbb\xbf"

struct reading {
	FILE *f;
	const struct ini_reader_ops *ops;
	void *user;
	int line;
	int ret; /* status of the first mistake */
	int error; /* errno of a file that cannot be read */
};

static int refuse_line(struct reading *r, const char *why)
{
	err("%s", why);
	r->ret = EXIT_USAGE;
	return EXIT_USAGE;
}

/*
 * Reads one line into buf, "" at the end. Drops blanks in front: libinih would take an indented
 * line for a continuation of the value above it.
 */
static int take_line(struct reading *r, char *buf, int size)
{
	int c, n = 0;

	while ((c = getc(r->f)) != EOF) {
		if (!c)
			return refuse_line(r, "not a text file: it contains a zero byte");
		if (n == size - 1) {
			err("a line has more than %d characters", size - 2);
			return r->ret = EXIT_USAGE;
		}
		if (n || c == '\n' || !isspace(c))
			buf[n++] = c;
		if (c == '\n')
			break;
	}
	buf[n] = 0;
	if (ferror(r->f))
		r->error = errno;
	if (r->line == 1 && !strncmp(buf, BOM, strlen(BOM)))
		memmove(buf, buf + strlen(BOM), n + 1 - strlen(BOM));
	return EXIT_DONE;
}

/* Takes [NAME], which nothing but a comment may follow. */
static int take_section(struct reading *r, const char *line)
{
	char name[50]; /* libinih allows no longer ones */
	size_t len = strcspn(line + 1, "]");
	const char *after = line + 1 + len;

	if (*after)
		after += 1 + strspn(after + 1, " \t\r\n");
	if (!len || len >= sizeof(name) || line[1 + len] != ']' ||
	    (*after && !strchr(";#", *after)))
		return refuse_line(r, "a [SECTION] must be alone on its line");
	snprintf(name, sizeof(name), "%.*s", (int)len, line + 1);
	return r->ret = r->ops->section(r->user, name);
}

/*
 * libinih tells its handler neither the line number nor about a section without keys, and takes the
 * rest of a line that is too long for it as another line. So check each line before libinih gets
 * it.
 */
static char *read_line(char *buf, int size, void *stream)
{
	struct reading *r = stream;

	if (r->ret)
		return NULL;
	r->line++;
	if (take_line(r, buf, size) || !*buf || (*buf == '[' && take_section(r, buf)))
		return NULL;
	return buf;
}

/* 0 means a mistake to libinih. */
static int take_pair(void *user, const char *section, const char *key, const char *value)
{
	struct reading *r = user;

	if (!r->ret)
		r->ret = r->ops->pair(r->user, section, key, value);
	return !r->ret;
}

int ini_file_read(FILE *f, const char *name, const struct ini_reader_ops *ops, void *user)
{
	struct reading r = { .f = f, .ops = ops, .user = user };
	int error;

	if (&ini_max_line && &ini_use_stack) {
		ini_max_line = MAX_LINE;
		ini_use_stack = false;
	}
	error = ini_parse_stream(read_line, &r, take_pair, &r);
	if (!r.ret && ferror(f)) {
		err("%s: cannot be read: %s", name, strerror(r.error));
		return EXIT_REFUSED;
	}
	if (!r.ret && error) {
		r.line = error > 0 ? error : r.line;
		err("expected [SECTION] or KEY = VALUE");
		r.ret = EXIT_USAGE;
	}
	if (r.ret)
		remedy("at line %d of %s", r.line, name);
	return r.ret;
}
