// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "kernel/clock.h"
#include "cli/err.h"
#include "quiet_sockets.h"
#include "filter/request.h"

/*
 * Reading takes a tenth of the time, unless it takes more than a second. There is at least this
 * time between two readings.
 */
#define SHARE 10
#define PAUSE_NS (900 * NS_PER_MS)
#define PAUSE_MAX_NS (10 * NS_PER_S)

void quiet_sockets_open(struct quiet_sockets *s, const struct watch_config *config,
			struct conn_table *table)
{
	memset(s, 0, sizeof(*s));
	s->config = config;
	s->table = table;
	s->is_open = sockets_open(&s->sockets) == EXIT_DONE;
}

static bool note_socket(void *ctx, const struct origin *origin, const struct bbr_snapshot *snap)
{
	struct quiet_sockets *s = ctx;

	if (is_wanted(s->config, origin, &snap->event))
		conn_table_note_snapshot(s->table, origin, snap);
	else if (filter_knows(s->config->filter, &snap->event))
		conn_table_leave_out(s->table, origin, &snap->event);
	return true;
}

void quiet_sockets_read(struct quiet_sockets *s)
{
	__u64 now = now_ns(), pause;

	if (!s->is_open || now < s->next_ns)
		return;
	conn_table_begin_snapshot(s->table, now);
	if (sockets_read(&s->sockets, NULL, note_socket, s) == EXIT_DONE)
		conn_table_end_snapshot(s->table);
	pause = (now_ns() - now) * SHARE;
	if (pause < PAUSE_NS)
		pause = PAUSE_NS;
	s->next_ns = now_ns() + (pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS);
}

void quiet_sockets_close(struct quiet_sockets *s)
{
	if (s->is_open)
		sockets_close(&s->sockets);
}
