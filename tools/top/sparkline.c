// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>

#include "sparkline.h"

const char *bar(int eighths, bool utf8)
{
	static const char blocks[BAR_STEPS + 1][BAR_BYTES] = {
		" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	static const char ascii[BAR_STEPS + 1][2] = { " ", "_", ".", ":", "-", "=", "+", "*", "#" };

	return utf8 ? blocks[eighths] : ascii[eighths];
}

int bar_height(double value, double lowest, double highest, int cells)
{
	int most = cells * BAR_STEPS, height;

	if (isnan(value) || value <= lowest)
		return 0;
	if (value >= highest)
		return most;
	height = ceil((value - lowest) / (highest - lowest) * most);
	return height < most ? height : most;
}

void sparkline(char *buf, const float *values, int n, double lowest, double highest, bool utf8)
{
	for (int i = 0; i < n; i++) {
		int height = bar_height(values[i], lowest, highest, 1);

		/* What is known is seen, however small it is. */
		if (!isnan(values[i]) && !height)
			height = 1;
		strcpy(buf, bar(height, utf8));
		buf += strlen(buf);
	}
	*buf = 0;
}
