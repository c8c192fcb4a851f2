// SPDX-License-Identifier: GPL-2.0-only
/*
 * The grammar of ss(8), as ss implements it and not as its manual says: "and", "or" and nothing at
 * all between two conditions bind alike, from left to right.
 *
 *   filter    = { ( "state" | "exclude" ) STATE } [ list ]
 *   list      = term { [ "and" | "or" ] term }
 *   term      = "not" term | "(" list ")" | condition
 *   condition = FIELD [ COMPARE ] VALUE | [ ADDRESS ] [ ":" PORT ]
 *
 * FIELD is one of ss(8)'s, one of a few of ours, or the JSON key of a value of an event.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sys/stat.h>

#include <netinet/tcp.h>

#include "address.h"
#include "cli/err.h"
#include "cli/units.h"
#include "filter.h"

#define VALUE_LEN 256

struct expression {
	struct filter *f;
	const struct filter_system *system; /* NULL: the expression is for events */
	const struct known *known;
	const char *text;
	size_t at; /* where the next word, sign or value begins */
	size_t word_at; /* of the last one that was read */
	int depth; /* of parentheses and "not" */
};

/* ---- words, signs and values */

/* Prints the place of a mistake, why it is one, and a remedy. Returns false. */
static bool point(const struct expression *x, size_t at, const char *what_to_do)
{
	remedy("%s", x->text);
	remedy("%*s^", (int)at, "");
	remedy("%s", what_to_do);
	return false;
}

static bool refuse_at(const struct expression *x, size_t at, const char *why,
		      const char *what_to_do)
{
	err("filter, at column %zu: %s", at + 1, why);
	return point(x, at, what_to_do);
}

/* Refuses the last word, sign or value. */
static bool refuse(const struct expression *x, const char *why, const char *what_to_do)
{
	return refuse_at(x, x->word_at, why, what_to_do);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static void skip_blanks(struct expression *x)
{
	while (is_blank(x->text[x->at]))
		x->at++;
}

static bool is_at_end(struct expression *x)
{
	skip_blanks(x);
	return !x->text[x->at];
}

static size_t word_len(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '-' || s[n] == '.')
		n++;
	return n;
}

/* Takes a sign, or a word as a whole. False: something else is next. */
static bool take(struct expression *x, const char *word)
{
	size_t len = strlen(word);
	const char *s;

	skip_blanks(x);
	s = x->text + x->at;
	if (strncmp(s, word, len) || (isalpha((unsigned char)word[0]) && word_len(s) != len))
		return false;
	x->word_at = x->at;
	x->at += len;
	return true;
}

/*
 * Takes a value: everything up to a blank or a sign that may follow. A backslash makes the next
 * character part of the value.
 */
static bool take_value(struct expression *x, char buf[VALUE_LEN])
{
	size_t n = 0;

	skip_blanks(x);
	x->word_at = x->at;
	for (char c; (c = x->text[x->at]) && !strchr(" \t\n)&|", c); x->at++) {
		if (c == '\\' && x->text[x->at + 1])
			c = x->text[++x->at];
		if (n + 1 == VALUE_LEN)
			return refuse(x, "this value is too long", "make it shorter");
		buf[n++] = c;
	}
	buf[n] = 0;
	return n || refuse(x, "a value is missing", "add a value to compare with");
}

/* Adds a node to the filter. Returns its index, or -1 after printing that there is no room. */
static int add_node(struct expression *x, enum filter_op op, int left, int right)
{
	struct filter *f = x->f;

	if (f->n == FILTER_NODES) {
		refuse(x, "the expression is too long",
		       "at most 256 conditions and operators; use a prefix instead of its "
		       "addresses");
		return -1;
	}
	f->nodes[f->n] = (struct filter_node){ .op = op, .left = left, .right = right };
	return f->n++;
}

/* Notes that only a socket has the value of the last word. False: the filter is for events. */
static bool need_socket(struct expression *x)
{
	x->f->needs_socket = true;
	return x->system ||
	       refuse(x, "events cannot be filtered by this", "bbrmon snapshot has it");
}

/*
 * ---- what conditions are compared with. Each function puts the value that was taken last into a
 * condition, or prints what is wrong and returns false. It may change the text of the value.
 */

static bool parse_service(const struct expression *x, const char *s, int *port)
{
	double number;

	if (strlen(s) <= 5 && !strchr(s, '.') && !parse_number(s, &number) && number <= 65535)
		*port = number;
	else
		*port = isalpha((unsigned char)s[0]) ? find_service(s) : -1;
	return *port >= 0 ||
	       refuse(x, "not a port", "0 to 65535, or the name of a service in /etc/services");
}

