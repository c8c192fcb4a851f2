// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "text.h"
#include "units.h"

#define MAX_WORD 32 /* no longer one is compared */

/* No overlong forms, no surrogates, nothing above U+10FFFF. */
size_t text_char(const char *text, unsigned int *code)
{
	const unsigned char *c = (const unsigned char *)text;
	static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = c[0] < 0x80 ? 1 : c[0] < 0xc0 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

	if (!len || c[0] > 0xf4)
		return 0;
	*code = len == 1 ? c[0] : c[0] & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (c[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return len;
}

/*
 * Control characters move the cursor, or do more. Those without a width, those that change the
 * direction of the text, and other blanks than a blank make it look like another.
 */
static const struct {
	unsigned int first, last;
} invisible[] = {
	{ 0, 0x1f },	      { 0x7f, 0xa0 },	    { 0xad, 0xad },	   { 0x34f, 0x34f },
	{ 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x1680, 0x1680 },	   { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x2000, 0x200f },   { 0x2028, 0x202f },	   { 0x205f, 0x206f },
	{ 0x2800, 0x2800 },   { 0x3000, 0x3000 },   { 0x3164, 0x3164 },	   { 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xffff },	   { 0x13430, 0x1343f },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0x10ffff },
};

size_t text_visible_char(const char *text)
{
	unsigned int code;
	size_t len = text_char(text, &code);

	for (size_t i = 0; i < sizeof(invisible) / sizeof(invisible[0]); i++)
		if (code <= invisible[i].last)
			return code < invisible[i].first ? len : 0;
	return 0;
}

bool text_is_visible(const char *text)
{
	size_t len;

	for (; *text; text += len) {
		len = text_visible_char(text);
		if (!len)
			return false;
	}
	return true;
}

bool text_is_utf8(const char *text)
{
	unsigned int code;
	size_t len;

	for (; *text; text += len) {
		len = (unsigned char)*text < 0x80 ? 1 : text_char(text, &code);
		if (!len)
			return false;
	}
	return true;
}

/* Blanks at the ends are lost in a file, and what follows " ;" is a comment there. */
static bool is_plain(const char *text)
{
	return *text && !strchr(" \";", *text) && text[strlen(text) - 1] != ' ' &&
	       !strstr(text, " ;") && text_is_visible(text);
}

size_t text_quote(char *to, size_t size, const char *text)
{
	size_t n = 0, len;

	if (size < TEXT_QUOTED_LEN(0))
		return 0;
	to[n++] = '"';
	for (; *text && n + 6 <= size; text += len) { /* an escape, the quote and the 0 */
		len = text_visible_char(text);
		if (len && !strchr("\"\\;", *text)) {
			memcpy(to + n, text, len);
			n += len;
		} else if (*text == '"' || *text == '\\') {
			to[n++] = '\\';
			to[n++] = *text;
		} else {
			len = 1;
			n += sprintf(to + n, "\\x%02x", (unsigned char)*text);
		}
	}
	to[n++] = '"';
	to[n] = 0;
	return n;
}

/* Room that is valid until the fourth call after this one. */
static char *made_room(size_t size)
{
	static char *made[4];
	static unsigned int next;
	char **to = &made[next++ % 4];

	free(*to);
	*to = mem_new(size, 1);
	return *to;
}

const char *text_shown(const char *text)
{
	size_t size = TEXT_QUOTED_LEN(strlen(text));
	char *to;

	if (is_plain(text))
		return text;
	to = made_room(size);
	text_quote(to, size, text);
	return to;
}

const char *text_shell_word(const char *text)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789/._:@%+=,-";
	bool is_visible = text_is_visible(text);
	size_t len;
	char *word, *to;

	if (*text && !text[strspn(text, safe)])
		return text;
	word = made_room(4 * strlen(text) + sizeof("$''"));
	to = stpcpy(word, is_visible ? "'" : "$'");
	for (; *text; text += len) {
		len = text_visible_char(text);
		if (len && *text != '\'' && (is_visible || *text != '\\')) {
			memcpy(to, text, len);
			to += len;
			continue;
		}
		len = 1;
		to += is_visible ? sprintf(to, "'\\''") :
				   sprintf(to, "\\x%02x", (unsigned char)*text);
	}
	strcpy(to, "'");
	return word;
}

/* The value of two hexadecimal digits; 0, which no name contains, if they are none. */
static char hex_byte(const char *digits)
{
	char pair[3] = { digits[0], digits[0] ? digits[1] : 0 };

	return strspn(pair, "0123456789abcdefABCDEF") == 2 ? strtoul(pair, NULL, 16) : 0;
}

