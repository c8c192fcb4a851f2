// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes a file for a machine line by line, so that its comments and all else in it stay. The
 * file's reader then says whether the new one is right.
 */
#define _GNU_SOURCE
#include <ctype.h>

#include "machine/machine.h"
#include "tuning/ini_file.h"

#define MAX_NAME 64 /* of a section, as in ini_file.c */

/* A text as lines, without their ends. */
struct lines {
	char **line;
	size_t n;
};

static struct lines lines_of(char *text)
{
	struct lines l = {};
	char *end;

	for (; *text; text = end) {
		end = strchrnul(text, '\n');
		if (*end)
			*end++ = 0;
		MEM_ADD(l.line, l.n) = text;
	}
	return l;
}

static const char *without_indent(const char *line)
{
	if (!strncmp(line, INI_BOM, strlen(INI_BOM)))
		line += strlen(INI_BOM);
	while (isspace((unsigned char)*line))
		line++;
	return line;
}

/* True if the line is a section's head, of this one unless it is NULL. */
static bool is_head(const char *line, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	line = without_indent(line);
	return *line == '[' && (!name || (!strncmp(line + 1, name, len) && line[1 + len] == ']'));
}

/* The first line from i to `end` that is a head, of this section unless name is NULL; or `end`. */
static size_t find_head(const struct lines *l, size_t i, size_t end, const char *name)
{
	while (i < end && !is_head(l->line[i], name))
		i++;
	return i;
}

/* Where lines that reach to the next head end: blanks and comments before it belong to that. */
static size_t without_rest(const struct lines *l, size_t head, size_t next)
{
	while (next > head + 1 && strchr(";#", *without_indent(l->line[next - 1])))
		next--;
	return next;
}

static size_t end_of(const struct lines *l, size_t head, size_t end)
{
	return without_rest(l, head, find_head(l, head + 1, end, NULL));
}

/* A line KEY = VALUE, as the reader of the file takes it; key NULL: it is something else. */
struct pair {
	char *copy, *key, *value;
};

static struct pair pair_of(const char *line)
{
	struct pair p = { .copy = mem_copy(without_indent(line)) };

	ini_cut_comment(p.copy);
	if (!ini_cut_pair(p.copy, &p.key, &p.value))
		p.key = NULL;
	return p;
}

/* Between options any number of blanks is one; the name behind the last one may have some. */
static bool same_value(const char *a, const char *b)
{
	bool has_options = !strncmp(a, "--", 2);

	while (has_options && *a && *a == *b && strncmp(a, "--cgroup ", strlen("--cgroup "))) {
		size_t blanks = strspn(a, " ");

		a += blanks ? blanks : 1;
		b += blanks ? strspn(b, " ") : 1;
	}
	return !strcmp(a, b);
}

static bool has_line(const struct lines *l, size_t from, size_t end, const struct pair *like)
{
	bool has = false;

	for (; !has && from < end; from++) {
		struct pair p = pair_of(l->line[from]);

		has = p.key && !strcmp(p.key, like->key) && same_value(p.value, like->value);
		free(p.copy);
	}
	return has;
}

/* Reads a line "rule = OPTIONS" into a rule without profile; false: it is something else, or for pods. */
static bool read_rule(const char *line, struct bbr_rule *rule)
{
	struct pair p = pair_of(line);
	struct rule_line parsed;
	bool is_rule = p.key && !strcmp(p.key, "rule") && !rule_parse_line(p.value, &parsed) &&
		       !parsed.pods;

	if (is_rule)
		*rule = parsed.rule;
	free(p.copy);
	return is_rule;
}

static bool same_options(const char *line, const char *other)
{
	struct bbr_rule a, b;
	const struct rule_list one = { &b, 1 };

	return read_rule(line, &a) && read_rule(other, &b) && !rule_list_find(&one, &a);
}

struct editing {
	struct lines old, new; /* the file, and what is to be in it: one instance */
	FILE *out;
};

/* Writes lines as they are. */
static void copy(const struct editing *e, const struct lines *l, size_t from, size_t end)
{
	for (; from < end; from++)
		fprintf(e->out, "%s\n", l->line[from]);
}

