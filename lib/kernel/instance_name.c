// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "instance.h"

bool instance_name_is_valid(const char *name)
{
	size_t len =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.");

	return len && len < BBR_NAME_LEN && !name[len];
}
