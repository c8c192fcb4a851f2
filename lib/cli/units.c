// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "units.h"

struct unit {
	const char *name;
	double factor;
};

/* From the largest to the smallest: formatting takes the first that is not above the value. */
static const struct unit durations[] = {
	{ "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { NULL, 0 },
};

static const struct unit bitrates[] = {
	{ "tbit", 1e12 }, { "gbit", 1e9 }, { "mbit", 1e6 },
	{ "kbit", 1e3 },  { "bit", 1 },	   { NULL, 0 },
};

static const struct unit sizes[] = {
	{ "g", 1 << 30 }, { "m", 1 << 20 }, { "k", 1 << 10 }, { "", 1 }, { NULL, 0 },
};

/* A plain decimal number; strtod() alone would also take "inf", "nan", "0x10", "1e3" and blanks. */
static enum parse_error parse_decimal(const char *s, double *value, const char **end)
{
	size_t len = strspn(s, "0123456789.");
	char *stop;

	if (!len || !isdigit((unsigned char)s[strcspn(s, "0123456789")]) || len > 30)
		return PARSE_NOT_A_NUMBER;
	*value = strtod(s, &stop);
	if (stop != s + len)
		return PARSE_NOT_A_NUMBER;
	*end = stop;
	return PARSE_OK;
}

static enum parse_error parse_with_unit(const char *s, const struct unit *units, double *value)
{
	const char *end;
	enum parse_error error = parse_decimal(s, value, &end);

	if (error)
		return error;
	for (; units->name; units++) {
		if (!strcasecmp(units->name, end)) {
			*value *= units->factor;
			return PARSE_OK;
		}
	}
	return *end ? PARSE_BAD_UNIT : PARSE_NO_UNIT;
}

enum parse_error parse_duration(const char *s, double *ns)
{
	return parse_with_unit(s, durations, ns);
}

enum parse_error parse_bitrate(const char *s, double *bps)
{
	return parse_with_unit(s, bitrates, bps);
}

enum parse_error parse_size(const char *s, double *bytes)
{
	return parse_with_unit(s, sizes, bytes);
}

enum parse_error parse_number(const char *s, double *value)
{
	const char *end;
	enum parse_error error = parse_decimal(s, value, &end);

	return error || *end ? PARSE_NOT_A_NUMBER : PARSE_OK;
}

const char *parse_error_text(enum parse_error error)
{
	switch (error) {
	case PARSE_OK:
		return "no error";
	case PARSE_NOT_A_NUMBER:
		return "not a number";
	case PARSE_NO_UNIT:
		return "a unit is missing";
	case PARSE_BAD_UNIT:
		return "unknown unit";
	}
	return "not valid";
}

static void format_unit(char *buf, size_t size, const struct unit *units, __u64 value)
{
	while (units[1].name && value < units->factor)
		units++;
	/* At most 9 decimals are exact; trailing zeros are cut off by %g at that precision. */
	snprintf(buf, size, "%.15g%s", value / units->factor, units->name);
}

void format_duration(char *buf, size_t size, __u64 ns)
{
	if (!ns)
		snprintf(buf, size, "0s");
	else
		format_unit(buf, size, durations, ns);
}

void format_bitrate(char *buf, size_t size, __u64 bps)
{
	format_unit(buf, size, bitrates, bps);
}

void format_rate_ss(char *buf, size_t size, double bps)
{
	static const struct unit prefixes[] = {
		{ "T", 1e12 }, { "G", 1e9 }, { "M", 1e6 }, { "k", 1e3 }, { "", 1 },
	};
	const struct unit *prefix = prefixes;

	while (prefix->factor > 1 && bps < prefix->factor)
		prefix++;
	snprintf(buf, size, prefix->factor > 1 ? "%.3g%sbps" : "%g%sbps", bps / prefix->factor,
		 prefix->name);
}

const char *plural(unsigned long long n)
{
	return n == 1 ? "" : "s";
}
