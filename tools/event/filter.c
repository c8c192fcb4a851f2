// SPDX-License-Identifier: GPL-2.0-only
/*
 * The grammar of ss(8), as it is there and not as its manual says: "and", "or" and nothing at all between two
 * conditions bind alike, from left to right.
 *
 *   filter  = { ( "state" | "exclude" ) STATE } [ list ]
 *   list    = term { [ "and" | "or" ] term }
 *   term    = "not" term | "(" list ")" | FIELD [ COMPARE ] VALUE
 *
 * FIELD is one of ss(8), one of a few of ours, or the key that a value of an event has in JSON.
 */
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "address.h"
#include "kernel/clock.h"
#include "cli/err.h"
#include "event.h"
#include "field.h"
#include "filter.h"
#include "cli/units.h"

#define ALL_STATES (~0u)
#define BIT(n) (1u << (n))
/* Those of which the kernel keeps no full socket. */
#define BUCKET (BIT(TCP_SYN_RECV) | BIT(TCP_TIME_WAIT))
#define CONNECTED (ALL_STATES & ~(BIT(TCP_LISTEN) | BIT(TCP_CLOSE)))

struct parser {
	struct filter *f;
	const struct filter_system *system;
	const char *text;
	size_t at; /* what is to be read next */
	size_t word_at; /* of the last word or sign that was read */
	int depth;
};

static const struct {
	const char *word;
	enum filter_op op;
	bool is_remote;
	bool has_order; /* < and > mean something */
	bool needs_socket;
} words[] = {
	{ "dst", FILTER_HOST, true, false, false },
	{ "src", FILTER_HOST, false, false, false },
	{ "dport", FILTER_PORT, true, true, false },
	{ "sport", FILTER_PORT, false, true, false },
	{ "fwmark", FILTER_MARK, false, false, true },
	{ "mark", FILTER_MARK, false, false, true },
	{ "cgroup", FILTER_CGROUP, false, false, true },
	{ "dev", FILTER_DEVICE, false, false, true },
	{ "name", FILTER_NAME, false, false, false },
	{ "cc", FILTER_NAME, false, false, false },
	{ "profile", FILTER_PROFILE, false, false, false },
	{ "mode", FILTER_MODE, false, false, false },
};

#define N_WORDS (sizeof(words) / sizeof(words[0]))

static const struct {
	const char *word;
	enum filter_compare compare;
} compares[] = {
	/* Signs: the longer before those that they begin with. */
	{ "==", FILTER_EQ }, { "!=", FILTER_NE },  { ">=", FILTER_GE }, { "<=", FILTER_LE },
	{ "=", FILTER_EQ },  { ">", FILTER_GT },   { "<", FILTER_LT },	{ "eq", FILTER_EQ },
	{ "ne", FILTER_NE }, { "neq", FILTER_NE }, { "ge", FILTER_GE }, { "geq", FILTER_GE },
	{ "le", FILTER_LE }, { "leq", FILTER_LE }, { "gt", FILTER_GT }, { "lt", FILTER_LT },
};

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
	{ "all", ALL_STATES },
	{ "connected", CONNECTED },
	{ "synchronized", CONNECTED & ~BIT(TCP_SYN_SENT) },
	{ "bucket", BUCKET },
	{ "big", ALL_STATES & ~BUCKET },
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* The place in the expression, and what to do. */
static bool point(const struct parser *p, size_t at, const char *what_to_do)
{
	remedy("%s", p->text);
	remedy("%*s^", (int)at, "");
	remedy("%s", what_to_do);
	return false;
}

static bool refuse(const struct parser *p, size_t at, const char *why, const char *what_to_do)
{
	err("filter, at column %zu: %s", at + 1, why);
	return point(p, at, what_to_do);
}

static void skip_blanks(struct parser *p)
{
	while (is_blank(p->text[p->at]))
		p->at++;
}

static size_t word_len(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '-')
		n++;
	return n;
}

/* Takes a sign, or a word as a whole. */
static bool take(struct parser *p, const char *word)
{
	const char *s;
	size_t len = strlen(word);

	skip_blanks(p);
	s = p->text + p->at;
	if (strncmp(s, word, len) || (isalpha((unsigned char)word[0]) && word_len(s) != len))
		return false;
	p->word_at = p->at;
	p->at += len;
	return true;
}

static bool ends_value(char c)
{
	return !c || is_blank(c) || strchr(")&|", c);
}

