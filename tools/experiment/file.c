// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "cli/privileges.h"
#include "file.h"

#define FORMAT "bpf-bbr experiment"
#define COLUMNS_MAX 128 /* of a file, known or not */

static void write_keys(FILE *out, const struct file_field *f, const struct study *s)
{
	char value[FILE_VALUE_LEN];

	for (; f->name; f++) {
		file_format_value(value, sizeof(value), f, s);
		/* Names come from a map. A program for tables takes "=" in a cell for code. */
		for (char *c = value; (c = strpbrk(c, ",;\t\r\n"));)
			*c = '?';
		if (*value)
			fprintf(out, "# %s=%s\n", f->name, value);
	}
}

void file_write_head(FILE *out, const struct study *s)
{
	fprintf(out, "# format=%s\n", FORMAT);
	write_keys(out, file_keys, s);
	for (const struct file_field *f = file_columns; f->name; f++)
		fprintf(out, "%s%s", f == file_columns ? "" : ",", f->name);
	fputc('\n', out);
}

void file_write_rows(FILE *out, const struct study *s, size_t from)
{
	char value[FILE_VALUE_LEN];

	for (size_t i = from; i < s->rows.n; i++) {
		for (const struct file_field *f = file_columns; f->name; f++) {
			file_format_value(value, sizeof(value), f, &s->rows.at[i]);
			fprintf(out, "%s%s", f == file_columns ? "" : ",", value);
		}
		fputc('\n', out);
	}
}

void file_write_counters(FILE *out, const struct study *s)
{
	write_keys(out, file_counters, s);
}

/* ---- reading */

struct reading {
	const char *path;
	unsigned long long line;
	const struct file_field *column[COLUMNS_MAX]; /* NULL: not known */
	int columns; /* 0: the line with their names is still to come */
	bool has_format;
	struct study *study;
};

static int refuse(const struct reading *r, const char *what, const char *which)
{
	err("%s: line %llu: %s%s%s", r->path, r->line, what, which ? ": " : "", which ? which : "");
	return EXIT_REFUSED;
}

static const struct file_field *find(const struct file_field *f, const char *name)
{
	while (f->name && strcmp(f->name, name))
		f++;
	return f->name ? f : NULL;
}

/* The rows were checked against the experiment's keys, so only counters may come after them. */
static int read_key(struct reading *r, char *key)
{
	const struct file_field *f;
	char *value = strchr(key, '=');

	if (!value)
		return EXIT_DONE; /* a comment */
	*value++ = 0;
	if (!strcmp(key, "format")) {
		r->has_format = !strcmp(value, FORMAT);
		return EXIT_DONE;
	}
	f = find(file_keys, key);
	if (f && r->columns)
		return refuse(r, "must be above the names of the columns", key);
	if (!f)
		f = find(file_counters, key);
	return !f || file_parse_value(value, f, r->study) ? EXIT_DONE :
							    refuse(r, "a wrong value", key);
}

static int read_names(struct reading *r, char *line)
{
	char *name;

	while ((name = strsep(&line, ","))) {
		if (r->columns == COLUMNS_MAX)
			return refuse(r, "too many columns", NULL);
		r->column[r->columns++] = find(file_columns, name);
	}
	for (const struct file_field *f = file_columns; f->name; f++) {
		int i = 0;

		while (i < r->columns && r->column[i] != f)
			i++;
		if (i == r->columns)
			return refuse(r, "a column is missing", f->name);
	}
	return EXIT_DONE;
}

static int read_row(struct reading *r, char *line)
{
	struct row row = {};
	char *value;
	int i = 0;

	for (; (value = strsep(&line, ",")); i++) {
		if (i == r->columns)
			return refuse(r, "too many values", NULL);
		if (r->column[i] && !file_parse_value(value, r->column[i], &row))
			return refuse(r, "a wrong value", r->column[i]->name);
	}
	if (i < r->columns)
		return refuse(r, "too few values", NULL);
	if (row.arm >= r->study->experiment.arms)
		return refuse(r, "the arm's number is too large", NULL);
	rows_add(&r->study->rows, &row);
	return EXIT_DONE;
}

/* Each value was checked on its line. None of these may be missing. */
static int check_head(const struct reading *r)
{
	const struct experiment *e = &r->study->experiment;

	if (!r->has_format) {
		err("%s: bbrmon experiment -w did not write this file", r->path);
		return EXIT_REFUSED;
	}
	if (e->arms && e->prefix4 && e->prefix6)
		return EXIT_DONE;
	return refuse(r, "a key is missing above this line",
		      !e->arms	  ? "arms" :
		      !e->prefix4 ? "prefix4" :
				    "prefix6");
}

static int read_line(struct reading *r, char *line, size_t len)
{
	int ret;

	r->line++;
	if (strlen(line) != len)
		return refuse(r, "a zero byte", NULL);
	if (line[0] == '#')
		return read_key(r, line + 1 + strspn(line + 1, " "));
	if (r->columns)
		return read_row(r, line);
	ret = check_head(r);
	return ret ? ret : read_names(r, line);
}

int file_read(const char *path, struct study *s)
{
	struct reading r = { .path = path, .study = s };
	FILE *in = fopen(path, "re");
	int ret = EXIT_DONE;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!in) {
		err("cannot read %s: %s", path, strerror(errno));
		return EXIT_REFUSED;
	}
	privileges_narrow(0); /* anybody may have written what is read from here on */
	while (!ret && (len = getline(&line, &room, in)) > 0) {
		s->is_cut = line[len - 1] != '\n';
		if (s->is_cut)
			break; /* the writer was stopped: the numbers may be cut, too */
		line[len - 1] = 0;
		ret = read_line(&r, line, len - 1);
	}
	if (!ret && len < 0 && !feof(in)) {
		err("cannot read %s: %s", path, strerror(errno));
		ret = EXIT_REFUSED;
	}
	if (!ret && !r.columns) {
		err("%s: bbrmon experiment -w did not write this file", path);
		ret = EXIT_REFUSED;
	}
	free(line);
	fclose(in);
	return ret;
}
