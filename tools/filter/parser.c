// SPDX-License-Identifier: GPL-2.0-only
/*
 * The grammar of ss(8), as ss implements it and not as its manual says: "and", "or" and nothing at
 * all between two conditions bind alike, from left to right.
 *
 *   filter  = { ( "state" | "exclude" ) STATE } [ list ]
 *   list    = term { [ "and" | "or" ] term }
 *   term    = "not" term | "(" list ")" | condition
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <netinet/tcp.h>

#include "cli/err.h"
#include "expression.h"

static int parse_list(struct expression *x);

static int parse_parentheses(struct expression *x)
{
	size_t open = x->lexer.word_at;
	int inner = parse_list(x);

	if (inner < 0)
		return -1;
	if (!lexer_take(&x->lexer, ")")) {
		lexer_refuse(&x->lexer, open, "this parenthesis is not closed",
			     "add \")\" after its last condition");
		return -1;
	}
	return inner;
}

static int parse_term(struct expression *x)
{
	struct lexer *l = &x->lexer;
	int n;

	if (x->depth == FILTER_DEPTH) {
		lexer_refuse(l, l->at, "too deep", "\"(\" and \"not\" can be nested 32 deep");
		return -1;
	}
	x->depth++;
	if (lexer_take(l, "!") || lexer_take(l, "not")) {
		n = parse_term(x);
		n = n < 0 ? -1 : expression_node(x, FILTER_NOT, n, -1);
	} else if (lexer_take(l, "(")) {
		n = parse_parentheses(x);
	} else {
		n = condition_parse(x);
	}
	x->depth--;
	return n;
}

static enum filter_op take_operator(struct lexer *l)
{
	if (lexer_take(l, "||") || lexer_take(l, "|") || lexer_take(l, "or"))
		return FILTER_OR;
	(void)(lexer_take(l, "&&") || lexer_take(l, "&") || lexer_take(l, "and"));
	return FILTER_AND; /* also if there is nothing */
}

static int parse_list(struct expression *x)
{
	struct lexer *l = &x->lexer;
	int left = parse_term(x);

	while (left >= 0 && !lexer_is_at_end(l) && l->text[l->at] != ')') {
		enum filter_op op = take_operator(l);
		int right = parse_term(x);

		left = right < 0 ? -1 : expression_node(x, op, left, right);
	}
	return left;
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if (!lexer_is_blank(*s) && !isprint((unsigned char)*s))
			return false;
	return true;
}

bool filter_parse(struct filter *f, const char *text, const struct filter_system *system,
		  const struct known *known)
{
	struct expression x = { .f = f, .system = system, .known = known, .lexer.text = text };

	filter_init(f);
	if (!is_printable(text)) {
		err("filter: unprintable character");
		remedy("write filters in ASCII");
		return false;
	}
	if (!states_parse(&x))
		return false;
	if (lexer_is_at_end(&x.lexer))
		return true;
	f->root = parse_list(&x);
	if (f->root < 0)
		return false;
	return lexer_is_at_end(&x.lexer) ||
	       lexer_refuse(&x.lexer, x.lexer.at, "this parenthesis closes nothing", "remove it");
}

bool filter_parse_words(struct filter *f, int n, char **words, const struct filter_system *system,
			const struct known *known)
{
	size_t len = 1, at = 0;
	bool is_parsed;
	char *text;

	for (int i = 0; i < n; i++)
		len += strlen(words[i]) + 1;
	text = malloc(len);
	if (!text) {
		filter_init(f);
		err("filter: %s", strerror(ENOMEM));
		return false;
	}
	for (int i = 0; i < n; i++)
		at += sprintf(text + at, "%s%s", i ? " " : "", words[i]);
	text[at] = 0;
	is_parsed = filter_parse(f, text, system, known);
	free(text);
	return is_parsed;
}

int expression_node(struct expression *x, enum filter_op op, int left, int right)
{
	struct filter *f = x->f;

	if (f->n == FILTER_NODES) {
		lexer_refuse(&x->lexer, x->lexer.word_at, "the expression is too long",
			     "at most 256 conditions and operators; use a prefix instead of its "
			     "addresses");
		return -1;
	}
	f->nodes[f->n] = (struct filter_node){ .op = op, .left = left, .right = right };
	return f->n++;
}

bool expression_needs_socket(struct expression *x)
{
	x->f->needs_socket = true;
	return x->system ||
	       lexer_refuse(&x->lexer, x->lexer.word_at, "events cannot be filtered by this",
			    "bbrmon snapshot has it");
}

/*
 * The states of TCP that ss(8) knows, and sets of them.
 */

#define BIT(n) (1u << (n))
/* States in which the kernel keeps no full socket. */
#define BUCKET (BIT(TCP_SYN_RECV) | BIT(TCP_TIME_WAIT))
#define CONNECTED (FILTER_ALL_STATES & ~(BIT(TCP_LISTEN) | BIT(TCP_CLOSE)))

static const struct {
	const char *word;
	unsigned int states;
} states[] = {
	{ "established", BIT(TCP_ESTABLISHED) },
	{ "syn-sent", BIT(TCP_SYN_SENT) },
	{ "syn-recv", BIT(TCP_SYN_RECV) },
	{ "fin-wait-1", BIT(TCP_FIN_WAIT1) },
	{ "fin-wait-2", BIT(TCP_FIN_WAIT2) },
	{ "time-wait", BIT(TCP_TIME_WAIT) },
	{ "closed", BIT(TCP_CLOSE) },
	{ "close-wait", BIT(TCP_CLOSE_WAIT) },
	{ "last-ack", BIT(TCP_LAST_ACK) },
	{ "listening", BIT(TCP_LISTEN) },
	{ "closing", BIT(TCP_CLOSING) },
	{ "all", FILTER_ALL_STATES },
	{ "connected", CONNECTED },
	{ "synchronized", CONNECTED & ~BIT(TCP_SYN_SENT) },
	{ "bucket", BUCKET },
	{ "big", FILTER_ALL_STATES & ~BUCKET },
};

static bool parse_state(struct lexer *l, unsigned int *mask)
{
	char value[32];

	if (!lexer_take_value(l, value, sizeof(value)))
		return false;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (!strcasecmp(value, states[i].word)) {
			*mask = states[i].states;
			return true;
		}
	}
	return lexer_refuse(
		l, l->word_at, "not a state",
		"established, syn-sent, fin-wait-1, fin-wait-2, close-wait, last-ack, closing, "
		"closed, connected, synchronized, ...");
}

/*
 * "state" adds states, the first one to none; "exclude" removes states. Without either the filter
 * takes all.
 */
bool states_parse(struct expression *x)
{
	struct filter *f = x->f;
	unsigned int mask = 0;
	bool any = false;

	f->states = FILTER_ALL_STATES;
	for (;;) {
		bool add = lexer_take(&x->lexer, "state");

		if (!add && !lexer_take(&x->lexer, "exclude"))
			return true;
		if (!expression_needs_socket(x) || !parse_state(&x->lexer, &mask))
			return false;
		if (!any && add)
			f->states = 0;
		f->states = add ? f->states | mask : f->states & ~mask;
		any = true;
	}
}