/* The next word, up to a blank or a sign that may follow; a backslash before a character takes that as it is. */
static bool take_value(struct parser *p, char *buf, size_t size)
{
	size_t n = 0;

	skip_blanks(p);
	p->word_at = p->at;
	for (char c; !ends_value(c = p->text[p->at]); p->at++) {
		if (c == '\\' && p->text[p->at + 1])
			c = p->text[++p->at];
		if (n + 1 == size)
			return refuse(p, p->word_at, "this value is too long", "make it shorter");
		buf[n++] = c;
	}
	buf[n] = 0;
	if (!n)
		return refuse(p, p->word_at, "a value is missing", "add a value to compare with");
	return true;
}

static int new_node(struct parser *p, enum filter_op op, int left, int right)
{
	struct filter *f = p->f;

	if (f->n == FILTER_NODES) {
		refuse(p, p->word_at, "the expression is too long",
		       "at most 256 conditions and operators; use a prefix instead of its "
		       "addresses");
		return -1;
	}
	f->nodes[f->n] = (struct filter_node){ .op = op, .left = left, .right = right };
	return f->n++;
}

static bool parse_number_of_port(const char *s, int *port)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)s[0]) || strlen(s) > 5)
		return false;
	n = strtoul(s, &end, 10);
	if (*end || n > 65535)
		return false;
	*port = n;
	return true;
}

static bool parse_service(const struct parser *p, const char *s, int *port)
{
	const struct servent *service;

	if (parse_number_of_port(s, port))
		return true;
	service = isalpha((unsigned char)s[0]) ? getservbyname(s, "tcp") : NULL;
	if (!service)
		return refuse(p, p->word_at, "not a port",
			      "0 to 65535, or the name of a service in /etc/services");
	*port = ntohs(service->s_port);
	return true;
}

static bool parse_port_value(struct parser *p, struct filter_node *node, char *value)
{
	int port;

	if (!parse_service(p, value + (value[0] == ':'), &port))
		return false;
	node->port = port;
	return true;
}

/* Cuts the port off a value, "ADDRESS:PORT" or "[ADDRESS]:PORT"; NULL: it has none. */
static bool split_host(const struct parser *p, char *value, char **address, char **port)
{
	char *colon = strchr(value, ':'), *close;

	*address = value;
	*port = NULL;
	if (value[0] == '[') {
		*address = value + 1;
		close = strchr(value, ']');
		if (!close)
			return refuse(p, p->word_at, "\"]\" is missing",
				      "an IPv6 address as [fd00::1], [fd00::/8], [fd00::1]:443");
		*close = 0;
		colon = close + 1;
		if (*colon && *colon != ':')
			return refuse(p, p->word_at, "\"]\" is not followed by a port",
				      "[fd00::1]:443, [fd00::/8]");
	} else if (colon && strchr(colon + 1, ':')) {
		return true; /* an IPv6 address needs its brackets only before a port */
	}
	if (colon && *colon) {
		*colon = 0;
		*port = colon + 1;
	}
	return true;
}

static bool parse_host(struct parser *p, const char *field, struct filter_node *node, char *value)
{
	char *address, *port;

	node->host.port = -1;
	if (!split_host(p, value, &address, &port))
		return false;
	if (port && *port && strcmp(port, "*") && !parse_service(p, port, &node->host.port))
		return false;
	node->host.any = !*address || !strcmp(address, "*");
	if (node->host.any)
		return true;
	node->host.is_inet6 = strchr(address, ':');
	if (!parse_prefix(field, address, node->host.addr, node->host.mask))
		return point(p, p->word_at,
			     "10.0.0.0/8, 10.0.0.1:443, [fd00::/8], [fd00::1]:443, :443");
	return true;
}

static bool parse_mark_value(struct parser *p, const char *field, struct filter_node *node,
			     char *value)
{
	char *slash = strchr(value, '/');

	if (slash)
		*slash++ = 0;
	node->mark.mask = ~0u;
	if (!parse_mark(field, value, &node->mark.value) ||
	    (slash && !parse_mark(field, slash, &node->mark.mask)))
		return point(p, p->word_at,
			     "1, 0x10, or with a mask of the bits that count, 0x10/0xf0");
	return true;
}

static bool parse_name(struct parser *p, struct filter_node *node, const char *value, size_t size)
{
	if (strlen(value) >= size)
		return refuse(p, p->word_at, "this name is too long",
			      "bbrctl status lists the names");
	strcpy(node->name, value);
	return true;
}

/* Names, as many as there is room for. */
struct name_list {
	char text[200];
	size_t len;
};

