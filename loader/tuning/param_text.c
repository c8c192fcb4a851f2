// SPDX-License-Identifier: GPL-2.0-only
/* Formats parameters as people write them. The manual is made with this too (docs/man/params.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "tuning/param.h"

/* The shortest decimal that param_assign() takes back to the same 256ths. */
static void format_gain(__u32 value, char *buf, size_t size)
{
	for (int digits = 0; digits <= 8; digits++) {
		snprintf(buf, size, "%.*f", digits, (double)value / BBR_UNIT);
		if (round(strtod(buf, NULL) * BBR_UNIT) == value)
			return;
	}
}

static const struct param_notation notations[] = {
	[BBR_U_GAIN] = { "ratio", "a decimal, such as 1.25", parse_number, NULL, 1.0 / BBR_UNIT },
	[BBR_U_PERCENT] = { "percent", "a whole percentage, such as 1%", parse_number, NULL, 1 },
	[BBR_U_COUNT] = { "count", "a whole number", parse_number, NULL, 1 },
	[BBR_U_PACKETS] = { "packets", "a whole number", parse_number, NULL, 1 },
	[BBR_U_ROUNDS] = { "rounds", "a whole number", parse_number, NULL, 1 },
	[BBR_U_USEC] = { "us", "a time of whole microseconds, such as 100ms or 50us",
			 parse_duration, format_duration, 1e3 },
	[BBR_U_MSEC] = { "ms", "a time of whole milliseconds, such as 100ms", parse_duration,
			 format_duration, 1e6 },
	[BBR_U_BITRATE] = { "bps", "a rate, such as 1.2mbit or 64kbit", parse_bitrate,
			    format_bitrate, 1 },
	[BBR_U_KBITRATE] = { "bps", "a rate of whole kbit/s, such as 100mbit or 64kbit",
			     parse_bitrate, format_bitrate, 1e3 },
	[BBR_U_BYTES] = { "bytes", "a size of whole bytes, such as 128k or 1m", parse_size,
			  format_size, 1 },
};

const struct param_notation *param_notation(const struct param *param)
{
	return &notations[param->unit];
}

void param_format_value(const struct param *param, __u32 value, char *buf, size_t size)
{
	const struct param_notation *n = param_notation(param);

	if (n->format)
		n->format(buf, size, value * n->scale);
	else if (param->unit == BBR_U_GAIN)
		format_gain(value, buf, size);
	else
		snprintf(buf, size, param->unit == BBR_U_PERCENT ? "%u%%" : "%u", value);
}

void param_format(const struct param *param, const struct param_set *set, char *buf, size_t size)
{
	const __u32 *v = &set->value[param->first];
	size_t len = 0;

	for (__u32 i = 0; i < param->n && len < size; i++) {
		if (i)
			len += snprintf(buf + len, size - len, ",");
		param_format_value(param, v[i], buf + len, size - len);
		len += strlen(buf + len);
	}
}

void param_format_range(const struct param *param, char *buf, size_t size)
{
	char lo[UNITS_LEN], hi[UNITS_LEN];

	param_format_value(param, param->lo, lo, sizeof(lo));
	param_format_value(param, param->hi, hi, sizeof(hi));
	snprintf(buf, size, "%s to %s", lo, hi);
}
