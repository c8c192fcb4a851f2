// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "descriptor.h"
#include "instance.h"

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
