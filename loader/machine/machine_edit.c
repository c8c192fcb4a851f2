// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes a file for a machine line by line, so that its comments and all else in it stay. The
 * file's reader then says whether the new one is right.
 */
#define _GNU_SOURCE
#include <ctype.h>

#include "machine/machine.h"
#include "tuning/ini_file.h"

/* A line of a text, without its end, and what the reader of the file takes it for. */
struct line {
	char *text;
	char *copy; /* that the others are cut from */
	char *head; /* of a section: its name */
	char *key, *value; /* of KEY = VALUE */
	bool is_idle; /* nothing, or a comment */
};

struct lines {
	struct line *line;
	size_t n;
};

static struct line line_of(char *text)
{
	const char *begin = text;
	struct line l = { .text = text };

	if (!strncmp(begin, INI_BOM, strlen(INI_BOM)))
		begin += strlen(INI_BOM);
	while (isspace((unsigned char)*begin))
		begin++;
	l.copy = mem_copy(begin);
	l.is_idle = strchr(";#", *begin);
	if (*begin == '[') {
		l.head = l.copy + 1;
		l.head[strcspn(l.head, "]")] = 0;
	} else if (!l.is_idle) {
		ini_cut_comment(l.copy);
		ini_cut_pair(l.copy, &l.key, &l.value);
	}
	return l;
}

static struct lines lines_of(char *text)
{
	struct lines l = {};
	char *end;

	for (; *text; text = end) {
		end = strchrnul(text, '\n');
		if (*end)
			*end++ = 0;
		MEM_ADD(l.line, l.n) = line_of(text);
	}
	return l;
}

static void free_lines(struct lines *l)
{
	for_each (line, l->line, l->n)
		free(line->copy);
	free(l->line);
}

/* The first line from i to `end` that is a head, of this section unless name is NULL; or `end`. */
static size_t find_head(const struct lines *l, size_t i, size_t end, const char *name)
{
	while (i < end && !(l->line[i].head && (!name || !strcmp(l->line[i].head, name))))
		i++;
	return i;
}

/* Where lines that reach to the next head end: blanks and comments before it belong to that. */
static size_t without_rest(const struct lines *l, size_t head, size_t next)
{
	while (next > head + 1 && l->line[next - 1].is_idle)
		next--;
	return next;
}

static size_t end_of(const struct lines *l, size_t head, size_t end)
{
	return without_rest(l, head, find_head(l, head + 1, end, NULL));
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

static bool has_line(const struct lines *l, size_t from, size_t end, const struct line *like)
{
	for_each (line, l->line + from, end - from)
		if (line->key && !strcmp(line->key, like->key) &&
		    same_value(line->value, like->value))
			return true;
	return false;
}

/* Reads a line "rule = OPTIONS" into a rule without profile; false: it is something else, or for pods. */
static bool read_rule(const struct line *line, struct bbr_rule *rule)
{
	char *value AUTO_FREE = line->key ? mem_copy(line->value) : NULL;
	struct rule_line parsed;

	if (!line->key || strcmp(line->key, "rule") || rule_parse_line(value, &parsed) ||
	    parsed.pods)
		return false;
	*rule = parsed.rule;
	return true;
}

static bool same_options(const struct line *line, const struct line *other)
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
		fprintf(e->out, "%s\n", l->line[from].text);
}

/* Writes a section that is in both: new rules before the old ones, new values instead of old ones. */
static void merge_section(const struct editing *e, size_t head, size_t end, size_t new_head)
{
	size_t new_end = end_of(&e->new, new_head, e->new.n);
	bool are_rules = !strcmp(e->old.line[head].head, RULES_SECTION);

	copy(e, &e->old, head, head + 1);
	copy(e, &e->new, new_head + 1, new_end);
	for (size_t i = head + 1; i < end; i++) {
		bool is_replaced = !e->old.line[i].is_idle && !are_rules;

		for (size_t k = new_head + 1; are_rules && !is_replaced && k < new_end; k++)
			is_replaced = same_options(&e->old.line[i], &e->new.line[k]);
		if (!is_replaced)
			copy(e, &e->old, i, i + 1);
	}
}

/* Writes new sections that the instance does not have in the lines from head to end. */
static void add_sections(const struct editing *e, size_t head, size_t end, bool rules)
{
	for (size_t i = find_head(&e->new, 1, e->new.n, NULL); i < e->new.n;
	     i = find_head(&e->new, i + 1, e->new.n, NULL)) {
		const char *name = e->new.line[i].head;

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

	copy(e, &e->old, head, i);
	for (size_t k = 1; k < end_of(&e->new, 0, e->new.n); k++) {
		const struct line *line = &e->new.line[k];

		if (line->key && strcmp(line->key, "algorithm") &&
		    !has_line(&e->old, head, i, line))
			copy(e, &e->new, k, k + 1);
	}
	for (; i < end; i = next) {
		const char *name = e->old.line[i].head;

		next = name ? end_of(&e->old, i, end) : i + 1;
		new_head = name ? find_head(&e->new, 1, e->new.n, name) : e->new.n;
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

static size_t find_next_instance(const struct lines *l, size_t head)
{
	size_t i = head + 1;

	while (i < l->n && !(l->line[i].head && !strncmp(l->line[i].head, INSTANCE_SECTION " ",
							 strlen(INSTANCE_SECTION " "))))
		i++;
	return without_rest(l, head, i);
}

char *machine_edit(const char *file, const char *instance)
{
	char *old AUTO_FREE = mem_copy(file), *new AUTO_FREE = mem_copy(instance), *text = NULL;
	struct editing e = { lines_of(old), lines_of(new), NULL };
	size_t n, head, end;

	e.out = mem_need(open_memstream(&text, &n));
	head = find_head(&e.old, 0, e.old.n, e.new.line[0].head);
	end = head < e.old.n ? find_next_instance(&e.old, head) : head;
	copy(&e, &e.old, 0, head);
	if (head < e.old.n) {
		merge_instance(&e, head, end);
	} else {
		if (head && *e.old.line[head - 1].copy)
			fputc('\n', e.out);
		copy(&e, &e.new, 0, e.new.n);
	}
	copy(&e, &e.old, end, e.old.n);
	mem_check(!fclose(e.out) && text);
	free_lines(&e.old);
	free_lines(&e.new);
	return text;
}
