// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* qsort_r() */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "cli/completion.h"
#include "cli/err.h"
#include "event/field.h"
#include "kernel/clock.h"
#include "snapshot.h"
#include "verbs.h"

#define NONE (~0ull) /* not known: after all others, whichever way they are sorted */
#define IS_OURS (!(e->flags & BBR_F_KERNEL))

/*
 * What is not in a table of fields, as in SOCKET_NUMBERS: e is the event, s the socket. The last four
 * are no numbers: compare_key() compares them.
 */
#define KEYS(X)                                             \
	X(time_ns, true, e->time_ns)                        \
	X(event, true, e->kind)                             \
	X(conn, e->conn, e->conn)                           \
	X(seq, false, 0)                                    \
	X(netns, true, e->netns)                            \
	X(lport, true, ntohs(e->lport))                     \
	X(rport, true, ntohs(e->rport))                     \
	X(family, true, e->family)                          \
	X(profile_index, IS_OURS, e->profile)               \
	X(params_gen, false, 0)                             \
	X(state, true, s->state)                            \
	SOCKET_NUMBERS(X)                                   \
	X(sockmap, true, !!(s->places & BBR_PLACE_SOCKMAP)) \
	X(instance, false, 0)                               \
	X(profile, false, 0)                                \
	X(local, false, 0)                                  \
	X(remote, false, 0)

enum {
#define X(key, has, value) KEY_##key,
	KEYS(X)
#undef X
	N_KEYS,
	KEY_FIELD, /* of a table of fields */
};

static const char *const keys[N_KEYS] = {
#define X(key, has, value) #key,
	KEYS(X)
#undef X
};

/* Names of columns of the text. */
static const char *const columns[N_KEYS] = {
	[KEY_recv_q_bytes] = "recv-q",
	[KEY_send_q_bytes] = "send-q",
	[KEY_remote] = "peer",
};

static bool find_key(struct sort_key *key, const char *s, const struct known *known)
{
	const struct field *f = known_field(known, s);

	for (key->what = 0; key->what < N_KEYS; key->what++)
		if (!strcmp(keys[key->what], s) ||
		    (columns[key->what] && !strcmp(columns[key->what], s)))
			return true;
	key->what = KEY_FIELD;
	key->field = f ? f->key : NULL;
	return f;
}

static bool refuse(const char *s, const struct known *known)
{
	struct name_list names = {};

	err("--sort %s: no such key", s);
	for (int i = 0; i < N_KEYS; i++)
		name_list_add(&names, keys[i]);
	name_list_add_fields(&names, known);
	return name_list_refuse(
		&names, s,
		"one or more of these, with a \"-\" to sort from the highest to the lowest:");
}

bool sort_parse(struct sort_order *order, const char *text, const struct known *known)
{
	order->n = 0;
	for (const char *s = text, *end; s; s = end ? end + 1 : NULL) {
		struct sort_key key = { .descending = *s == '-' };
		char word[256];

		s += key.descending;
		end = strchr(s, ',');
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(s, ","), s);
		if (!find_key(&key, word, known))
			return refuse(word, known);
		if (order->n == SORT_KEYS) {
			err("--sort: more than %d keys", SORT_KEYS);
			return false;
		}
		order->keys[order->n++] = key;
	}
	return true;
}

void complete_sort_keys(const struct completion *c)
{
	for (int i = 0; i < N_KEYS; i++)
		completion_add_to_list(c, keys[i], "");
	for (size_t i = 0; i < n_common_fields; i++)
		completion_add_to_list(c, common_fields[i].key, "");
	for (size_t a = 0; a < n_algorithms; a++)
		for (size_t i = 0; i < algorithms[a]->n_fields; i++) {
			const char *key = algorithms[a]->fields[i].key;

			if (!a || !field_find(algorithms[0], key))
				completion_add_to_list(c, key, "");
		}
}

static __u64 number(const struct sort_key *key, const struct kept_snapshot *k)
{
	const struct bbr_event *e = &k->state.event;
	const struct bbr_snapshot *s = &k->state;
	const struct field *f;
	__u64 value;

	switch (key->what) {
	case KEY_FIELD:
		f = field_find(k->origin->algorithm, key->field);
		return f && field_value(f, e, &value) ? value : NONE;
#define X(key, has, value) \
	case KEY_##key:    \
		return (has) ? (__u64)(value) : NONE;
		KEYS(X)
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

struct sorting {
	const struct kept_snapshots *kept;
	const struct sort_order *order;
	__u64 *numbers; /* for each connection, a number for each key */
};

static int compare_key(const struct sorting *sorting, int k, __u32 i, __u32 j)
{
	const struct kept_snapshot *a = &sorting->kept->list[i], *b = &sorting->kept->list[j];
	const struct bbr_event *x = &a->state.event, *y = &b->state.event;
	const struct sort_order *order = sorting->order;
	int sign = order->keys[k].descending != order->reverse ? -1 : 1;
	__u64 p, q;

	switch (order->keys[k].what) {
	case KEY_instance:
		return sign * strcmp(a->origin->name, b->origin->name);
	case KEY_profile:
		return compare_profiles(a, b, sign);
	case KEY_local:
		return sign * memcmp(x->laddr, y->laddr, sizeof(x->laddr));
	case KEY_remote:
		return sign * memcmp(x->raddr, y->raddr, sizeof(x->raddr));
	}
	p = sorting->numbers[i * order->n + k];
	q = sorting->numbers[j * order->n + k];
	if (p == NONE || q == NONE)
		return (p == NONE) - (q == NONE);
	return p < q ? -sign : p > q ? sign : 0;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct sorting *sorting = ctx;
	__u32 i = *(const __u32 *)a, j = *(const __u32 *)b;

	for (int k = 0; k < sorting->order->n; k++) {
		int result = compare_key(sorting, k, i, j);

		if (result)
			return result;
	}
	return i < j ? -1 : i > j;
}

void kept_add(struct kept_snapshots *kept, const struct snapshot *c)
{
	MEM_ADD(kept->list, kept->n) = (struct kept_snapshot){ c->origin, *c->state };
}

__u32 *kept_sort(const struct kept_snapshots *kept, const struct sort_order *order)
{
	struct sorting sorting = { kept, order, NULL };
	__u32 *indexes = mem_new(kept->n, sizeof(*indexes));
	size_t n = order->n;

	sorting.numbers = mem_new(kept->n * n, sizeof(*sorting.numbers));
	for (size_t i = 0; i < kept->n; i++) {
		indexes[i] = i;
		for (size_t k = 0; k < n; k++)
			sorting.numbers[i * n + k] = number(&order->keys[k], &kept->list[i]);
	}
	qsort_r(indexes, kept->n, sizeof(*indexes), compare, &sorting);
	free(sorting.numbers);
	return indexes;
}
