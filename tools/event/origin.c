// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/err.h"
#include "kernel/instance.h"
#include "origin.h"

/* The map may contain anything: only characters that a name can have reach the terminal. */
static const char name_chars[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

const char *origin_profile(const struct origin *origin, const struct bbr_event *e)
{
	static char name[BBR_PROFILE_NAME_LEN];

	if (!origin->profiles || e->flags & BBR_F_KERNEL || e->profile >= BBR_PROFILES)
		return NULL;
	memcpy(name, origin->profiles[e->profile], sizeof(name));
	name[sizeof(name) - 1] = 0;
	name[strspn(name, name_chars)] = 0;
	return *name ? name : NULL;
}

void origin_refuse(const struct instance *inst, const char *result)
{
	if (inst->abi.major == BBR_ABI_MAJOR && !inst->algorithm)
		err("%s: %s: this bbrmon does not know its algorithm, %s", inst->name, result,
		    inst->abi.algorithm);
	else
		err("%s: %s: loaded by another version (%.20s, ABI %u)", inst->name, result,
		    inst->abi.version, inst->abi.major);
}