const char *text_unquote(char *text)
{
	char *from = text + 1, *to = text;

	if (*text != '"')
		return NULL;
	for (; *from && *from != '"'; from++) {
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		from++;
		if (*from == '"' || *from == '\\') {
			*to++ = *from;
			continue;
		}
		if (*from != 'x' || !hex_byte(from + 1))
			return "in quotes, \\ begins one of \\\\ \\\" \\xHH";
		*to++ = hex_byte(from + 1);
		from += 2;
	}
	if (!*from)
		return "the closing quote is missing (in quotes, write ; as \\x3b)";
	if (from[1])
		return "something follows the closing quote";
	*to = 0;
	return NULL;
}

void text_tame(char *text, size_t size, const char *also)
{
	text[size - 1] = 0;
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || strchr(also, *text))
			*text = '?';
}

void text_print(FILE *out, const char *message)
{
	size_t len;

	for (; *message; message += len) {
		len = text_visible_char(message);
		if (len)
			fwrite(message, 1, len, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)*message);
		len = len ? len : 1;
	}
}

void text_print_wrapped(FILE *out, const char *text, int at, int hang, int width, bool is_command)
{
	bool is_first = true, is_quoted = false;

	for (const char *word = text; *word;) {
		size_t len = 0;

		for (; word[len] && (is_quoted || !strchr(" \n", word[len])); len++)
			if (is_command && !is_quoted && word[len] == '\\' && word[len + 1])
				len++;
			else
				is_quoted ^= is_command && word[len] == '\'';
		if (!is_first && at + 1 + (int)len + (is_command ? 2 : 0) > width) {
			fprintf(out, "%s\n", is_command ? " \\" : "");
			at = fprintf(out, "%*s", hang, "");
			is_first = true;
		}
		at += fprintf(out, "%s%.*s", is_first ? "" : " ", (int)len, word);
		is_first = false;
		word += len + !!word[len];
	}
	fputc('\n', out);
}

enum text_line text_read_line(FILE *in, char *line, size_t size)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (!c)
			return TEXT_ZERO_BYTE;
		if (n == size - 1)
			return TEXT_LONG_LINE;
		line[n++] = c;
	}
	line[n] = 0;
	return c == EOF ? TEXT_LAST_LINE : TEXT_LINE;
}

bool text_first_line(const char *path, char *line, size_t size)
{
	FILE *f AUTO_FCLOSE = fopen(path, "re");
	bool has = f && fgets(line, size, f);

	line[has ? strcspn(line, "\n") : 0] = 0;
	return has;
}

void buffered_begin(struct buffered *b, FILE *out)
{
	b->out = out;
	b->n = 0;
}

void buffered_end(struct buffered *b)
{
	fwrite(b->buf, 1, b->n, b->out);
	b->n = 0;
}

char *buffered_room(struct buffered *b, size_t len)
{
	if (len > sizeof(b->buf) - b->n)
		buffered_end(b);
	return b->buf + b->n;
}

void buffered_put(struct buffered *b, const char *s, size_t len)
{
	char *to = buffered_room(b, len);

	if (len > sizeof(b->buf)) {
		fwrite(s, 1, len, b->out);
		return;
	}
	memcpy(to, s, len);
	b->n += len;
}

void buffered_text(struct buffered *b, const char *s)
{
	buffered_put(b, s, strlen(s));
}

void buffered_count(struct buffered *b, __u64 value)
{
	b->n += format_count(buffered_room(b, UNITS_LEN), value);
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * How many letters to change, to add, to leave out or to exchange with the next one make one word
 * the other. Long words are as far away as they are long.
 */
static size_t distance(const char *a, const char *b)
{
	size_t d[MAX_WORD][MAX_WORD], n_a = strlen(a), n_b = strlen(b);

	if (n_a >= MAX_WORD || n_b >= MAX_WORD)
		return n_a + n_b;
	for (size_t i = 0; i <= n_a; i++)
		for (size_t k = 0; k <= n_b; k++) {
			size_t least = i + k;

			if (i && k) {
				least = min(d[i - 1][k], d[i][k - 1]) + 1;
				least = min(least, d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
			}
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				least = min(least, d[i - 2][k - 2] + 1);
			d[i][k] = least;
		}
	return d[n_a][n_b];
}

bool text_is_nearer(const char *word, const char *candidate, size_t *best)
{
	size_t len = strlen(word), found = distance(word, candidate);

	if (!*best)
		*best = len < 4 ? len / 2 + 1 : 3;
	if (found >= *best)
		return false;
	*best = found;
	return true;
}
