// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conn_table.h"
#include "event/event.h"
#include "cli/err.h"

/* A snapshot may see a socket a moment before its first event is read, or after its last. */
#define SNAPSHOT_SLACK_NS NS_PER_S
/* After this time without events, and never in a snapshot: the event of its end was dropped. */
#define QUIET_NS (60 * NS_PER_S)

static struct conn *conn_at(struct conn_key *key, size_t member)
{
	return key ? (struct conn *)((char *)key - member) : NULL;
}

static struct conn *find_id(const struct conn_table *t, const struct conn_key *key)
{
	return conn_at(conn_map_find(&t->by_id, key), offsetof(struct conn, by_id));
}

static struct conn *find_tuple(const struct conn_table *t, const struct conn_key *key)
{
	return conn_at(conn_map_find(&t->by_tuple, key), offsetof(struct conn, by_tuple));
}

/* A socket that is switched to another congestion control becomes another row. */
static struct conn_key tuple_of(const struct origin *origin, const struct bbr_event *e)
{
	struct conn_key key = conn_key_of_tuple(e);

	memcpy(key.name, origin->name, strnlen(origin->name, sizeof(key.name) - 1));
	return key;
}

static void free_history(struct conn_table *t, struct conn *c)
{
	t->n_histories -= !!c->history;
	history_free(c->history);
	c->history = NULL;
}

/* A short connection has no history worth its memory: many may open and close in a second. */
static void end_conn(struct conn_table *t, struct conn *c, __u64 time_ns)
{
	if (!c->ended_ns)
		c->ended_ns = time_ns;
	if (c->ended_ns < c->first_ns + NS_PER_S)
		free_history(t, c);
}

/* From now on events with this id belong to the row. */
static void index_id(struct conn_table *t, struct conn *c, const struct conn_key *id)
{
	c->by_id = *id;
	c->e.conn = id->conn;
	if (id->conn)
		mem_check(conn_map_add(&t->by_id, &c->by_id));
}

static struct conn *add(struct conn_table *t, const struct origin *origin,
			const struct conn_key *id, const struct conn_key *tuple,
			const struct bbr_event *e)
{
	struct conn *before = find_tuple(t, tuple), *c;

	if (t->n == CONNS_MAX) {
		t->no_row++;
		return NULL;
	}
	if (before) { /* an earlier connection that still has the tuple has ended */
		end_conn(t, before, e->time_ns);
		conn_map_remove(&t->by_tuple, &before->by_tuple);
	}
	c = mem_new(1, sizeof(*c));
	c->e = *e;
	c->by_tuple = *tuple;
	mem_check(conn_map_add(&t->by_tuple, &c->by_tuple));
	index_id(t, c, id);
	c->algorithm = origin->algorithm;
	memcpy(c->name, tuple->name, sizeof(c->name));
	c->serial = ++t->next_serial;
	c->first_ns = e->time_ns;
	c->rate = c->delivery_bps = c->rwnd_share = c->sndbuf_share = NAN;
	c->rtt_us = BBR_RTT_NONE;
	c->index = t->n;
	MEM_ADD(t->all, t->n) = c;
	return c;
}

static void drop(struct conn_table *t, struct conn *c)
{
	conn_map_remove(&t->by_id, &c->by_id);
	conn_map_remove(&t->by_tuple, &c->by_tuple);
	t->all[c->index] = t->all[--t->n];
	t->all[c->index]->index = c->index;
	free_history(t, c);
	free(c);
}

static void set_mark(struct conn *c)
{
	c->mark_ns = c->e.time_ns;
	c->mark_delivered = c->e.delivered;
	c->mark_lost = c->e.lost;
	c->mark_retrans = c->e.bytes_retrans;
}

/*
 * Most connections of a busy server are idle: snapshots find them unchanged. Many others are short.
 * So the history, and its memory, begins with the second event.
 */
static bool says_more(const struct conn *c, const struct bbr_event *e)
{
	return e->kind != BBR_EV_STATE || e->delivered != c->e.delivered || e->mode != c->e.mode ||
	       e->lost != c->e.lost || e->bytes_retrans != c->e.bytes_retrans;
}

