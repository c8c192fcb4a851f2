// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "descriptor.h"

/* build/algorithms.h has a line X(name) for each folder of the Makefile's ALGORITHMS. */
#define X(name) extern const struct algorithm algorithm_##name;
#include "algorithms.h"
#undef X

const struct algorithm *const algorithms[] = {
#define X(name) &algorithm_##name,
#include "algorithms.h"
#undef X
};

const size_t n_algorithms = sizeof(algorithms) / sizeof(algorithms[0]);

const struct algorithm *algorithm_find(const char *name)
{
	for (size_t i = 0; i < n_algorithms; i++)
		if (!strcmp(algorithms[i]->name, name))
			return algorithms[i];
	return NULL;
}

void algorithm_names(char *buf, size_t size, const char *between)
{
	size_t len = 0;

	*buf = 0;
	for (size_t i = 0; i < n_algorithms && len < size; i++)
		len += snprintf(buf + len, size - len, "%s%s", i ? between : "",
				algorithms[i]->name);
}

size_t algorithm_index(const struct algorithm *algorithm)
{
	size_t i = 0;

	while (algorithms[i] != algorithm)
		i++;
	return i;
}

bool instance_name_is_valid(const char *name)
{
	size_t len =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.");

	return len && len < BBR_NAME_LEN && !name[len];
}

const struct algorithm *instance_name_owner(const char *name)
{
	for (size_t i = 0; i < n_algorithms; i++) {
		size_t len = strlen(algorithms[i]->instance);

		if (!strncmp(name, algorithms[i]->instance, len) &&
		    (!name[len] || !strcmp(name + len, INSTANCE_ECN_SUFFIX)))
			return algorithms[i];
	}
	return NULL;
}