static void list_name(struct name_list *list, const char *name)
{
	size_t room = sizeof(list->text) - list->len, n = strlen(name) + 2;

	if (n < room)
		list->len +=
			snprintf(list->text + list->len, room, "%s%s", list->len ? ", " : "", name);
}

static bool parse_mode(struct parser *p, struct filter_node *node, const char *value)
{
	struct name_list list = {};

	for (size_t i = 0; i < n_algorithms; i++) {
		for (int mode = 0; mode < algorithms[i]->n_modes; mode++) {
			const char *name = algorithms[i]->modes[mode].name;

			if (!strcasecmp(value, name))
				return parse_name(p, node, value, FILTER_NAME_LEN);
			list_name(&list, name);
		}
	}
	return refuse(p, p->word_at, "not a mode", list.text);
}

/* What a name may be in any of the algorithms that have the field. */
static bool parse_field_name(struct parser *p, struct filter_node *node, const char *value)
{
	struct name_list list = {};

	for (size_t i = 0; i < n_algorithms; i++) {
		const struct field *f = field_find(algorithms[i], node->field.key);

		for (int k = 0; f && f->unit == FIELD_NAME && k < f->n_names; k++) {
			if (!strcasecmp(value, f->names[k])) {
				node->field.name = f->names[k];
				return true;
			}
			list_name(&list, f->names[k]);
		}
	}
	return refuse(p, p->word_at, "not one of its values", list.text);
}

/* A number as JSON has it, or as people write it. */
static enum parse_error parse_field_number(const struct field *f, const char *s, double *value)
{
	enum parse_error error = parse_number(s, value);

	if (error == PARSE_OK) {
		*value *= f->unit == FIELD_GAIN ? 256 : 1;
		return PARSE_OK;
	}
	if (field_is_rate(f))
		return parse_bitrate(s, value);
	if (f->unit == FIELD_US) {
		error = parse_duration(s, value);
		*value /= 1000;
	} else if (f->unit == FIELD_COUNT) {
		error = parse_size(s, value);
	}
	return error;
}

static bool parse_flag(struct parser *p, struct filter_node *node, const char *value)
{
	node->field.value = !strcasecmp(value, "true") || !strcmp(value, "1");
	return node->field.value || !strcasecmp(value, "false") || !strcmp(value, "0") ||
	       refuse(p, p->word_at, "not true or false", "true, false, 1 or 0");
}

/* Rounded up for < and >=, down for > and <=, so that whole numbers compare with it as it is. */
static bool set_number(struct filter_node *node, double value)
{
	bool up = node->compare == FILTER_LT || node->compare == FILTER_GE;

	if (value >= 0x1p63)
		return false;
	node->field.value = value;
	if (value > node->field.value && up)
		node->field.value++;
	return value == node->field.value || node->compare > FILTER_NE;
}

static bool parse_field_value(struct parser *p, struct filter_node *node, const struct field *f,
			      const char *value)
{
	enum parse_error error;
	double number;

	if (f->unit == FIELD_NAME)
		return parse_field_name(p, node, value);
	if (f->unit == FIELD_FLAG)
		return parse_flag(p, node, value);
	error = parse_field_number(f, value, &number);
	if (error)
		return refuse(p, p->word_at, parse_error_text(error),
			      field_is_rate(f)	    ? "10mbit, or bits per second: 10000000" :
			      f->unit == FIELD_US   ? "5ms, or microseconds: 5000" :
			      f->unit == FIELD_GAIN ? "a decimal: 1.25" :
						      "a number: 10, 64k");
	return set_number(node, number) ||
	       refuse(p, p->word_at, "it never has this value", "compare with < or >");
}

/* Of any algorithm; the first that has it says what its values are. */
static const struct field *find_field(const char *key)
{
	const struct field *f = NULL;

	for (size_t i = 0; i < n_algorithms && !f; i++)
		f = field_find(algorithms[i], key);
	return f;
}

static bool parse_value(struct parser *p, const char *field, struct filter_node *node)
{
	const struct filter_system *system = p->system;
	char value[256];

	if (!take_value(p, value, sizeof(value)))
		return false;
	switch (node->op) {
	case FILTER_HOST:
		return parse_host(p, field, node, value);
	case FILTER_PORT:
		return parse_port_value(p, node, value);
	case FILTER_MARK:
		return parse_mark_value(p, field, node, value);
	case FILTER_CGROUP:
		return system->cgroup(field, value, &node->cgroup) ||
		       point(p, p->word_at, "the path of a cgroup");
	case FILTER_DEVICE:
		return system->device(system->ctx, field, value, &node->device.list,
				      &node->device.n) ||
		       point(p, p->word_at, "the name of a network device, or its index");
	case FILTER_NAME:
		return parse_name(p, node, value, BBR_NAME_LEN);
	case FILTER_PROFILE:
		return parse_name(p, node, value, BBR_PROFILE_NAME_LEN);
	case FILTER_MODE:
		return parse_mode(p, node, value);
	case FILTER_FIELD:
		return parse_field_value(p, node, find_field(node->field.key), value);
	default:
		return false;
	}
}