static void begin_history(struct conn_table *t, struct conn *c)
{
	c->lacks_history = t->n_histories == HISTORIES_MAX;
	if (c->ended_ns || c->lacks_history)
		return;
	c->history = mem_new(1, sizeof(*c->history));
	t->n_histories++;
	history_note(c->history, NULL, &c->e);
}

static void update(struct conn_table *t, struct conn *c, const struct origin *origin,
		   const struct bbr_event *e, bool is_new)
{
	struct bbr_event before = c->e;
	const char *profile = origin_profile(origin, e);

	strcpy(c->profile, profile ? profile : "");
	if (e->kind == BBR_EV_START || (e->kind == BBR_EV_MODE && e->to == e->mode))
		c->mode_since_ns = e->time_ns;
	else if (before.mode != e->mode)
		c->mode_since_ns = 0; /* we were not told when */
	if (!c->history && !is_new && says_more(c, e))
		begin_history(t, c);
	if (c->history)
		history_note(c->history, &before, e);
	if (c->next_inflight < event_inflight(e))
		c->next_inflight = event_inflight(e);
	if (e->flags & BBR_F_SAMPLE) {
		c->app_limited = e->flags & BBR_F_APP_LIMITED;
		c->rtt_us = e->rtt_us;
		c->delivery_bps = event_has_rate(e) ? event_delivery_bps(e) : NAN;
	} else if (e->flags & BBR_F_KERNEL) {
		c->rtt_us = e->rtt_us;
	}
	c->is_left_out = false;
	c->algorithm = origin->algorithm;
	c->e = *e;
	/* The maps' keys stay, whatever a recording may contain; and a snapshot has no conn. */
	c->e.conn = before.conn;
	c->e.netns = before.netns;
	memcpy(c->e.laddr, before.laddr, sizeof(before.laddr));
	memcpy(c->e.raddr, before.raddr, sizeof(before.raddr));
	c->e.lport = before.lport;
	c->e.rport = before.rport;
	if (is_new)
		set_mark(c);
}

/*
 * Finds the row of an event whose id has none: a row with its addresses that only snapshots have
 * fed so far or, if the event has no id, any row with its addresses.
 */
static struct conn *adopt(struct conn_table *t, const struct conn_key *id,
			  const struct conn_key *tuple)
{
	struct conn *c = find_tuple(t, tuple);

	if (!c || c->ended_ns || (c->e.conn && id->conn))
		return NULL;
	if (id->conn) /* 0: the program had no memory for an id */
		index_id(t, c, id);
	return c;
}

void conn_table_note(struct conn_table *t, const struct origin *origin, const struct bbr_event *e)
{
	const struct conn_key id = conn_key_of_id(origin->id, e->conn), tuple = tuple_of(origin, e);
	struct conn *c = NULL;
	bool is_new = false;

	if (e->conn)
		c = find_id(t, &id);
	if (!c)
		c = adopt(t, &id, &tuple);
	/* The end of a connection whose row is already gone does not make a new one. */
	if (!c && e->kind != BBR_EV_END) {
		c = add(t, origin, &id, &tuple, e);
		is_new = true;
	}
	if (!c)
		return;
	update(t, c, origin, e, is_new);
	if (e->kind == BBR_EV_END)
		end_conn(t, c, e->time_ns);
}

void conn_table_note_unseen(struct conn_table *t, const struct origin *origin,
			    const struct bbr_event *e)
{
	const struct conn_key id = conn_key_of_id(origin->id, e->conn);
	struct conn *c;

	if (e->kind != BBR_EV_END || !e->conn)
		return;
	c = find_id(t, &id);
	if (c)
		c->unseen_end_ns = e->time_ns;
}

void conn_table_leave_out(struct conn_table *t, const struct origin *origin,
			  const struct bbr_event *e)
{
	const struct conn_key id = conn_key_of_id(origin->id, e->conn), tuple = tuple_of(origin, e);
	struct conn *c = e->conn ? find_id(t, &id) : NULL;

	if (!c) /* its row came from snapshots, or this is one */
		c = find_tuple(t, &tuple);
	if (c && !c->ended_ns && e->time_ns >= c->e.time_ns &&
	    (!c->e.conn || !e->conn || c->e.conn == e->conn))
		c->is_left_out = true;
}

