// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>

#include "caps.h"

static void append(char buf[CAPS_TEXT_LEN], const char *s)
{
	size_t len = strlen(buf);

	while (*s && len < CAPS_TEXT_LEN - 1)
		buf[len++] = toupper((unsigned char)*s++);
	buf[len] = 0;
}

const char *caps_text(char buf[CAPS_TEXT_LEN], __u64 caps)
{
	buf[0] = 0;
	for (cap_value_t cap = 0; cap < 64 && caps >> cap; cap++) {
		char *name;

		if (!(caps >> cap & 1))
			continue;
		name = cap_to_name(cap); /* in lower case */
		if (buf[0])
			append(buf, ", ");
		append(buf, name ? name : "?");
		cap_free(name);
	}
	return buf;
}

__u64 caps_of_process(cap_flag_t set)
{
	cap_t have = cap_get_proc();
	__u64 caps = 0;

	for (cap_value_t cap = 0; have && cap < cap_max_bits() && cap < 64; cap++) {
		cap_flag_value_t value = CAP_CLEAR;

		if (!cap_get_flag(have, cap, set, &value) && value == CAP_SET)
			caps |= 1ull << cap;
	}
	cap_free(have);
	return caps;
}
