// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* qsort_r() */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "err.h"
#include "event/event.h"
#include "sort.h"

#define NONE (~0ull) /* not known: after all others, whichever way they are sorted */
#define IF(has, value) ((has) ? (__u64)(value) : NONE)
#define FLAG(flag) (!!(e->flags & (flag)))
#define IS_OURS (!(e->flags & BBR_F_KERNEL))
#define HAS_SAMPLE (e->flags & BBR_F_SAMPLE)

/* Each number by the key that it has in JSON. e is the event, s the socket, c the connection. */
#define NUMBERS(X)                                                                    \
	X(time_ns, e->time_ns)                                                        \
	X(event, e->kind)                                                             \
	X(conn, IF(e->conn, e->conn))                                                 \
	X(seq, NONE)                                                                  \
	X(netns, e->netns)                                                            \
	X(lport, ntohs(e->lport))                                                     \
	X(rport, ntohs(e->rport))                                                     \
	X(family, e->family)                                                          \
	X(mode, e->mode)                                                              \
	X(cycle_idx, e->cycle_idx)                                                    \
	X(bw_bps, event_bps(e, e->bw))                                                \
	X(max_bw_bps, event_bps(e, e->max_bw))                                        \
	X(full_bw_bps, event_bps(e, e->full_bw))                                      \
	X(lt_bw_bps, event_bps(e, e->lt_bw))                                          \
	X(min_rtt_us, IF(e->min_rtt_us != BBR_RTT_NONE, e->min_rtt_us))               \
	X(pacing_gain, e->pacing_gain)                                                \
	X(cwnd_gain, e->cwnd_gain)                                                    \
	X(rounds, e->rounds)                                                          \
	X(round_start, FLAG(BBR_F_ROUND_START))                                       \
	X(full_bw_reached, FLAG(BBR_F_FULL_BW))                                       \
	X(full_bw_cnt, e->full_bw_cnt)                                                \
	X(policer, FLAG(BBR_F_LT_USE_BW) * 2 + FLAG(BBR_F_LT_SAMPLING))               \
	X(lt_rtt_cnt, e->lt_rtt_cnt)                                                  \
	X(extra_acked, e->extra_acked)                                                \
	X(conservation, FLAG(BBR_F_CONSERVATION))                                     \
	X(idle_restart, FLAG(BBR_F_IDLE_RESTART))                                     \
	X(prior_cwnd, e->prior_cwnd)                                                  \
	X(profile_index, IF(IS_OURS, e->profile))                                     \
	X(params_gen, NONE)                                                           \
	X(rtt_us, IF(e->rtt_us != BBR_RTT_NONE, e->rtt_us))                           \
	X(delivery_rate_bps, IF(event_has_rate(e), event_delivery_bps(e)))            \
	X(app_limited, IF(HAS_SAMPLE, FLAG(BBR_F_APP_LIMITED)))                       \
	X(losses, IF(HAS_SAMPLE, e->rs_losses))                                       \
	X(acked, IF(HAS_SAMPLE, e->rs_acked))                                         \
	X(prior_inflight, IF(HAS_SAMPLE, e->rs_prior_inflight))                       \
	X(srtt_us, e->srtt_us)                                                        \
	X(inflight, e->inflight)                                                      \
	X(cwnd, e->cwnd)                                                              \
	X(ssthresh, e->ssthresh)                                                      \
	X(pacing_rate_bps, IF(e->pacing_rate != EVENT_UNLIMITED, e->pacing_rate * 8)) \
	X(ca_state, e->ca_state)                                                      \
	X(delivered, e->delivered)                                                    \
	X(lost, e->lost)                                                              \
	X(mss_bytes, e->mss)                                                          \
	X(bytes_sent, e->bytes_sent)                                                  \
	X(bytes_acked, e->bytes_acked)                                                \
	X(bytes_retrans, e->bytes_retrans)                                            \
	X(state, s->state)                                                            \
	X(recv_q_bytes, s->recv_q)                                                    \
	X(send_q_bytes, s->send_q)                                                    \
	X(cookie, s->cookie)                                                          \
	X(cgroup_id, s->cgroup)                                                       \
	X(uid, s->uid)                                                                \
	X(inode, s->inode)                                                            \
	X(mark, s->mark)                                                              \
	X(bound_ifindex, s->bound_ifindex)

enum {
#define X(key, value) KEY_##key,
	NUMBERS(X)
#undef X
	KEY_instance,
	KEY_profile,
	KEY_local,
	KEY_remote,
	N_KEYS,
};

static const char *const keys[N_KEYS] = {
#define X(key, value) #key,
	NUMBERS(X)
#undef X
		"instance",
	"profile",
	"local",
	"remote",
};

/* What the columns of the text are called. */
static const struct {
	const char *column;
	int key;
} columns[] = {
	{ "recv-q", KEY_recv_q_bytes },
	{ "send-q", KEY_send_q_bytes },
	{ "peer", KEY_remote },
};

