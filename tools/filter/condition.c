// SPDX-License-Identifier: GPL-2.0-only
/*
 * FIELD [ COMPARE ] VALUE. FIELD is one of ss(8)'s, one of a few of ours, or the JSON key of a
 * value of an event.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "event/field.h"
#include "expression.h"

#define KEY_LEN 256

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

static enum filter_compare take_compare(struct lexer *l)
{
	for (size_t i = 0; i < sizeof(compares) / sizeof(compares[0]); i++)
		if (lexer_take(l, compares[i].word))
			return compares[i].compare;
	return FILTER_EQ;
}

static bool take_ordered(struct lexer *l, struct filter_node *node, bool has_order)
{
	size_t at = l->at;

	node->compare = take_compare(l);
	return node->compare <= FILTER_NE || has_order ||
	       lexer_refuse(l, l->word_at > at ? l->word_at : at, "this field has no order",
			    "use = or !=; < and > work for ports and numbers");
}

static bool find_device(struct expression *x, const char *word, struct filter_node *node,
			const char *name)
{
	const struct filter_system *system = x->system;

	return system->device(system->ctx, word, name, &node->device.list, &node->device.n) ||
	       lexer_point(&x->lexer, x->lexer.word_at,
			   "give the name or the index of a network device");
}

#define VALUE_LEN 256

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
 * link-local address is. Returns -1 after printing what is wrong.
 */
static int with_device(struct expression *x, const char *word, int host, const char *name)
{
	int device;

	if (host < 0 || !name)
		return host;
	device = expression_needs_socket(x) ? expression_node(x, FILTER_DEVICE, -1, -1) : -1;
	if (device < 0 || !find_device(x, word, &x->f->nodes[device], name))
		return -1;
	return expression_node(x, FILTER_AND, host, device);
}

static int parse_host(struct expression *x, const char *word, int n)
{
	struct filter_node *node = &x->f->nodes[n];
	bool is_not = node->compare == FILTER_NE;
	char value[VALUE_LEN], name[VALUE_LEN];
	const char *device;

	if (!lexer_take_value(&x->lexer, value, sizeof(value)))
		return -1;
	device = cut_device(value, name);
	if (!value_host(&x->lexer, word, node, value))
		return -1;
	if (!device)
		return n;
	node->compare = FILTER_EQ;
	n = with_device(x, word, n, device);
	return n < 0 || !is_not ? n : expression_node(x, FILTER_NOT, n, -1);
}

static bool parse_value(struct expression *x, const char *word, struct filter_node *node)
{
	const struct filter_system *system = x->system;
	struct lexer *l = &x->lexer;
	char value[256];

	if (!lexer_take_value(l, value, sizeof(value)))
		return false;
	switch (node->op) {
	case FILTER_PORT:
		return value_port(l, node, value);
	case FILTER_MARK:
		return value_mark(l, word, node, value);
	case FILTER_CGROUP:
		return system->cgroup(word, value, &node->cgroup) ||
		       lexer_point(l, l->word_at, "the path of a cgroup");
	case FILTER_DEVICE:
		return find_device(x, word, node, value);
	case FILTER_NAME:
		return value_name(l, node, value, BBR_NAME_LEN);
	case FILTER_PROFILE:
		return value_name(l, node, value, BBR_PROFILE_NAME_LEN);
	case FILTER_MODE:
		return value_mode(x, node, value);
	case FILTER_REASON:
		x->f->needs_reason = true;
		return value_reason(x, node, value);
	default:
		return false;
	}
}

static const struct word *take_word(struct lexer *l)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (lexer_take(l, words[i].word))
			return &words[i];
	return NULL;
}

/* Parses what follows the word. */
static int parse_word(struct expression *x, const struct word *word)
{
	struct filter_node *node;
	int n;

	if (word->needs_socket && !expression_needs_socket(x))
		return -1;
	n = expression_node(x, word->op, -1, -1);
	if (n < 0)
		return -1;
	node = &x->f->nodes[n];
	node->is_remote = word->is_remote;
	if (!take_ordered(&x->lexer, node, word->has_order))
		return -1;
	if (word->op == FILTER_HOST)
		return parse_host(x, word->word, n);
	return parse_value(x, word->word, node) ? n : -1;
}

/* Takes a field of any algorithm. The first algorithm that has it defines its values. */
static const struct field *take_field(struct expression *x)
{
	char key[KEY_LEN];
	const struct field *f = NULL;

	if (lexer_peek(&x->lexer, key, sizeof(key)))
		f = known_field(x->known, key);
	if (f)
		lexer_take(&x->lexer, key);
	return f;
}

/* Parses what follows the key. */
static int parse_field(struct expression *x, const struct field *f)
{
	int n = expression_node(x, FILTER_FIELD, -1, -1);
	struct lexer *l = &x->lexer;
	struct filter_node *node;
	char value[256];

	if (n < 0)
		return -1;
	node = &x->f->nodes[n];
	node->field.of.key = f->key;
	x->f->needs |= f->needs;
	if (!take_ordered(l, node, f->unit != FIELD_NAME && f->unit != FIELD_FLAG))
		return -1;
	return lexer_take_value(l, value, sizeof(value)) && value_field(x, node, f, value) ? n : -1;
}

/* An address or a port without a word before it: of either end. */
static bool is_host(struct lexer *l)
{
	const char *s = l->text + l->at;
	char word[KEY_LEN];

	return isdigit((unsigned char)*s) || *s == '[' || *s == ':' ||
	       (lexer_peek(l, word, sizeof(word)) && s[strlen(word)] == ':');
}

static int parse_either_end(struct expression *x)
{
	int local = expression_node(x, FILTER_HOST, -1, -1), remote;
	struct filter_node *nodes = x->f->nodes;
	char value[VALUE_LEN], name[VALUE_LEN];
	const char *device;

	if (local < 0 || !lexer_take_value(&x->lexer, value, sizeof(value)))
		return -1;
	device = cut_device(value, name);
	if (!value_host(&x->lexer, "address", &nodes[local], value))
		return -1;
	remote = expression_node(x, FILTER_HOST, -1, -1);
	if (remote < 0)
		return -1;
	nodes[remote] = nodes[local];
	nodes[remote].is_remote = true;
	return with_device(x, "address", expression_node(x, FILTER_OR, local, remote), device);
}

static int refuse(const struct expression *x)
{
	const struct lexer *l = &x->lexer;
	struct name_list fields = {};

	lexer_refuse(l, l->at, l->text[l->at] ? "not a condition" : "a condition is missing",
		     "an address or a port: 10.0.0.0/8, [fd00::1]:443, :443; or one of: dst, src, "
		     "dport,");
	remedy("sport, fwmark, cgroup, dev, instance, profile, mode, reason, or a key of JSON with "
	       "a "
	       "value:");
	name_list_add_fields(&fields, x->known);
	name_list_print(&fields);
	return -1;
}

int condition_parse(struct expression *x)
{
	const struct word *word = take_word(&x->lexer);
	const struct field *f = word ? NULL : take_field(x);

	if (word)
		return parse_word(x, word);
	if (f)
		return parse_field(x, f);
	return is_host(&x->lexer) ? parse_either_end(x) : refuse(x);
}
