// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "event/event.h"
#include "top.h"

void line_add(struct line *l, const char *fmt, ...)
{
	size_t len = strlen(l->text), before = len ? 2 : 0;
	char piece[sizeof(l->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(piece, sizeof(piece), fmt, args);
	va_end(args);
	if (l->width && len + before + strlen(piece) > (size_t)l->width)
		return;
	snprintf(l->text + len, sizeof(l->text) - len, "%*s%s", (int)before, "", piece);
}

static void add_time(const struct top *t, struct line *l)
{
	time_t seconds =
		(event_source_epoch_ns(&t->source) + (__s64)t->style.now_ns) / (__s64)NS_PER_S;
	struct tm tm;
	char text[16];

	if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		line_add(l, "%s", text);
}

static const char *of_what(const struct top *t)
{
	if (!t->config.read)
		return "live";
	return event_source_is_over(&t->source) ? "recording, over" : "recording";
}

void top_header(const struct top *t, struct line *first, struct line *second, int width)
{
	struct conn_totals totals;
	char rate[16];

	conn_table_totals(&t->table, &totals);
	format_short(rate, sizeof(rate), totals.rate);
	*first = (struct line){ .width = width };
	*second = (struct line){ .width = width };

	line_add(first, "bbrmon top");
	if (t->paused)
		line_add(first, "PAUSED, %llu events since", t->unseen);
	add_time(t, first);
	line_add(first, "drops %llu", event_source_drops(&t->source));
	line_add(first, "%s", of_what(t));
	line_add(first, "instances %u", totals.origins);
	line_add(first, "events %llu", t->events);
	if (!t->config.read && t->sockets.is_open && sockets_unseen(&t->sockets.sockets))
		line_add(first, "unseen users %u", sockets_unseen(&t->sockets.sockets));
	if (t->table.no_memory)
		line_add(first, "out of memory: connections are missing");

	if (t->table.no_row)
		line_add(first, "%llu events of more than %u connections not shown",
			 t->table.no_row, CONNS_MAX);

	line_add(second, "connections %u", totals.live);
	line_add(second, "rate %s", rate);
	for (__u32 i = 0; i < totals.n_modes; i++)
		line_add(second, "%s %u", totals.modes[i].name, totals.modes[i].conns);
}
