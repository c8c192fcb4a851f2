// SPDX-License-Identifier: GPL-2.0-only
/*
 * What "name", "profile", "mode", "reason" and fields with names are compared with.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "value.h"

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
