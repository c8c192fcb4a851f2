// SPDX-License-Identifier: GPL-2.0-only
/*
 * What "name", "profile", "mode" and fields with names are compared with.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "event/field.h"
#include "value.h"

bool value_name(const struct lexer *l, struct filter_node *node, const char *value, size_t size)
{
	if (strlen(value) >= size)
		return lexer_refuse(l, l->word_at, "this name is too long",
				    "bbrctl status lists the names");
	strcpy(node->name, value);
	return true;
}

/* Names, as many as there is room for, each once: algorithms have some in common. */
struct name_list {
	char text[200];
	size_t len;
};

static bool is_listed(const struct name_list *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list->text; (at = strstr(at, name)); at++)
		if ((at == list->text || at[-1] == ' ') && (!at[n] || at[n] == ','))
			return true;
	return false;
}

static void list_name(struct name_list *list, const char *name)
{
	size_t room = sizeof(list->text) - list->len, n = strlen(name) + 2;

	if (n < room && !is_listed(list, name))
		list->len +=
			snprintf(list->text + list->len, room, "%s%s", list->len ? ", " : "", name);
}

bool value_mode(const struct lexer *l, struct filter_node *node, const char *value)
{
	struct name_list list = {};

	for (size_t i = 0; i < n_algorithms; i++) {
		for (int mode = 0; mode < algorithms[i]->n_modes; mode++) {
			const char *name = algorithms[i]->modes[mode].name;

			if (!strcasecmp(value, name))
				return value_name(l, node, value, FILTER_NAME_LEN);
			list_name(&list, name);
		}
	}
	return lexer_refuse(l, l->word_at, "not a mode", list.text);
}

bool value_field_name(const struct lexer *l, struct filter_node *node, const char *value)
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
	return lexer_refuse(l, l->word_at, "not a value of this field", list.text);
}
