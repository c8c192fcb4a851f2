// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "cli/text.h"
#include "event/event.h"
#include "top.h"

void format_short(char *buf, size_t size, double value)
{
	static const char prefix[] = "\0kMGTPE";
	int i = 0;

	if (isnan(value)) {
		snprintf(buf, size, "-");
		return;
	}
	while (value >= 999.5 && prefix[i + 1]) {
		value /= 1000;
		i++;
	}
	if (value >= 999.5)
		value = 999;
	snprintf(buf, size, "%.*f%.1s",
		 !i || value >= 99.95 ? 0 :
		 value >= 9.995	      ? 1 :
					2,
		 value, &prefix[i]);
}

void format_ms(char *buf, size_t size, double us)
{
	double ms = us / 1000;

	if (isnan(us))
		snprintf(buf, size, "-");
	else if (ms >= 99999.5)
		snprintf(buf, size, "%.0fs", ms / 1000);
	else
		snprintf(buf, size, "%.*f",
			 ms < 0.9995 ? 3 :
			 ms < 9.995  ? 2 :
			 ms < 99.95  ? 1 :
				       0,
			 ms);
}

void format_age(char *buf, size_t size, __u64 ns)
{
	unsigned long long s = ns / NS_PER_S;

	if (s < 60)
		snprintf(buf, size, "%llu.%llus", s, ns / (NS_PER_S / 10) % 10);
	else if (s < 3600)
		snprintf(buf, size, "%llum%02llu", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%lluh%02llu", s / 3600, s / 60 % 60);
	else
		snprintf(buf, size, "%llud", s / 86400 < 9999 ? s / 86400 : 9999);
}

void format_name(char *buf, size_t size, const char *name)
{
	snprintf(buf, size, "%s", *name ? name : "-");
	text_tame(buf, size, " ");
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Leaves out groups in the middle of an address, as few as possible: "2001:db8:…:7:1". */
static void shorten_address(char *addr, size_t room, const char *gap)
{
	size_t len = strlen(addr), best_head = 0, best_tail = 0;
	char whole[ADDRESS_TEXT_LEN];

	snprintf(whole, sizeof(whole), "%s", addr);
	for (size_t head = 1; head < len; head++) {
		if (whole[head - 1] != ':')
			continue;
		for (size_t tail = len - 1; tail > head; tail--) {
			size_t n = len - tail;

			if (whole[tail] != ':')
				continue;
			/* Of two with the same length, take the one whose shorter end is longer. */
			if (head + n + 1 <= room &&
			    (head + n > best_head + best_tail ||
			     (head + n == best_head + best_tail &&
			      smaller(head, n) > smaller(best_head, best_tail)))) {
				best_head = head;
				best_tail = n;
			}
		}
	}
	sprintf(addr, "%.*s%s%s", (int)best_head, whole, gap, whole + len - best_tail);
}

void format_endpoint_in(char *buf, size_t size, const __u32 addr[4], __u16 port, int width,
			bool utf8)
{
	char text[ADDRESS_TEXT_LEN], end[8];
	size_t room;

	format_endpoint(buf, size, addr, port);
	if (strlen(buf) <= (size_t)width)
		return;
	snprintf(end, sizeof(end), ":%u", ntohs(port));
	room = width - strlen(end) - 2;
	format_address(text, sizeof(text), addr);
	shorten_address(text, room, utf8 ? "…" : "~");
	snprintf(buf, size, "[%s]%s", text, end);
}

void format_packets(char *buf, size_t size, double value)
{
	static const char prefix[] = "kMG";
	int i = 0;

	if (value < 10000) {
		snprintf(buf, size, "%.0f", value);
		return;
	}
	for (value /= 1000; value >= 999.5 && i < 2; i++)
		value /= 1000;
	snprintf(buf, size, "%.*f%c", value < 9.95, value, prefix[i]);
}

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

#define SCALE_LEAST 8 /* values: fewer are not clipped */
#define SCALE_MOST 512
#define SCALE_PEAK 3 /* times what nine tenths are below: then it is clipped */
#define SCALE_ROOM 1.5

static int compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

double scale_top(const float *values, int n)
{
	float known[SCALE_MOST];
	int k = 0;

	for (int i = 0; i < n && k < SCALE_MOST; i++)
		if (!isnan(values[i]))
			known[k++] = values[i];
	if (!k)
		return 0;
	qsort(known, k, sizeof(*known), compare_floats);
	if (k >= SCALE_LEAST && known[k - 1] > SCALE_PEAK * known[k * 9 / 10 - 1] &&
	    known[k * 9 / 10 - 1] > 0)
		return SCALE_ROOM * known[k * 9 / 10 - 1];
	return known[k - 1];
}

void sparkline(char *buf, const float *values, int n, double lowest, double highest, bool utf8)
{
	for (int i = 0; i < n; i++) {
		int height = bar_height(values[i], lowest, highest, 1);

		/* A known value is visible, however small it is. */
		if (!isnan(values[i]) && !height)
			height = 1;
		strcpy(buf, values[i] > highest ? utf8 ? "▲" : "^" : bar(height, utf8));
		buf += strlen(buf);
	}
	*buf = 0;
}