void conn_table_begin_snapshot(struct conn_table *t, __u64 now_ns)
{
	t->generation++;
	if (t->reading_ns)
		t->between_readings_ns = now_ns - t->reading_ns;
	t->reading_ns = now_ns;
}

void conn_table_note_snapshot(struct conn_table *t, const struct origin *origin,
			      const struct bbr_snapshot *snap)
{
	const struct bbr_event *e = &snap->event;
	const struct conn_key none = {}; /* a snapshot has none of the ids of events */
	const struct conn_key tuple = tuple_of(origin, e);
	struct conn *c = find_tuple(t, &tuple);
	bool is_new = false;
	__u32 busy;

	if (c && (c->ended_ns || (c->cookie && c->cookie != snap->cookie))) {
		/* The event of its end may have been read before this older snapshot. */
		if (c->ended_ns && e->time_ns <= c->ended_ns + SNAPSHOT_SLACK_NS &&
		    (!c->cookie || c->cookie == snap->cookie))
			return;
		c = NULL;
	}
	if (!c) {
		c = add(t, origin, &none, &tuple, e);
		is_new = true;
	}
	if (!c)
		return;
	c->cookie = snap->cookie;
	c->cgroup = snap->cgroup;
	c->inode = snap->inode;
	c->mptcp_token = snap->mptcp_token;
	c->places = snap->places;
	c->mptcp_local_id = snap->mptcp_local_id;
	c->mptcp_remote_id = snap->mptcp_remote_id;
	busy = snap->busy_ticks - c->busy_ticks;
	c->rwnd_share = busy ? (snap->rwnd_ticks - c->rwnd_ticks) / (double)busy : NAN;
	c->sndbuf_share = busy ? (snap->sndbuf_ticks - c->sndbuf_ticks) / (double)busy : NAN;
	c->busy_ticks = snap->busy_ticks;
	c->rwnd_ticks = snap->rwnd_ticks;
	c->sndbuf_ticks = snap->sndbuf_ticks;
	c->generation = t->generation;
	if (is_new || e->time_ns >= c->e.time_ns)
		update(t, c, origin, e, is_new);
}

void conn_table_end_snapshot(struct conn_table *t)
{
	for (__u32 i = 0; i < t->n; i++) {
		struct conn *c = t->all[i];
		/* A socket in no snapshot may be in a namespace that snapshots cannot enter. */
		__u64 slack = c->cookie ? SNAPSHOT_SLACK_NS : QUIET_NS;

		if (c->generation != t->generation && c->e.time_ns + slack < t->reading_ns)
			end_conn(t, c, t->reading_ns);
	}
}

/* Without news for so long, a connection's rate is unknown. */
static __u64 patience_ns(const struct conn_table *t, const struct conn *c)
{
	__u64 rtts = 4ull * c->e.srtt_us * 1000, readings = 2 * t->between_readings_ns;
	__u64 longer = rtts > readings ? rtts : readings;

	return longer > 2 * NS_PER_S ? longer : 2 * NS_PER_S;
}

static void tick_conn(const struct conn_table *t, struct conn *c, __u64 now_ns)
{
	const struct bbr_event *e = &c->e;

	c->lost = e->lost - c->mark_lost;
	c->retrans = e->bytes_retrans - c->mark_retrans;
	c->inflight = c->next_inflight;
	c->next_inflight = e->inflight;
	if (c->mark_ns && e->time_ns > c->mark_ns) {
		c->rate = event_delivered_bps(e, c->mark_delivered, c->mark_ns);
		set_mark(c);
	} else if (now_ns > e->time_ns + patience_ns(t, c)) {
		c->rate = NAN;
		set_mark(c);
		c->mark_ns = 0; /* else the next rate would include the pause */
	} else if (!c->mark_ns) {
		set_mark(c);
	}
}

void conn_table_tick(struct conn_table *t, __u64 now_ns)
{
	__u32 ended = 0;

	for (__u32 i = t->n; i-- > 0;) {
		struct conn *c = t->all[i];

		tick_conn(t, c, now_ns);
		if (c->is_left_out ||
		    (c->ended_ns && (now_ns > c->ended_ns + ENDED_STAYS_NS || ++ended > ENDED_MAX)))
			drop(t, c);
	}
}

