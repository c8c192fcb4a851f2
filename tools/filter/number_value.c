// SPDX-License-Identifier: GPL-2.0-only
/*
 * What fields of an event are compared with.
 */
#include <string.h>
#include <strings.h>

#include "cli/units.h"
#include "event/field.h"
#include "value.h"

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
