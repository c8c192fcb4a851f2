// SPDX-License-Identifier: GPL-2.0-only
/* What the conditions of a filter are compared with: "dst" and the like, numbers, names. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>


#include "cli/units.h"
#include "event/field.h"
#include "address.h"
#include "expression.h"

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

static bool parse_service(const struct lexer *l, const char *s, int *port)
{
	if (parse_number_of_port(s, port))
		return true;
	*port = isalpha((unsigned char)s[0]) ? find_service(s) : -1;
	return *port >= 0 || lexer_refuse(l, l->word_at, "not a port",
					  "0 to 65535, or the name of a service in /etc/services");
}

bool value_port(const struct lexer *l, struct filter_node *node, const char *value)
{
	int port;

	if (!parse_service(l, value + (value[0] == ':'), &port))
		return false;
	node->port = port;
	return true;
}

/* Cuts the port off a value, "ADDRESS:PORT" or "[ADDRESS]:PORT"; NULL: it has none. */
static bool split_host(const struct lexer *l, char *value, char **address, char **port)
{
	char *colon = strchr(value, ':'), *close;

	*address = value;
	*port = NULL;
	if (value[0] == '[') {
		*address = value + 1;
		close = strchr(value, ']');
		if (!close)
			return lexer_refuse(l, l->word_at, "\"]\" is missing",
					    "an IPv6 address as [fd00::1], [fd00::/8], "
					    "[fd00::1]:443");
		*close = 0;
		colon = close + 1;
		if (*colon && *colon != ':')
			return lexer_refuse(l, l->word_at, "\"]\" is not followed by a port",
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

bool value_host(const struct lexer *l, const char *word, struct filter_node *node, char *value)
{
	char *address, *port;

	node->host.port = -1;
	if (!split_host(l, value, &address, &port))
		return false;
	if (port && *port && strcmp(port, "*") && !parse_service(l, port, &node->host.port))
		return false;
	node->host.any = !*address || !strcmp(address, "*");
	if (node->host.any)
		return true;
	node->host.is_inet6 = strchr(address, ':');
	if (!parse_prefix(word, address, node->host.addr, node->host.mask))
		return lexer_point(l, l->word_at,
				   "10.0.0.0/8, 10.0.0.1:443, [fd00::/8], [fd00::1]:443, :443");
	return true;
}

bool value_mark(const struct lexer *l, const char *word, struct filter_node *node, char *value)
{
	char *slash = strchr(value, '/');

	if (slash)
		*slash++ = 0;
	node->mark.mask = ~0u;
	if (!parse_mark(word, value, &node->mark.value) ||
	    (slash && !parse_mark(word, slash, &node->mark.mask)))
		return lexer_point(l, l->word_at,
				   "1, 0x10, or with a mask of the bits that count, 0x10/0xf0");
	return true;
}

/*
 * What "name", "profile", "mode", "reason" and fields with names are compared with.
 */

bool value_name(const struct lexer *l, struct filter_node *node, const char *value, size_t size)
{
	if (strlen(value) >= size)
		return lexer_refuse(l, l->word_at, "this name is too long",
				    "bbrctl status lists the names");
	strcpy(node->name, value);
	return true;
}

static bool refuse(const struct lexer *l, const char *why, const struct name_list *names)
{
	lexer_refuse(l, l->word_at, why, "one of:");
	name_list_print(names);
	return false;
}

/* Is it the mode, or the mode with one of its phases? Lists what it could be. */
static bool is_mode(const char *value, const struct algorithm_mode *mode, struct name_list *names)
{
	char text[512];

	name_list_add(names, mode->name);
	if (!strcasecmp(value, mode->name))
		return true;
	for (int i = 0; i < mode->n_phases; i++) {
		if (!mode->phases[i])
			continue;
		snprintf(text, sizeof(text), "%s/%s", mode->name, mode->phases[i]);
		if (!strcasecmp(value, text))
			return true;
		if (strchr(value, '/'))
			name_list_add(names, text);
	}
	return false;
}

bool value_mode(const struct expression *x, struct filter_node *node, const char *value)
{
	struct name_list names = {};
	const struct algorithm *a;

	for (size_t i = 0; (a = known_algorithm(x->known, i)); i++)
		for (int mode = 0; mode < a->n_modes; mode++)
			if (is_mode(value, &a->modes[mode], &names))
				return value_name(&x->lexer, node, value, FILTER_NAME_LEN);
	return refuse(&x->lexer, "not a mode", &names);
}

/* Is it one of these names? Lists them. NULL: it is not. */
static const char *find_name(const char *value, const char *const *list, int n,
			     struct name_list *names)
{
	for (int i = 0; i < n; i++) {
		if (!list[i])
			continue;
		if (!strcasecmp(value, list[i]))
			return list[i];
		name_list_add(names, list[i]);
	}
	return NULL;
}

bool value_reason(const struct expression *x, struct filter_node *node, const char *value)
{
	struct name_list names = {};
	const struct algorithm *a;

	for (size_t i = 0; (a = known_algorithm(x->known, i)); i++)
		if (find_name(value, a->reasons, a->n_reasons, &names))
			return value_name(&x->lexer, node, value, FILTER_NAME_LEN);
	return refuse(&x->lexer, "not a reason", &names);
}

bool value_field_name(const struct expression *x, struct filter_node *node, const char *value)
{
	struct name_list names = {};
	const struct algorithm *a;

	for (size_t i = 0; (a = known_algorithm(x->known, i)); i++) {
		const struct field *f = field_find(a, node->field.of.key);

		if (f && f->unit == FIELD_NAME)
			node->field.name = find_name(value, f->names, f->n_names, &names);
		if (node->field.name)
			return true;
	}
	return refuse(&x->lexer, "not a value of this field", &names);
}

/*
 * What fields of an event are compared with.
 */

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

static bool parse_flag(const struct lexer *l, struct filter_node *node, const char *value)
{
	node->field.value = !strcasecmp(value, "true") || !strcmp(value, "1");
	return node->field.value || !strcasecmp(value, "false") || !strcmp(value, "0") ||
	       lexer_refuse(l, l->word_at, "neither true nor false", "true, false, 1 or 0");
}

/*
 * Rounds up for < and >=, down for > and <=, so that whole numbers compare as with the value
 * itself. False: = or != with a fraction, or the value is too large.
 */
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

bool value_field(const struct expression *x, struct filter_node *node, const struct field *f,
		 const char *value)
{
	const struct lexer *l = &x->lexer;
	enum parse_error error;
	double number;

	if (f->unit == FIELD_NAME)
		return value_field_name(x, node, value);
	if (f->unit == FIELD_FLAG)
		return parse_flag(l, node, value);
	error = parse_field_number(f, value, &number);
	if (error)
		return lexer_refuse(l, l->word_at, parse_error_text(error),
				    field_is_rate(f)	  ? "10mbit, or bits per second: 10000000" :
				    f->unit == FIELD_US	  ? "5ms, or microseconds: 5000" :
				    f->unit == FIELD_GAIN ? "a decimal: 1.25" :
							    "a number: 10, 64k");
	return set_number(node, number) ||
	       lexer_refuse(l, l->word_at, "this field never has this value",
			    "compare with < or >");
}