void conn_table_go_on(struct conn_table *t)
{
	for (__u32 i = 0; i < t->n; i++) {
		struct conn *c = t->all[i];

		c->mode_since_ns = 0;
		c->mark_ns = 0;
		if (c->unseen_end_ns)
			end_conn(t, c, c->unseen_end_ns);
	}
}

/* Index of a name among the totals' modes; MODE_NAMES_MAX: there is no room for it. */
static __u32 mode_place(struct conn_totals *totals, const char *name)
{
	__u32 k = 0;

	while (k < totals->n_modes && strcmp(totals->modes[k].name, name))
		k++;
	if (k == totals->n_modes && k < MODE_NAMES_MAX)
		totals->modes[totals->n_modes++].name = name;
	return k;
}

static void add_modes(struct conn_totals *totals, const struct algorithm *a)
{
	for (__u32 i = 0; i < a->n_modes; i++)
		mode_place(totals, a->modes[i].name);
}

void conn_table_totals(const struct conn_table *t, struct conn_totals *totals)
{
	const struct algorithm *before = NULL;
	const char *names[64];

	memset(totals, 0, sizeof(*totals));
	for (__u32 i = 0; i < t->n; i++) {
		const struct conn *c = t->all[i];
		__u32 place = MODE_NAMES_MAX, k = 0;

		if (c->ended_ns)
			continue;
		totals->live++;
		totals->without_history += c->lacks_history;
		if (c->algorithm != before)
			add_modes(totals, c->algorithm);
		before = c->algorithm;
		if (c->e.mode < c->algorithm->n_modes)
			place = mode_place(totals, c->algorithm->modes[c->e.mode].name);
		if (place < MODE_NAMES_MAX)
			totals->modes[place].conns++;
		if (!isnan(c->rate))
			totals->rate += c->rate;
		while (k < totals->origins && strcmp(names[k], c->name))
			k++;
		if (k == totals->origins && k < sizeof(names) / sizeof(names[0]))
			names[totals->origins++] = c->name;
	}
	if (!before)
		add_modes(totals, algorithms[0]);
}

void conn_table_free(struct conn_table *t)
{
	while (t->n)
		drop(t, t->all[t->n - 1]);
	free(t->all);
	memset(t, 0, sizeof(*t));
}

#define HISTORY_SLOTS_FIRST 8

/* If two events of a connection are more slots apart, its state between them is unknown. */
#define HOLD_SLOTS 10

static __u8 ca_bit(const struct bbr_event *e)
{
	return 1 << (e->ca_state & 7);
}

static struct sample *slot_of(struct history *h, __u64 n)
{
	return &h->slot[n % h->n_slots];
}

/* Makes room for the slots up to n. */
static void make_room(struct history *h, __u64 n)
{
	const __u64 slots = n - h->first < HISTORY_SLOTS ? n - h->first + 1 : HISTORY_SLOTS;
	__u32 size = h->n_slots ? h->n_slots : HISTORY_SLOTS_FIRST;
	struct history more = *h;

	while (size < slots)
		size = 2 * size < HISTORY_SLOTS ? 2 * size : HISTORY_SLOTS;
	if (size == h->n_slots)
		return;
	more.n_slots = size;
	more.slot = mem_new(size, sizeof(*more.slot));
	for (__u64 i = h->first; h->slot && i <= h->last; i++)
		*slot_of(&more, i) = *slot_of(h, i);
	free(h->slot);
	*h = more;
}

void history_free(struct history *h)
{
	free(h ? h->slot : NULL);
	free(h);
}

/* Fills the slots up to n, which have no event, with the last state unless it is too old. */
static void advance(struct history *h, __u64 n, const struct bbr_event *before)
{
	struct sample held = *slot_of(h, h->last);
	bool hold = n - h->last <= HOLD_SLOTS;

	if (!hold)
		memset(&held, 0, sizeof(held));
	held.modes = hold ? mode_history_bit(before->mode) : 0;
	held.ca_states = hold ? ca_bit(before) : 0;
	held.lost = 0;
	held.inflight = before->inflight;
	make_room(h, n);
	if (n - h->last >= HISTORY_SLOTS)
		h->last = n - HISTORY_SLOTS;
	while (h->last < n)
		*slot_of(h, ++h->last) = held;
	slot_of(h, n)->modes = 0; /* the event sets them */
	slot_of(h, n)->ca_states = 0;
	h->has_base &= hold;
	h->rtts = 0;
}

