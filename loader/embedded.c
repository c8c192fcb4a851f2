// SPDX-License-Identifier: GPL-2.0-only
#include "descriptor.h"
#include "embedded.h"

#define X(name)                                                                      \
	extern const char object_##name[], object_##name##_end[], profiles_##name[], \
		profiles_##name##_end[];
#include "algorithms.h"
#undef X

/* In the order of the tools' table. */
static const struct {
	struct embedded object, profiles;
} carried[] = {
#define X(name) \
	{ { object_##name, object_##name##_end }, { profiles_##name, profiles_##name##_end } },
#include "algorithms.h"
#undef X
};

static int place(const struct algorithm *algorithm)
{
	int i = 0;

	while (algorithms[i] != algorithm)
		i++;
	return i;
}

struct embedded embedded_object(const struct algorithm *algorithm)
{
	return carried[place(algorithm)].object;
}

struct embedded embedded_profiles(const struct algorithm *algorithm)
{
	return carried[place(algorithm)].profiles;
}
