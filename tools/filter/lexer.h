/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the words, signs and values of a filter expression, and prints messages that point at a
 * place in it.
 */
#ifndef TOOLS_LEXER_H
#define TOOLS_LEXER_H

#include <stdbool.h>
#include <stddef.h>

struct lexer {
	const char *text;
	size_t at; /* where the next one begins */
	size_t word_at; /* of the last word, sign or value that was read */
};

/* Is there nothing left but blanks? Skips them. */
bool lexer_is_at_end(struct lexer *l);

/* Takes a sign, or a word as a whole. False: something else is next. */
bool lexer_take(struct lexer *l, const char *word);

/* Copies the next word without taking it. False: there is none, or no room for it. */
bool lexer_peek(struct lexer *l, char *buf, size_t size);

/*
 * Takes a value: everything up to a blank or a sign that may follow. A backslash makes the next
 * character part of the value. Returns false after printing what is wrong.
 */
bool lexer_take_value(struct lexer *l, char *buf, size_t size);

/* Prints what is wrong, where, and what to do. */
bool lexer_refuse(const struct lexer *l, size_t at, const char *why, const char *what_to_do);

/* The same if what is wrong was already printed. Both return false. */
bool lexer_point(const struct lexer *l, size_t at, const char *what_to_do);

/* Does this character separate words? */
bool lexer_is_blank(char c);

#endif
