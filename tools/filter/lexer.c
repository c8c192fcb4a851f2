// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>

#include "cli/err.h"
#include "expression.h"

bool lexer_point(const struct lexer *l, size_t at, const char *what_to_do)
{
	remedy("%s", l->text);
	remedy("%*s^", (int)at, "");
	remedy("%s", what_to_do);
	return false;
}

bool lexer_refuse(const struct lexer *l, size_t at, const char *why, const char *what_to_do)
{
	err("filter, at column %zu: %s", at + 1, why);
	return lexer_point(l, at, what_to_do);
}

bool lexer_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static void skip_blanks(struct lexer *l)
{
	while (lexer_is_blank(l->text[l->at]))
		l->at++;
}

bool lexer_is_at_end(struct lexer *l)
{
	skip_blanks(l);
	return !l->text[l->at];
}

static size_t word_len(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '-' || s[n] == '.')
		n++;
	return n;
}

bool lexer_take(struct lexer *l, const char *word)
{
	const char *s;
	size_t len = strlen(word);

	skip_blanks(l);
	s = l->text + l->at;
	if (strncmp(s, word, len) || (isalpha((unsigned char)word[0]) && word_len(s) != len))
		return false;
	l->word_at = l->at;
	l->at += len;
	return true;
}

bool lexer_peek(struct lexer *l, char *buf, size_t size)
{
	size_t len;

	skip_blanks(l);
	len = word_len(l->text + l->at);
	if (!len || len >= size)
		return false;
	memcpy(buf, l->text + l->at, len);
	buf[len] = 0;
	return true;
}

static bool ends_value(char c)
{
	return !c || lexer_is_blank(c) || strchr(")&|", c);
}

bool lexer_take_value(struct lexer *l, char *buf, size_t size)
{
	size_t n = 0;

	skip_blanks(l);
	l->word_at = l->at;
	for (char c; !ends_value(c = l->text[l->at]); l->at++) {
		if (c == '\\' && l->text[l->at + 1])
			c = l->text[++l->at];
		if (n + 1 == size)
			return lexer_refuse(l, l->word_at, "this value is too long",
					    "make it shorter");
		buf[n++] = c;
	}
	buf[n] = 0;
	if (!n)
		return lexer_refuse(l, l->word_at, "a value is missing",
				    "add a value to compare with");
	return true;
}