static void note_rtt(struct history *h, struct sample *s, const struct bbr_event *e)
{
	__u32 rtt = e->rtt_us != BBR_RTT_NONE ? e->rtt_us : e->srtt_us;

	if (!h->rtts)
		s->rtt_us = NAN;
	if (!rtt)
		return;
	h->rtts++;
	s->rtt_us = h->rtts == 1 ? rtt : s->rtt_us + (rtt - s->rtt_us) / h->rtts;
}

/* The rate counts from the last event before this slot, so it holds for the slots between, too. */
static void note_rate(struct history *h, __u64 first, const struct bbr_event *e)
{
	float rate = NAN;

	if (h->has_base && e->time_ns > h->base_ns)
		rate = event_delivered_bps(e, h->base_delivered, h->base_ns);
	for (__u64 n = first; n <= h->last; n++)
		slot_of(h, n)->rate = rate;
}

void history_note(struct history *h, const struct bbr_event *before, const struct bbr_event *e)
{
	__u64 n = e->time_ns / SLOT_NS, first;
	struct sample *s;

	/* An older event: a recording may span several boots. */
	if (n < h->last)
		n = h->last;
	first = n;
	if (n > h->last && before) {
		first = n - h->last < HISTORY_SLOTS ? h->last + 1 : n;
		h->base_ns = before->time_ns;
		h->base_delivered = before->delivered;
		h->has_base = true;
		advance(h, n, before);
	} else if (!before) {
		h->first = h->last = n;
		make_room(h, n);
	}
	s = slot_of(h, n);
	note_rate(h, h->has_base ? first : n, e);
	note_rtt(h, s, e);
	s->bw = event_bps(e, e->bw);
	s->pacing = event_pacing_bps(e);
	s->min_rtt_us = e->min_rtt_us == BBR_RTT_NONE ? NAN : e->min_rtt_us;
	if (!s->modes || s->inflight < event_inflight(e))
		s->inflight = event_inflight(e);
	s->bdp = event_bdp(e) ? event_bdp(e) : NAN;
	s->cwnd = e->cwnd;
	s->modes |= mode_history_bit(e->mode);
	s->ca_states |= ca_bit(e);
	if (before) {
		__u32 lost = s->lost + (e->lost - before->lost);

		s->lost = lost < 0xffff ? lost : 0xffff;
	}
	if (e->kind != BBR_EV_ACK && e->kind != BBR_EV_STATE)
		h->transitions[h->n_transitions++ % TRANSITIONS] = (struct transition){
			.time_ns = e->time_ns,
			.kind = e->kind,
			.from = e->from,
			.to = e->to,
			.reason = e->reason,
			.has_reason = event_has_reason(e),
		};
}

bool history_get(const struct history *h, __u64 first, unsigned int n, struct sample *out)
{
	double sum[SAMPLE_VALUES] = {}, mean;
	unsigned int known[SAMPLE_VALUES] = {};
	__u32 lost = 0;

	memset(out, 0, sizeof(*out));
	out->min_rtt_us = NAN;
	for (__u64 i = first; i < first + n; i++) {
		const struct sample *s = &h->slot[i % h->n_slots];

		if (i < h->first || i > h->last || i + HISTORY_SLOTS <= h->last || !s->modes)
			continue;
		for (int v = 0; v < SAMPLE_VALUES; v++) {
			if (isnan(s->value[v]))
				continue;
			sum[v] += s->value[v];
			known[v]++;
		}
		out->min_rtt_us = fminf(out->min_rtt_us, s->min_rtt_us);
		lost += s->lost;
		out->modes |= s->modes;
		out->ca_states |= s->ca_states;
	}
	for (int v = 0; v < SAMPLE_VALUES; v++) {
		mean = known[v] ? sum[v] / known[v] : NAN;
		out->value[v] = &out->value[v] < &out->inflight ? mean : floor(mean + 0.5);
	}
	out->lost = lost < 0xffff ? lost : 0xffff;
	return out->modes;
}
