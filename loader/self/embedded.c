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

struct embedded embedded_object(const struct algorithm *algorithm)
{
	return carried[algorithm_index(algorithm)].object;
}

struct embedded embedded_profiles(const struct algorithm *algorithm)
{
	return carried[algorithm_index(algorithm)].profiles;
}
