// SPDX-License-Identifier: GPL-2.0-only
/*
 * libinih reads such files, too, but no line of more than 198 characters unless its packager has
 * allowed them, and it names no line. A cgroup of Kubernetes has a path of 223.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cli/err.h"
#include "cli/text.h"
#include "tuning/ini_file.h"

#define MAX_LINE 65536 /* more than a rule with the longest path of a cgroup, in quotes */
#define MAX_SECTION 64
#define MAX_KEYS 8192 /* the names of all parameters of an algorithm have some 1,500 */

struct reading {
	FILE *f;
	const struct ini_reader_ops *ops;
	void *user;
	char section[MAX_SECTION];
	char line[MAX_LINE];
	char keys[MAX_KEYS]; /* of the section so far, each as "KEY\n" */
};

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	return text;
}

void ini_cut_comment(char *line)
{
	if (*line == ';' || *line == '#')
		*line = 0;
	for (char *c = line; *c; c++)
		if (isspace((unsigned char)*c) && c[1] == ';') {
			*c = 0;
			break;
		}
}

bool ini_cut_pair(char *line, char **key, char **value)
{
	char *middle = line + strcspn(line, "=:");

	if (!*middle)
		return false;
	*middle = 0;
	*key = trim(line);
	*value = trim(middle + 1);
	return true;
}

/* Takes [NAME], which nothing but a comment may follow. */
static int take_section(struct reading *r, const char *line)
{
	size_t len = strcspn(line + 1, "]");
	const char *after = line + 1 + len;

	if (*after)
		after += 1 + strspn(after + 1, " \t");
	if (!len || len >= MAX_SECTION || line[1 + len] != ']' || (*after && !strchr(";#", *after)))
		return err_usage("a [SECTION] must be alone on its line");
	snprintf(r->section, MAX_SECTION, "%.*s", (int)len, line + 1);
	r->keys[0] = 0;
	return r->ops->section(r->user, r->section);
}

static bool is_list(const struct reading *r, const char *key)
{
	for (const char *const *k = r->ops->lists; *k; k++)
		if (!strcmp(*k, key))
			return true;
	return false;
}

static bool has_key(const struct reading *r, const char *key)
{
	size_t len = strlen(key);

	for (const char *k = r->keys; *k; k += strcspn(k, "\n") + 1)
		if (!strncmp(k, key, len) && k[len] == '\n')
			return true;
	return false;
}

/* Of two lines with one key, the reader of the file would see one and the program use the other. */
static int note_key(struct reading *r, const char *key)
{
	size_t used = strlen(r->keys);

	if (is_list(r, key))
		return EXIT_DONE;
	if (has_key(r, key))
		return err_usage("%s: appears twice", key);
	if (used + strlen(key) + 2 > MAX_KEYS)
		return err_usage("too many lines in this section");
	sprintf(r->keys + used, "%s\n", key);
	return EXIT_DONE;
}

static int take_pair(struct reading *r, char *line)
{
	char *key, *value;
	int ret;

	if (!ini_cut_pair(line, &key, &value))
		return err_usage("expected [SECTION] or KEY = VALUE");
	if (*value == ';')
		return err_usage(
			"a value cannot begin with \";\": a comment needs a blank before it");
	ret = r->ops->pair(r->user, r->section, key, value);
	return ret ? ret : note_key(r, key);
}

/* *more: the file goes on after it. */
static int take_line(struct reading *r, bool is_first, bool *more)
{
	enum text_line found = text_read_line(r->f, r->line, sizeof(r->line));
	char *line;

	if (found == TEXT_ZERO_BYTE)
		return err_usage("not a text file: it contains a zero byte");
	if (found == TEXT_LONG_LINE)
		return err_usage("a line has more than %d characters", MAX_LINE - 1);
	*more = found == TEXT_LINE;
	if (is_first && !strncmp(r->line, INI_BOM, strlen(INI_BOM)))
		memset(r->line, ' ', strlen(INI_BOM));
	line = trim(r->line);
	ini_cut_comment(line);
	line = trim(line);
	if (!*line)
		return EXIT_DONE;
	return *line == '[' ? take_section(r, line) : take_pair(r, line);
}

int ini_file_read(FILE *f, const char *name, const struct ini_reader_ops *ops, void *user)
{
	struct reading *r AUTO_FREE = mem_new(1, sizeof(*r));
	int number = 0, ret = EXIT_DONE;
	bool more = true;

	r->f = f;
	r->ops = ops;
	r->user = user;
	errno = 0;
	while (!ret && more)
		ret = take_line(r, !number++, &more);
	if (ret)
		remedy("at line %d of %s", number, name);
	if (!ret && ferror(f))
		return err_usage("%s: cannot be read: %s", name, strerror(errno));
	return ret;
}

int ini_file_read_path(const char *path, const struct ini_reader_ops *ops, void *user)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int ret;

	mem_check(f || errno != ENOMEM);
	if (!f)
		return err_usage("%s: cannot be opened: %s", path, strerror(errno));
	ret = ini_file_read(f, path, ops, user);
	if (f != stdin)
		fclose(f);
	return ret;
}

void ini_files_find(const char *pattern, glob_t *found)
{
	*found = (glob_t){};
	mem_check(glob(pattern, 0, NULL, found) != GLOB_NOSPACE);
}
