/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text that others wrote: names of cgroups, namespaces and processes. Nearly all of them can be
 * printed as they are. Any other is put into double quotes, with escapes: `"/a\x1b[2J"`. A file that
 * bbrctl reads, a terminal and JSON have the same form, and text_unquote() reads it back.
 */
#ifndef LIB_TEXT_H
#define LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <linux/types.h>

/* The most bytes that text of len bytes takes in quotes, with the closing 0. */
#define TEXT_QUOTED_LEN(len) (4 * (len) + 3)

/*
 * Returns the text itself if a terminal and a file can take it as it is, otherwise the text in
 * quotes. That is valid until the fourth call after this one.
 */
const char *text_shown(const char *text);

/*
 * Returns the text as one word of a command that somebody may paste: nothing in it means anything to
 * a shell. What a terminal should not get is in $'...', which sh does not know, but bash, ksh and
 * zsh do. It is valid as long as that of text_shown().
 */
const char *text_shell_word(const char *text);

/*
 * True if a candidate may be meant by a misspelt word, and is nearer to it than those before: it
 * differs by at most two letters, or half of them. *best is 0 before the first one.
 */
bool text_is_nearer(const char *word, const char *candidate, size_t *best);

/* Reads the first line of a file, without its end; false, and "", if there is none. */
bool text_first_line(const char *path, char *line, size_t size);

/* What text_read_line() found. */
enum text_line {
	TEXT_LINE,
	TEXT_LAST_LINE, /* the file ends, or cannot be read, before the line does */
	TEXT_ZERO_BYTE,
	TEXT_LONG_LINE /* longer than size - 1 */
};

/* Reads a line of a file into size bytes, without its end. */
enum text_line text_read_line(FILE *in, char *line, size_t size);

/* True if it is UTF-8; and if nobody can take it for another text, so that a page can have it. */
bool text_is_utf8(const char *text);
bool text_is_visible(const char *text);

/* The length of the character that text begins with, and its code point; 0: it is not UTF-8. */
size_t text_char(const char *text, unsigned int *code);
/* The same; 0 also if it is invisible, or has an effect on what is around it. */
size_t text_visible_char(const char *text);

/* Puts text into quotes, whatever it is. Returns its length; cuts what does not fit into size. */
size_t text_quote(char *to, size_t size, const char *text);

/* Takes text out of its quotes, if any, in place. Returns NULL, or what is wrong with them. */
const char *text_unquote(char *text);

/*
 * Ends text that anybody may have written into size bytes, and puts ? in place of what is no
 * printable ASCII, or among the characters `also`: so it may reach a terminal, or JSON.
 */
void text_tame(char *text, size_t size, const char *also);

/* Prints a message with \xHH in place of each byte that a terminal should not get. */
void text_print(FILE *out, const char *message);

/*
 * Prints words in lines of this width, as far as they allow. at: the characters that the first line
 * has already; hang: the indent of the others. The lines of a command end in a backslash, and none
 * ends within its quotes.
 */
#define TEXT_WIDTH 80
void text_print_wrapped(FILE *out, const char *text, int at, int hang, int width, bool is_command);

/*
 * Text that goes to a file in few pieces: a stdio call for each word takes longer than writing the
 * word.
 */
struct buffered {
	FILE *out;
	size_t n;
	char buf[4096];
};

void buffered_begin(struct buffered *b, FILE *out);
void buffered_put(struct buffered *b, const char *s, size_t len);
void buffered_text(struct buffered *b, const char *s);
void buffered_count(struct buffered *b, __u64 value);
/*
 * Makes room for len bytes, at most the size of buf, after the n bytes in it. The caller writes
 * them and then increases n.
 */
char *buffered_room(struct buffered *b, size_t len);
/* Writes what is left to the file. */
void buffered_end(struct buffered *b);

#endif
