// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdbool.h>
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

	if (s[0] == '-' && isdigit((unsigned char)s[1]))
		return PARSE_NEGATIVE;
	if (!len || !isdigit((unsigned char)s[strcspn(s, "0123456789")]) || len > 30)
		return PARSE_NOT_A_NUMBER;
	*value = strtod(s, &stop);
	if (stop != s + len)
		return PARSE_NOT_A_NUMBER;
	*end = stop;
	return PARSE_OK;
}

static enum parse_error parse_with_unit(const char *s, const struct unit *units,
					enum parse_error unknown, double *value)
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
	return *end ? unknown : PARSE_NO_UNIT;
}

enum parse_error parse_duration(const char *s, double *ns)
{
	return parse_with_unit(s, durations, PARSE_NO_UNIT_OF_TIME, ns);
}

enum parse_error parse_bitrate(const char *s, double *bps)
{
	return parse_with_unit(s, bitrates, PARSE_NO_UNIT_OF_RATE, bps);
}

enum parse_error parse_size(const char *s, double *bytes)
{
	return parse_with_unit(s, sizes, PARSE_NO_UNIT_OF_SIZE, bytes);
}

enum parse_error parse_number(const char *s, double *value)
{
	const char *end;
	enum parse_error error = parse_decimal(s, value, &end);

	return error || !*end ? error : PARSE_TAKES_NO_UNIT;
}

const char *parse_error_text(enum parse_error error)
{
	static const char *const texts[] = {
		[PARSE_OK] = "no error",
		[PARSE_NOT_A_NUMBER] = "not a number",
		[PARSE_NEGATIVE] = "must not be negative",
		[PARSE_TAKES_NO_UNIT] = "a number without a unit is needed",
		[PARSE_NO_UNIT] = "a unit is missing",
		[PARSE_NO_UNIT_OF_TIME] = "the units are s, ms, us and ns",
		[PARSE_NO_UNIT_OF_RATE] = "the units are tbit, gbit, mbit, kbit and bit",
		[PARSE_NO_UNIT_OF_SIZE] = "the units are g, m and k",
		[PARSE_NO_PERCENT] = "the unit is %",
	};

	return texts[error];
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

void format_size(char *buf, size_t size, __u64 bytes)
{
	const struct unit *unit = sizes;

	while (unit[1].name && (!bytes || bytes % (__u64)unit->factor))
		unit++;
	snprintf(buf, size, "%.15g%s", bytes / unit->factor, unit->name);
}

size_t format_count(char *buf, __u64 value)
{
	char digits[20];
	size_t at = sizeof(digits), n;

	do
		digits[--at] = '0' + value % 10;
	while (value /= 10);
	n = sizeof(digits) - at;
	memcpy(buf, digits + at, n);
	buf[n] = 0;
	return n;
}

/* Writes a fraction with this many digits, with zeros in front. */
static void format_fraction(char *buf, __u64 value, unsigned int digits)
{
	while (digits) {
		buf[--digits] = '0' + value % 10;
		value /= 10;
	}
}

/* Finds how many decimals of n / d make up this many digits; false: %g would print an exponent. */
static bool count_decimals(__u64 n, __u64 d, unsigned int digits, unsigned int *decimals)
{
	__u64 whole = n / d;

	*decimals = digits;
	if (!whole) {
		--*decimals;
		for (unsigned int zeros = 0; n < d; zeros++, n *= 10, ++*decimals)
			if (zeros == 4) /* 0.00001 is 1e-05 */
				return false;
		return true;
	}
	for (; whole; whole /= 10)
		if (!(*decimals)--)
			return false;
	return true;
}

/*
 * Rounds n / d to the decimals of `scale`, as a count of the last one. The double is not exactly n
 * / d, but off by less than 2^-53 of it. That matters only halfway between two counts: false then.
 * If d is a power of two the double is exact, and the even count is right.
 */
static bool round_ratio(__u64 n, __u64 d, __u64 scale, __u64 *rounded)
{
	__u64 scaled = n % d * scale, rest = scaled % d;

	*rounded = n / d * scale + scaled / d;
	if (rest * 2 == d && d & (d - 1))
		return false;
	*rounded += rest * 2 > d || (rest * 2 == d && *rounded & 1);
	return true;
}

size_t format_ratio(char *buf, __u64 n, __u64 d, unsigned int digits)
{
	static const __u64 powers[] = { 1,	10,	 100,	   1000,      10000,
					100000, 1000000, 10000000, 100000000, 1000000000 };
	unsigned int decimals;
	__u64 rounded;
	size_t len;

	if (!n)
		return format_count(buf, 0);
	if (!count_decimals(n, d, digits, &decimals) ||
	    !round_ratio(n, d, powers[decimals], &rounded) ||
	    rounded >= powers[decimals] * powers[digits])
		return snprintf(buf, UNITS_LEN, "%.*g", (int)digits, n / (double)d);
	len = format_count(buf, rounded / powers[decimals]);
	if (!decimals)
		return len;
	buf[len++] = '.';
	format_fraction(buf + len, rounded % powers[decimals], decimals);
	for (len += decimals; buf[len - 1] == '0'; len--)
		;
	if (buf[len - 1] == '.')
		len--;
	buf[len] = 0;
	return len;
}

size_t format_seconds(char *buf, __s64 ns)
{
	__u64 left = ns < 0 ? -(__u64)ns : (__u64)ns, us = left / 1000, rest = left % 1000;
	size_t len = 0;

	if (rest == 500 || left >= 1ull << 53)
		return snprintf(buf, UNITS_LEN, "%.6f", ns / 1e9);
	us += rest > 500;
	if (ns < 0)
		buf[len++] = '-';
	len += format_count(buf + len, us / 1000000);
	buf[len++] = '.';
	format_fraction(buf + len, us % 1000000, 6);
	len += 6;
	buf[len] = 0;
	return len;
}

void format_rate_ss(char *buf, size_t size, double bps)
{
	static const struct {
		const char *text;
		__u64 factor;
	} units[] = {
		{ "Tbps", 1000000000000 }, { "Gbps", 1000000000 }, { "Mbps", 1000000 },
		{ "kbps", 1000 },	   { "bps", 1 },
	};
	unsigned int i = 0;
	char text[UNITS_LEN];
	size_t len;

	while (units[i].factor > 1 && bps < units[i].factor)
		i++;
	if (bps < 0x1p63 && bps == (__u64)bps)
		len = format_ratio(text, bps, units[i].factor, units[i].factor > 1 ? 3 : 6);
	else
		len = snprintf(text, sizeof(text), units[i].factor > 1 ? "%.3g" : "%.0f",
			       bps / units[i].factor);
	if (!size)
		return;
	strcpy(text + len, units[i].text);
	len = strnlen(text, size - 1);
	memcpy(buf, text, len);
	buf[len] = 0;
}

const char *plural(unsigned long long n)
{
	return n == 1 ? "" : "s";
}
