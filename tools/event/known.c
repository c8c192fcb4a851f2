// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "field.h"
#include "known.h"

#define LINE 96

const struct algorithm *known_algorithm(const struct known *k, size_t i)
{
	if (i < n_algorithms)
		return algorithms[i];
	return k && k->recording ? k->described(k->recording, i - n_algorithms) : NULL;
}

const struct field *known_field(const struct known *k, const char *key)
{
	const struct algorithm *a;
	const struct field *f = NULL;

	for (size_t i = 0; !f && (a = known_algorithm(k, i)); i++)
		f = field_find(a, key);
	return f;
}

static bool is_listed(const struct name_list *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list->text; (at = strstr(at, name)); at++)
		if ((at == list->text || at[-1] == ' ') && (!at[n] || at[n] == ','))
			return true;
	return false;
}

void name_list_add(struct name_list *list, const char *name)
{
	size_t room = sizeof(list->text) - list->len;

	if (*name && strlen(name) + 2 < room && !is_listed(list, name))
		list->len +=
			snprintf(list->text + list->len, room, "%s%s", list->len ? ", " : "", name);
}

void name_list_add_fields(struct name_list *list, const struct known *k)
{
	const struct algorithm *a;

	for (size_t i = 0; (a = known_algorithm(k, i)); i++)
		for (int n = 0; n < a->n_fields; n++)
			name_list_add(list, a->fields[n].key);
	for (size_t i = 0; i < n_common_fields; i++)
		name_list_add(list, common_fields[i].key);
}

void name_list_print(const struct name_list *list)
{
	const char *from = list->text;

	while (strlen(from) > LINE) {
		int n = LINE;

		while (n && from[n] != ' ')
			n--;
		if (!n)
			break;
		remedy("%.*s", n, from);
		from += n + 1;
	}
	remedy("%s", from);
}
