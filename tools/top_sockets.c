// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "clock.h"
#include "err.h"
#include "top_sockets.h"
#include "wanted.h"

/* Reading takes no more than a tenth of the time, however many sockets there are, nor is it done more often. */
#define SHARE 10
#define PAUSE_NS (900 * NS_PER_MS)

void top_sockets_open(struct top_sockets *s, const struct monitor_config *config,
		      struct conn_table *table)
{
	memset(s, 0, sizeof(*s));
	s->config = config;
	s->table = table;
	s->is_open = sockets_open(&s->sockets) == EXIT_DONE;
}

static bool note_socket(void *ctx, const struct origin *origin, const struct bbr_snapshot *snap)
{
	struct top_sockets *s = ctx;

	if (is_conn_wanted(s->config, origin, &snap->event))
		conn_table_note_snapshot(s->table, origin, snap);
	return true;
}

void top_sockets_read(struct top_sockets *s)
{
	__u64 now = now_ns(), took;

	if (!s->is_open || now < s->next_ns)
		return;
	conn_table_begin_snapshot(s->table, now);
	if (sockets_read(&s->sockets, NULL, note_socket, s) == EXIT_DONE)
		conn_table_end_snapshot(s->table);
	took = now_ns() - now;
	s->next_ns = now + (took * SHARE > PAUSE_NS ? took * SHARE : PAUSE_NS);
}

void top_sockets_close(struct top_sockets *s)
{
	if (s->is_open)
		sockets_close(&s->sockets);
}