static enum filter_compare take_compare(struct parser *p)
{
	for (size_t i = 0; i < sizeof(compares) / sizeof(compares[0]); i++)
		if (take(p, compares[i].word))
			return compares[i].compare;
	return FILTER_EQ;
}

/* The word that is next, if it is the key of a field. */
static const struct field *take_field(struct parser *p)
{
	const struct field *f;
	char word[FILTER_NAME_LEN];
	size_t len;

	skip_blanks(p);
	len = word_len(p->text + p->at);
	if (!len || len >= sizeof(word))
		return NULL;
	memcpy(word, p->text + p->at, len);
	word[len] = 0;
	f = find_field(word);
	if (f) {
		p->word_at = p->at;
		p->at += len;
	}
	return f;
}

static bool refuse_order(const struct parser *p, size_t at)
{
	return refuse(p, p->word_at > at ? p->word_at : at, "this cannot be ordered",
		      "use = or !=; < and > work for ports and numbers");
}

/* Behind its key. */
static bool parse_field(struct parser *p, struct filter_node *node, const struct field *f)
{
	bool has_order = f->unit != FIELD_NAME && f->unit != FIELD_FLAG;
	size_t at = p->at;

	node->field.key = f->key;
	p->f->needs |= f->needs;
	node->compare = take_compare(p);
	if (node->compare > FILTER_NE && !has_order)
		return refuse_order(p, at);
	return parse_value(p, f->key, node);
}

/* What was read last is something that only a socket has. */
static bool needs_socket(struct parser *p)
{
	p->f->needs_socket = true;
	return p->system ||
	       refuse(p, p->word_at, "an event does not have this", "bbrmon snapshot has it");
}

/* The index of its node, or -1. */
static int parse_condition(struct parser *p)
{
	const struct field *f = NULL;
	size_t word, at;
	int n;

	for (word = 0; word < N_WORDS && !take(p, words[word].word); word++)
		;
	if (word == N_WORDS)
		f = take_field(p);
	if (word == N_WORDS && !f) {
		refuse(p, p->at, p->text[p->at] ? "not a condition" : "a condition is missing",
		       "one of: dst, src, dport, sport, fwmark, cgroup, dev, name, profile, mode, "
		       "or a key of JSON: bw_bps > 10mbit");
		return -1;
	}
	if (!f && words[word].needs_socket && !needs_socket(p))
		return -1;
	n = new_node(p, f ? FILTER_FIELD : words[word].op, -1, -1);
	if (n < 0)
		return -1;
	if (f)
		return parse_field(p, &p->f->nodes[n], f) ? n : -1;
	at = p->at;
	p->f->nodes[n].is_remote = words[word].is_remote;
	p->f->nodes[n].compare = take_compare(p);
	if (p->f->nodes[n].compare > FILTER_NE && !words[word].has_order) {
		refuse_order(p, at);
		return -1;
	}
	return parse_value(p, words[word].word, &p->f->nodes[n]) ? n : -1;
}

static int parse_list(struct parser *p);

static int parse_parentheses(struct parser *p)
{
	size_t open = p->word_at;
	int inner = parse_list(p);

	if (inner < 0)
		return -1;
	if (!take(p, ")")) {
		refuse(p, open, "this parenthesis is not closed",
		       "add \")\" after its last condition");
		return -1;
	}
	return inner;
}

static int parse_term(struct parser *p)
{
	int n;

	if (p->depth == FILTER_DEPTH) {
		refuse(p, p->at, "too deep", "\"(\" and \"not\" can be nested 32 deep");
		return -1;
	}
	p->depth++;
	if (take(p, "!") || take(p, "not")) {
		n = parse_term(p);
		n = n < 0 ? -1 : new_node(p, FILTER_NOT, n, -1);
	} else if (take(p, "(")) {
		n = parse_parentheses(p);
	} else {
		n = parse_condition(p);
	}
	p->depth--;
	return n;
}

static enum filter_op take_operator(struct parser *p)
{
	if (take(p, "||") || take(p, "|") || take(p, "or"))
		return FILTER_OR;
	(void)(take(p, "&&") || take(p, "&") || take(p, "and"));
	return FILTER_AND; /* also if there is nothing */
}

