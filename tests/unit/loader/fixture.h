/* SPDX-License-Identifier: GPL-2.0-only */
/* An algorithm that does not exist, and input as it comes from files. */
#ifndef UNIT_LOADER_FIXTURE_H
#define UNIT_LOADER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "descriptor.h"
#include "cli/err.h"
#include "tuning/param.h"

/* A parameter of each unit, one of them a list. */
static const struct param made_up_params[] = {
	{ "gain", 1, BBR_U_GAIN, 64, 4095, 0, "a gain" },
	{ "gains", 3, BBR_U_GAIN, 64, 4095, 1, "gains" },
	{ "percent", 1, BBR_U_PERCENT, 0, 50, 4, "a percentage" },
	{ "count", 1, BBR_U_COUNT, 1, 16, 5, "a count" },
	{ "packets", 1, BBR_U_PACKETS, 2, 65535, 6, "packets" },
	{ "rounds", 1, BBR_U_ROUNDS, 1, 31, 7, "rounds" },
	{ "usec", 1, BBR_U_USEC, 0, 10000000, 8, "a time" },
	{ "msec", 1, BBR_U_MSEC, 10, 10000000, 9, "a time" },
	{ "rate", 1, BBR_U_BITRATE, 0, 1000000000, 10, "a rate" },
	{ "krate", 1, BBR_U_KBITRATE, 0, 4000000000, 11, "a rate" },
};

static const __u32 made_up_defaults[] = {
	256, 320, 192, 256, 1, 3, 4, 10, 1000, 10000, 1200000, 0
};

static const struct algorithm made_up = {
	.name = "made_up",
	.instance = "bpf_made_up",
	.title = "an algorithm of the tests",
	.params = made_up_params,
	.n_params = sizeof(made_up_params) / sizeof(made_up_params[0]),
	.defaults = made_up_defaults,
	.params_size = sizeof(made_up_defaults),
};

/* A file with this text, at its beginning. */
static inline FILE *file_of(const char *text)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	fputs(text, f);
	rewind(f);
	return f;
}

#endif
