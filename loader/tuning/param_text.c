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

void param_format_value(const struct param *param, __u32 value, char *buf, size_t size)
{
	switch (param->unit) {
	case BBR_U_GAIN:
		format_gain(value, buf, size);
		break;
	case BBR_U_PERCENT:
		snprintf(buf, size, "%u%%", value);
		break;
	case BBR_U_USEC:
		format_duration(buf, size, value * 1000ull);
		break;
	case BBR_U_MSEC:
		format_duration(buf, size, value * 1000000ull);
		break;
	case BBR_U_BITRATE:
		format_bitrate(buf, size, value);
		break;
	case BBR_U_KBITRATE:
		format_bitrate(buf, size, value * 1000ull);
		break;
	default:
		snprintf(buf, size, "%u", value);
	}
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

const char *param_unit_name(const struct param *param)
{
	switch (param->unit) {
	case BBR_U_GAIN:
		return "ratio";
	case BBR_U_PERCENT:
		return "percent";
	case BBR_U_PACKETS:
		return "packets";
	case BBR_U_ROUNDS:
		return "rounds";
	case BBR_U_USEC:
		return "us";
	case BBR_U_MSEC:
		return "ms";
	case BBR_U_BITRATE:
	case BBR_U_KBITRATE:
		return "bps";
	default:
		return "count";
	}
}