static int find_key(const char *s, size_t len)
{
	for (int i = 0; i < N_KEYS; i++)
		if (strlen(keys[i]) == len && !strncmp(s, keys[i], len))
			return i;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strlen(columns[i].column) == len && !strncmp(s, columns[i].column, len))
			return columns[i].key;
	return -1;
}

static void list_keys(void)
{
	char line[100];
	size_t len = 0;

	for (int i = 0; i < N_KEYS; i++) {
		if (len + strlen(keys[i]) + 3 > sizeof(line)) {
			remedy("%s", line);
			len = 0;
		}
		len += snprintf(line + len, sizeof(line) - len, "%s%s", keys[i],
				i + 1 < N_KEYS ? ", " : "");
	}
	remedy("%s", line);
}

bool option_sort(const char *option, const char *s, void *to)
{
	struct sort_order *order = to;

	order->n = 0;
	for (const char *end; s; s = end) {
		bool descending = *s == '-';
		size_t len;
		int field;

		s += descending;
		len = strcspn(s, ",");
		end = s[len] ? s + len + 1 : NULL;
		field = find_key(s, len);
		if (field < 0) {
			err("%s %.*s: no such key", option, (int)len, s);
			remedy("one or more of these, a \"-\" before those from the highest to the "
			       "lowest:");
			list_keys();
			return false;
		}
		if (order->n == SORT_KEYS) {
			err("%s: more than %d keys", option, SORT_KEYS);
			return false;
		}
		order->keys[order->n++] = (struct sort_key){ field, descending };
	}
	return true;
}

static __u64 number(int field, const struct kept_snapshot *k)
{
	const struct bbr_event *e = &k->state.event;
	const struct bbr_snapshot *s = &k->state;

	switch (field) {
#define X(key, value)   \
	case KEY_##key: \
		return value;
		NUMBERS(X)
#undef X
	}
	return NONE;
}

static int compare_profiles(const struct kept_snapshot *a, const struct kept_snapshot *b, int sign)
{
	char name[BBR_PROFILE_NAME_LEN] = "";
	const char *x = origin_profile(a->origin, &a->state.event), *y;

	if (x)
		strcpy(name, x);
	y = origin_profile(b->origin, &b->state.event);
	if (!x || !y)
		return !x - !y;
	return sign * strcmp(name, y);
}

static int compare_numbers(__u64 x, __u64 y, int sign)
{
	if (x == y)
		return 0;
	if (x == NONE || y == NONE)
		return x == NONE ? 1 : -1;
	return x < y ? -sign : sign;
}

static int compare_key(int field, const struct kept_snapshot *a, const struct kept_snapshot *b,
		       int sign)
{
	const struct bbr_event *x = &a->state.event, *y = &b->state.event;

	switch (field) {
	case KEY_instance:
		return sign * strcmp(a->origin->name, b->origin->name);
	case KEY_profile:
		return compare_profiles(a, b, sign);
	case KEY_local:
		return sign * memcmp(x->laddr, y->laddr, sizeof(x->laddr));
	case KEY_remote:
		return sign * memcmp(x->raddr, y->raddr, sizeof(x->raddr));
	default:
		return compare_numbers(number(field, a), number(field, b), sign);
	}
}

struct sorting {
	const struct kept_snapshots *kept;
	const struct sort_order *order;
};

static int compare(const void *a, const void *b, void *ctx)
{
	const struct sorting *sorting = ctx;
	const struct sort_order *order = sorting->order;
	__u32 i = *(const __u32 *)a, j = *(const __u32 *)b;

	for (int k = 0; k < order->n; k++) {
		int sign = order->keys[k].descending != order->reverse ? -1 : 1;
		int result = compare_key(order->keys[k].field, &sorting->kept->list[i],
					 &sorting->kept->list[j], sign);

		if (result)
			return result;
	}
	return i < j ? -1 : i > j;
}

bool kept_add(struct kept_snapshots *kept, const struct snapshot *c)
{
	if (kept->n == kept->room) {
		size_t room = kept->room ? kept->room + kept->room / 2 : 256;
		struct kept_snapshot *grown = realloc(kept->list, room * sizeof(*grown));

		if (!grown)
			return false;
		kept->list = grown;
		kept->room = room;
	}
	kept->is_recorded = c->is_recorded;
	kept->list[kept->n++] = (struct kept_snapshot){ c->origin, *c->state };
	return true;
}

__u32 *kept_sort(const struct kept_snapshots *kept, const struct sort_order *order)
{
	struct sorting sorting = { kept, order };
	__u32 *indexes = malloc((kept->n + 1) * sizeof(*indexes));

	if (!indexes)
		return NULL;
	for (size_t i = 0; i < kept->n; i++)
		indexes[i] = i;
	qsort_r(indexes, kept->n, sizeof(*indexes), compare, &sorting);
	return indexes;
}