static int parse_list(struct parser *p)
{
	int left = parse_term(p);

	for (skip_blanks(p); left >= 0 && p->text[p->at] && p->text[p->at] != ')'; skip_blanks(p)) {
		enum filter_op op = take_operator(p);
		int right = parse_term(p);

		left = right < 0 ? -1 : new_node(p, op, left, right);
	}
	return left;
}

static bool parse_state(struct parser *p, unsigned int *mask)
{
	char value[32];

	if (!take_value(p, value, sizeof(value)))
		return false;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (!strcasecmp(value, states[i].word)) {
			*mask = states[i].states;
			return true;
		}
	}
	return refuse(
		p, p->word_at, "not a state",
		"established, syn-sent, fin-wait-1, fin-wait-2, close-wait, last-ack, closing, "
		"closed, connected, synchronized, ...");
}

/* "state" adds to those that are wanted, of which there are none before the first; "exclude" takes away. */
static bool parse_states(struct parser *p)
{
	unsigned int mask;
	bool any = false;

	for (;;) {
		bool add = take(p, "state");

		if (!add && !take(p, "exclude"))
			return true;
		if (!needs_socket(p) || !parse_state(p, &mask))
			return false;
		if (!any && add)
			p->f->states = 0;
		p->f->states = add ? p->f->states | mask : p->f->states & ~mask;
		any = true;
	}
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if (!is_blank(*s) && !isprint((unsigned char)*s))
			return false;
	return true;
}

bool filter_parse(struct filter *f, const char *text, const struct filter_system *system)
{
	struct parser p = { .f = f, .system = system, .text = text };

	memset(f, 0, sizeof(*f));
	f->states = ALL_STATES;
	f->root = -1;
	if (!is_printable(text)) {
		err("filter: it contains an unprintable character");
		remedy("write filters in ASCII");
		return false;
	}
	if (!parse_states(&p))
		return false;
	skip_blanks(&p);
	if (!text[p.at])
		return true;
	f->root = parse_list(&p);
	if (f->root < 0)
		return false;
	skip_blanks(&p);
	if (text[p.at])
		return refuse(&p, p.at, "this parenthesis closes nothing", "remove it");
	return true;
}

bool filter_parse_words(struct filter *f, int n, char **words, const struct filter_system *system)
{
	size_t len = 1, at = 0;
	bool is_parsed;
	char *text;

	for (int i = 0; i < n; i++)
		len += strlen(words[i]) + 1;
	text = malloc(len);
	if (!text) {
		memset(f, 0, sizeof(*f));
		err("filter: %s", strerror(ENOMEM));
		return false;
	}
	for (int i = 0; i < n; i++)
		at += sprintf(text + at, "%s%s", i ? " " : "", words[i]);
	text[at] = 0;
	is_parsed = filter_parse(f, text, system);
	free(text);
	return is_parsed;
}

static bool has_room(const struct filter *f, int nodes)
{
	if (f->n + nodes <= FILTER_NODES)
		return true;
	err("filter: with the options it is too long");
	remedy("at most %d conditions and operators", FILTER_NODES);
	return false;
}

/* The condition, which is a node of it, must be true as well. */
static bool require(struct filter *f, int condition)
{
	if (f->root < 0) {
		f->root = condition;
		return true;
	}
	if (!has_room(f, 1))
		return false;
	f->nodes[f->n] =
		(struct filter_node){ .op = FILTER_AND, .left = f->root, .right = condition };
	f->root = f->n++;
	return true;
}

bool filter_add(struct filter *f, const struct filter_node *condition)
{
	if (!has_room(f, 1))
		return false;
	f->nodes[f->n] = *condition;
	return require(f, f->n++);
}

bool filter_add_names(struct filter *f, const char *const *names, int n)
{
	int any = -1;

	for (int i = 0; i < n; i++) {
		struct filter_node *node = &f->nodes[f->n];

		if (!has_room(f, 2))
			return false;
		node[0] = (struct filter_node){ .op = FILTER_NAME };
		/* A name that is cut off is none: they are shorter. */
		snprintf(node->name, sizeof(node->name), "%s", names[i]);
		node[1] = (struct filter_node){ .op = FILTER_OR, .left = any, .right = f->n };
		any = any < 0 ? f->n : f->n + 1;
		f->n = any + 1;
	}
	return !n || require(f, any);
}

void filter_free(struct filter *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->nodes[i].op == FILTER_DEVICE)
			free(f->nodes[i].device.list);
}
