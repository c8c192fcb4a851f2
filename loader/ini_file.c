// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include <ini.h>

#include "err.h"
#include "ini_file.h"

#define MAX_LINE 8192 /* a rule may have the path of a cgroup in it */

/* Settings that Debian's libinih has, and a plain build of it has not: there lines are shorter. */
extern int ini_max_line __attribute__((weak));
extern bool ini_use_stack __attribute__((weak));

struct reading {
	FILE *f;
	const struct ini_reader_ops *ops;
	void *user;
	int line;
	int ret; /* the first mistake's */
};

/*
 * libinih tells its handler neither the line nor of a section that has no keys, and takes the rest of a line
 * that is too long for it as another one. So look at each line before it does.
 */
static char *read_line(char *buf, int size, void *stream)
{
	struct reading *r = stream;
	char section[64];

	if (r->ret || !fgets(buf, size, r->f))
		return NULL;
	r->line++;
	if (!strchr(buf, '\n') && !feof(r->f)) {
		err("a line may have %d characters at most", size - 2);
		r->ret = EXIT_USAGE;
		return NULL;
	}
	if (sscanf(buf, " [%63[^]\n]]", section) == 1)
		r->ret = r->ops->section(r->user, section);
	return r->ret ? NULL : buf;
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
		err("%s: cannot be read", name);
		return EXIT_REFUSED;
	}
	if (!r.ret && error) {
		r.line = error > 0 ? error : r.line;
		err("neither [SECTION] nor KEY = VALUE");
		r.ret = EXIT_USAGE;
	}
	if (r.ret)
		remedy("that is line %d of %s", r.line, name);
	return r.ret;
}
