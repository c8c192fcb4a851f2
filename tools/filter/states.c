// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of TCP that ss(8) knows, and sets of them.
 */
#include <strings.h>

#include <netinet/tcp.h>

#include "expression.h"

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