/* Writes a section that is in both: new rules before the old ones, new values instead of old ones. */
static void merge_section(const struct editing *e, size_t head, size_t end, size_t new_head)
{
	size_t new_end = end_of(&e->new, new_head, e->new.n);
	bool are_rules = is_head(e->old.line[head], RULES_SECTION);

	copy(e, &e->old, head, head + 1);
	copy(e, &e->new, new_head + 1, new_end);
	for (size_t i = head + 1; i < end; i++) {
		const char *line = without_indent(e->old.line[i]);
		bool is_replaced = !strchr(";#", *line) && !are_rules;

		for (size_t k = new_head + 1; are_rules && !is_replaced && k < new_end; k++)
			is_replaced = same_options(line, e->new.line[k]);
		if (!is_replaced)
			copy(e, &e->old, i, i + 1);
	}
}

static void read_head(const char *line, char name[MAX_NAME])
{
	line = without_indent(line);
	snprintf(name, MAX_NAME, "%.*s", (int)strcspn(line + 1, "]"), line + 1);
}

/* Writes new sections that the instance does not have in the lines from head to end. */
static void add_sections(const struct editing *e, size_t head, size_t end, bool rules)
{
	char name[MAX_NAME];

	for (size_t i = find_head(&e->new, 1, e->new.n, NULL); i < e->new.n;
	     i = find_head(&e->new, i + 1, e->new.n, NULL)) {
		read_head(e->new.line[i], name);
		if (!strcmp(name, RULES_SECTION) != rules ||
		    find_head(&e->old, head + 1, end, name) < end)
			continue;
		fputc('\n', e->out);
		copy(e, &e->new, i, end_of(&e->new, i, e->new.n));
	}
}

/* The instance is in the file, in the lines from head to end. */
static void merge_instance(const struct editing *e, size_t head, size_t end)
{
	size_t rules = find_head(&e->old, head + 1, end, RULES_SECTION);
	size_t i = end_of(&e->old, head, end), next, new_head;
	char name[MAX_NAME];

	copy(e, &e->old, head, i);
	for (size_t k = 1; k < end_of(&e->new, 0, e->new.n); k++) {
		struct pair p = pair_of(e->new.line[k]);

		if (p.key && strcmp(p.key, "algorithm") && !has_line(&e->old, head, i, &p))
			copy(e, &e->new, k, k + 1);
		free(p.copy);
	}
	for (; i < end; i = next) {
		next = i + 1;
		new_head = e->new.n;
		if (is_head(e->old.line[i], NULL)) {
			next = end_of(&e->old, i, end);
			read_head(e->old.line[i], name);
			new_head = find_head(&e->new, 1, e->new.n, name);
		}
		if (i == rules)
			add_sections(e, head, end, false); /* rules name profiles above them */
		if (new_head < e->new.n)
			merge_section(e, i, next, new_head);
		else
			copy(e, &e->old, i, next);
	}
	if (rules == end)
		add_sections(e, head, end, false);
	add_sections(e, head, end, true);
}

static size_t find_next_instance(const struct lines *l, size_t i)
{
	size_t head = i;

	for (i++; i < l->n; i++)
		if (is_head(l->line[i], NULL) &&
		    !strncmp(without_indent(l->line[i]) + 1, INSTANCE_SECTION " ",
			     strlen(INSTANCE_SECTION " ")))
			break;
	return without_rest(l, head, i);
}

char *machine_edit(const char *file, const char *instance)
{
	char *old AUTO_FREE = mem_copy(file), *new AUTO_FREE = mem_copy(instance), *text = NULL;
	struct editing e = { lines_of(old), lines_of(new), NULL };
	char name[MAX_NAME];
	size_t n, head, end;

	e.out = mem_need(open_memstream(&text, &n));
	read_head(e.new.line[0], name);
	head = find_head(&e.old, 0, e.old.n, name);
	end = head < e.old.n ? find_next_instance(&e.old, head) : head;
	copy(&e, &e.old, 0, head);
	if (head < e.old.n) {
		merge_instance(&e, head, end);
	} else {
		if (head && *without_indent(e.old.line[head - 1]))
			fputc('\n', e.out);
		copy(&e, &e.new, 0, e.new.n);
	}
	copy(&e, &e.old, end, e.old.n);
	mem_check(!fclose(e.out) && text);
	free(e.old.line);
	free(e.new.line);
	return text;
}