/* Cuts the port off a value, "ADDRESS:PORT" or "[ADDRESS]:PORT"; NULL: it has none. */
static bool split_host(const struct expression *x, char *value, char **address, char **port)
{
	char *colon = strchr(value, ':'), *close;

	*address = value;
	*port = NULL;
	if (value[0] == '[') {
		*address = value + 1;
		close = strchr(value, ']');
		if (!close)
			return refuse(x, "\"]\" is missing",
				      "an IPv6 address as [fd00::1], [fd00::/8], [fd00::1]:443");
		*close = 0;
		colon = close + 1;
		if (*colon && *colon != ':')
			return refuse(x, "\"]\" is not followed by a port",
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

/* `word` is the condition's word, for messages. */
static bool parse_host(const struct expression *x, const char *word, struct filter_node *node,
		       char *value)
{
	char *address, *port;

	node->host.port = -1;
	if (!split_host(x, value, &address, &port))
		return false;
	if (port && *port && strcmp(port, "*") && !parse_service(x, port, &node->host.port))
		return false;
	node->host.any = !*address || !strcmp(address, "*");
	if (node->host.any)
		return true;
	node->host.is_inet6 = strchr(address, ':');
	return parse_prefix(word, address, node->host.addr, node->host.mask) ||
	       point(x, x->word_at, "10.0.0.0/8, 10.0.0.1:443, [fd00::/8], [fd00::1]:443, :443");
}

static bool parse_mark_and_mask(const struct expression *x, const char *word,
				struct filter_node *node, char *value)
{
	char *slash = strchr(value, '/');

	if (slash)
		*slash++ = 0;
	node->mark.mask = ~0u;
	return (parse_mark(word, value, &node->mark.value) &&
		(!slash || parse_mark(word, slash, &node->mark.mask))) ||
	       point(x, x->word_at, "1, 0x10, or with a mask of the bits that count, 0x10/0xf0");
}

/* A name, which must be shorter than `size`. */
static bool set_name(const struct expression *x, struct filter_node *node, const char *value,
		     size_t size)
{
	if (strlen(value) >= size)
		return refuse(x, "this name is too long", "bbrctl status lists the names");
	strcpy(node->name, value);
	return true;
}

static bool refuse_name(const struct expression *x, const char *why, const struct name_list *names)
{
	refuse(x, why, "one of:");
	name_list_print(names);
	return false;
}

/* Looks for a value among names, and lists them. */
struct name_search {
	const char *value;
	const char *found; /* the first one that is it; NULL: none */
	struct name_list names;
};

static void try_names(struct name_search *s, const char *const *list, int n)
{
	for (int i = 0; i < n; i++) {
		if (!list[i])
			continue;
		name_list_add(&s->names, list[i]);
		if (!s->found && !strcasecmp(s->value, list[i]))
			s->found = list[i];
	}
}

/* A mode, "PROBE_BW", or one with its phase, "PROBE_BW/UP", of any of the algorithms. */
static bool parse_mode(const struct expression *x, struct filter_node *node, const char *value)
{
	struct name_search s = { .value = value };
	bool has_phase = strchr(value, '/');
	const struct algorithm *a;
	char text[512];

	for (size_t i = 0; (a = known_algorithm(x->known, i)); i++) {
		for (const struct algorithm_mode *m = a->modes; m < a->modes + a->n_modes; m++) {
			try_names(&s, &m->name, 1);
			for (int k = 0; has_phase && k < m->n_phases; k++) {
				const char *phase = text;

				if (!m->phases[k])
					continue;
				snprintf(text, sizeof(text), "%s/%s", m->name, m->phases[k]);
				try_names(&s, &phase, 1);
			}
		}
	}
	return s.found ? set_name(x, node, value, FILTER_NAME_LEN) :
			 refuse_name(x, "not a mode", &s.names);
}

static bool parse_reason(const struct expression *x, struct filter_node *node, const char *value)
{
	struct name_search s = { .value = value };
	const struct algorithm *a;

	x->f->needs_reason = true;
	for (size_t i = 0; (a = known_algorithm(x->known, i)); i++)
		try_names(&s, a->reasons, a->n_reasons);
	return s.found ? set_name(x, node, value, FILTER_NAME_LEN) :
			 refuse_name(x, "not a reason", &s.names);
}

/* The name of a value of the condition's field, in any of the algorithms. */
static bool parse_name_of_field(const struct expression *x, struct filter_node *node,
				const char *value)
{
	struct name_search s = { .value = value };
	const struct algorithm *a;

	for (size_t i = 0; (a = known_algorithm(x->known, i)); i++) {
		const struct field *f = field_find(a, node->field.of.key);

		if (f && f->unit == FIELD_NAME)
			try_names(&s, f->names, f->n_names);
	}
	node->field.name = s.found;
	return s.found || refuse_name(x, "not a value of this field", &s.names);
}

/* Parses a number as JSON has it, or as people write it. */
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

#define FIELD_END 0x1p63 /* no field has this value, or a greater one */

/*
 * Rounds up for < and >=, down for > and <=, so that whole numbers compare as with the value
 * itself. False: = or != with a fraction. value: below FIELD_END.
 */
static bool set_number(struct filter_node *node, double value)
{
	bool up = node->compare == FILTER_LT || node->compare == FILTER_GE;

	node->field.value = value;
	if (value > node->field.value && up)
		node->field.value++;
	return value == node->field.value || node->compare > FILTER_NE;
}

/* Any value of this field: a name, a flag, or a number. */
static bool parse_value_of_field(const struct expression *x, struct filter_node *node,
				 const struct field *f, const char *value)
{
	enum parse_error error;
	double number;

	node->field.of.key = f->key;
	x->f->needs |= f->needs;
	if (f->unit == FIELD_NAME)
		return parse_name_of_field(x, node, value);
	if (f->unit == FIELD_FLAG) {
		node->field.value = !strcasecmp(value, "true") || !strcmp(value, "1");
		return node->field.value || !strcasecmp(value, "false") || !strcmp(value, "0") ||
		       refuse(x, "neither true nor false", "true, false, 1 or 0");
	}
	error = parse_field_number(f, value, &number);
	if (error)
		return refuse(x, parse_error_text(error),
			      field_is_rate(f)	    ? "10mbit, or bits per second: 10000000" :
			      f->unit == FIELD_US   ? "5ms, or microseconds: 5000" :
			      f->unit == FIELD_GAIN ? "a decimal: 1.25" :
						      "a number: 10, 64k");
	if (number >= FIELD_END)
		return refuse(x, "too large for any field", "compare with a smaller number");
	return set_number(node, number) ||
	       refuse(x, "this field never has this value", "compare with < or >");
}

/* ---- conditions: each function returns the index of a node, or -1 after printing what is wrong */

static const struct word {
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
	{ "instance", FILTER_NAME, false, false, false },
	{ "name", FILTER_NAME, false, false, false }, /* as the option is called */
	{ "cc", FILTER_NAME, false, false, false },
	{ "profile", FILTER_PROFILE, false, false, false },
	{ "mode", FILTER_MODE, false, false, false },
	{ "reason", FILTER_REASON, false, false, false },
};

static const struct {
	const char *word;
	enum filter_compare compare;
} compares[] = {
	/* Longer signs come before the signs that they begin with. */
	{ "==", FILTER_EQ }, { "!=", FILTER_NE },  { ">=", FILTER_GE }, { "<=", FILTER_LE },
	{ "=", FILTER_EQ },  { ">", FILTER_GT },   { "<", FILTER_LT },	{ "eq", FILTER_EQ },
	{ "ne", FILTER_NE }, { "neq", FILTER_NE }, { "ge", FILTER_GE }, { "geq", FILTER_GE },
	{ "le", FILTER_LE }, { "leq", FILTER_LE }, { "gt", FILTER_GT }, { "lt", FILTER_LT },
};

static bool take_compare(struct expression *x, struct filter_node *node, bool has_order)
{
	size_t at = x->at;

	node->compare = FILTER_EQ;
	for (size_t i = 0; i < sizeof(compares) / sizeof(compares[0]); i++) {
		if (take(x, compares[i].word)) {
			node->compare = compares[i].compare;
			break;
		}
	}
	return node->compare <= FILTER_NE || has_order ||
	       refuse_at(x, x->word_at > at ? x->word_at : at, "this field has no order",
			 "use = or !=; < and > work for ports and numbers");
}

static bool find_device(struct expression *x, const char *word, struct filter_node *node,
			const char *name)
{
	const struct filter_system *system = x->system;

	return system->device(system->ctx, word, name, &node->device.list, &node->device.n) ||
	       point(x, x->word_at, "give the name or the index of a network device");
}

/*
 * Cuts the device out of "fe80::1%v0", "[fe80::1%v0]:80", "[fe80::1]%3:80", "10.0.0.1%3:80". NULL:
 * there is none. A name that is too long stays whole: its beginning may be another device's name.
 */
static const char *cut_device(char *value, char device[VALUE_LEN])
{
	char *percent = strchr(value, '%');
	size_t len = percent ? strcspn(percent + 1, "]:/") : 0;

	if (!percent)
		return NULL;
	snprintf(device, VALUE_LEN, "%.*s", (int)len, percent + 1);
	memmove(percent, percent + 1 + len, strlen(percent + 1 + len) + 1);
	return device;
}

/*
 * The condition `host`, and that the socket is bound to the device, as one that is connected to a
 * link-local address is.
 */
static int with_device(struct expression *x, const char *word, int host, const char *name)
{
	int device;

	if (host < 0 || !name)
		return host;
	device = need_socket(x) ? add_node(x, FILTER_DEVICE, -1, -1) : -1;
	if (device < 0 || !find_device(x, word, &x->f->nodes[device], name))
		return -1;
	return add_node(x, FILTER_AND, host, device);
}

static int host_condition(struct expression *x, const char *word, int n, char *value)
{
	struct filter_node *node = &x->f->nodes[n];
	bool is_not = node->compare == FILTER_NE;
	char name[VALUE_LEN];
	const char *device = cut_device(value, name);

	if (!parse_host(x, word, node, value))
		return -1;
	if (!device)
		return n;
	node->compare = FILTER_EQ;
	n = with_device(x, word, n, device);
	return n < 0 || !is_not ? n : add_node(x, FILTER_NOT, n, -1);
}

static bool parse_value(struct expression *x, const char *word, struct filter_node *node,
			char *value)
{
	int port;

	switch (node->op) {
	case FILTER_PORT:
		if (!parse_service(x, value + (value[0] == ':'), &port))
			return false;
		node->port = port;
		return true;
	case FILTER_MARK:
		return parse_mark_and_mask(x, word, node, value);
	case FILTER_CGROUP:
		return x->system->cgroup(word, value, &node->cgroup) == EXIT_DONE ||
		       point(x, x->word_at, "the path of a cgroup");
	case FILTER_DEVICE:
		return find_device(x, word, node, value);
	case FILTER_NAME:
		return set_name(x, node, value, BBR_NAME_LEN);
	case FILTER_PROFILE:
		return set_name(x, node, value, BBR_PROFILE_NAME_LEN);
	case FILTER_MODE:
		return parse_mode(x, node, value);
	case FILTER_REASON:
		return parse_reason(x, node, value);
	default:
		return parse_value_of_field(x, node, known_field(x->known, word), value);
	}
}

/* What follows the word. */
static int word_condition(struct expression *x, const struct word *word)
{
	struct filter_node *node;
	char value[VALUE_LEN];
	int n;

	if (word->needs_socket && !need_socket(x))
		return -1;
	n = add_node(x, word->op, -1, -1);
	if (n < 0)
		return -1;
	node = &x->f->nodes[n];
	node->is_remote = word->is_remote;
	if (!take_compare(x, node, word->has_order) || !take_value(x, value))
		return -1;
	if (word->op == FILTER_HOST)
		return host_condition(x, word->word, n, value);
	return parse_value(x, word->word, node, value) ? n : -1;
}

/* An address or a port without a word before it: of either end. */
static int either_end_condition(struct expression *x)
{
	int local = add_node(x, FILTER_HOST, -1, -1), remote;
	struct filter_node *nodes = x->f->nodes;
	char value[VALUE_LEN], name[VALUE_LEN];
	const char *device;

	if (local < 0 || !take_value(x, value))
		return -1;
	device = cut_device(value, name);
	if (!parse_host(x, "address", &nodes[local], value))
		return -1;
	remote = add_node(x, FILTER_HOST, -1, -1);
	if (remote < 0)
		return -1;
	nodes[remote] = nodes[local];
	nodes[remote].is_remote = true;
	return with_device(x, "address", add_node(x, FILTER_OR, local, remote), device);
}

static int refuse_condition(const struct expression *x)
{
	struct name_list fields = {};

	refuse_at(x, x->at, x->text[x->at] ? "not a condition" : "a condition is missing",
		  "an address or a port: 10.0.0.0/8, [fd00::1]:443, :443; or one of: dst, src, "
		  "dport,");
	remedy("sport, fwmark, cgroup, dev, instance, profile, mode, reason, or a key of JSON with "
	       "a value:");
	name_list_add_fields(&fields, x->known);
	name_list_print(&fields);
	return -1;
}

static int parse_condition(struct expression *x)
{
	const struct field *f;
	char key[VALUE_LEN];
	const char *s;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (take(x, words[i].word))
			return word_condition(x, &words[i]);
	s = x->text + x->at;
	snprintf(key, sizeof(key), "%.*s", (int)word_len(s), s);
	/* The first algorithm that has the field defines its values. */
	f = known_field(x->known, key);
	if (f && take(x, key))
		return word_condition(x, &(struct word){ .word = f->key,
							 .op = FILTER_FIELD,
							 .has_order = f->unit != FIELD_NAME &&
								      f->unit != FIELD_FLAG });
	if (isdigit((unsigned char)*s) || *s == '[' || *s == ':' || (*key && s[strlen(key)] == ':'))
		return either_end_condition(x);
	return refuse_condition(x);
}

/* ---- lists of conditions: the same */

static int parse_list(struct expression *x);

static int parse_term(struct expression *x)
{
	size_t open;
	int n;

	if (x->depth == FILTER_DEPTH) {
		refuse_at(x, x->at, "too deep", "\"(\" and \"not\" can be nested 32 deep");
		return -1;
	}
	x->depth++;
	if (take(x, "!") || take(x, "not")) {
		n = parse_term(x);
		n = n < 0 ? -1 : add_node(x, FILTER_NOT, n, -1);
	} else if (take(x, "(")) {
		open = x->word_at;
		n = parse_list(x);
		if (n >= 0 && !take(x, ")")) {
			refuse_at(x, open, "this parenthesis is not closed",
				  "add \")\" after its last condition");
			n = -1;
		}
	} else {
		n = parse_condition(x);
	}
	x->depth--;
	return n;
}

static int parse_list(struct expression *x)
{
	int left = parse_term(x);

	while (left >= 0 && !is_at_end(x) && x->text[x->at] != ')') {
		bool is_or = take(x, "||") || take(x, "|") || take(x, "or");
		int right;

		if (!is_or) /* "and", or nothing, which means the same */
			(void)(take(x, "&&") || take(x, "&") || take(x, "and"));
		right = parse_term(x);
		left = right < 0 ? -1 : add_node(x, is_or ? FILTER_OR : FILTER_AND, left, right);
	}
	return left;
}

/* ---- states of TCP that ss(8) knows, and sets of them */

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

static bool parse_state(struct expression *x, unsigned int *mask)
{
	char value[VALUE_LEN];

	if (!take_value(x, value))
		return false;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (!strcasecmp(value, states[i].word)) {
			*mask = states[i].states;
			return true;
		}
	}
	return refuse(x, "not a state",
		      "established, syn-sent, fin-wait-1, fin-wait-2, close-wait, last-ack, "
		      "closing, closed, connected, synchronized, ...");
}

/*
 * "state" adds states, the first one to none; "exclude" removes states. Without either the filter
 * takes all.
 */
static bool parse_states(struct expression *x)
{
	struct filter *f = x->f;
	unsigned int mask = 0;
	bool any = false;

	for (;;) {
		bool add = take(x, "state");

		if (!add && !take(x, "exclude"))
			return true;
		if (!need_socket(x) || !parse_state(x, &mask))
			return false;
		if (!any && add)
			f->states = 0;
		f->states = add ? f->states | mask : f->states & ~mask;
		any = true;
	}
}

bool filter_parse(struct filter *f, const char *text, const struct filter_system *system,
		  const struct known *known)
{
	struct expression x = { .f = f, .system = system, .known = known, .text = text };

	filter_init(f);
	for (const char *s = text; *s; s++) {
		if (!is_blank(*s) && !isprint((unsigned char)*s)) {
			err("filter: unprintable character\n"
			    "write filters in ASCII");
			return false;
		}
	}
	if (!parse_states(&x))
		return false;
	if (is_at_end(&x))
		return true;
	f->root = parse_list(&x);
	if (f->root < 0)
		return false;
	return is_at_end(&x) || refuse_at(&x, x.at, "this parenthesis closes nothing", "remove it");
}

bool filter_parse_words(struct filter *f, int n, char **words, const struct filter_system *system,
			const struct known *known)
{
	char *text AUTO_FREE = mem_copy("");
	bool is_parsed;
	struct stat st;

	for (int i = 0; i < n; i++)
		text = mem_join(text, " ", words[i]);
	is_parsed = filter_parse(f, text, system, known);
	if (!is_parsed && !known->recording && n && !stat(words[0], &st) && S_ISREG(st.st_mode))
		remedy("%s is a file; if it is a recording, name it with --read", words[0]);
	return is_parsed;
}
