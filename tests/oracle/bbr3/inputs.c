// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the estimates of the inputs that a stock kernel does not provide (bpf/bbr3/estimate.h).
 * Recordings of Google's BBR version 3 have both: what a stock kernel shows, which is all that the
 * estimates get here, and what Google's stack knew.
 *
 *	inputs [-e] [-j] [-w] RECORDING...
 *
 * -e: as an instance that negotiates ECN. -j: prints JSON. -w: without the second part of a
 * connection's state, as if there was no memory for it.
 */
#include <getopt.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../replayer.h"
#include "bbr3/algorithm.h"
#include "distribution.h"
#include "replay.h"

enum {
	TX_IN_FLIGHT,
	TX_IN_FLIGHT_RETRANS,
	LOST,
	LOST_TX_IN_FLIGHT,
	LOST_LOST,
	INFLIGHT_HI,
	NEEDED_TX_IN_FLIGHT,
	NEEDED_LOST,
	BURST,
	SHORT_BURST
};

#define SHORT_PATH 8192 /* us; above, the RTT adds less than a byte to a burst */

static struct distribution distributions[] = {
	[TX_IN_FLIGHT] = { .name = "tx_in_flight", .in_permille = true },
	[TX_IN_FLIGHT_RETRANS] = { .name = "tx_in_flight, sent anew", .in_permille = true },
	[LOST] = { .name = "lost" },
	[LOST_TX_IN_FLIGHT] = { .name = "tx_in_flight of lost", .in_permille = true },
	[LOST_LOST] = { .name = "lost of lost" },
	[INFLIGHT_HI] = { .name = "inflight_hi by a loss" },
	[NEEDED_TX_IN_FLIGHT] = { .name = "tx_in_flight, needed", .in_permille = true },
	[NEEDED_LOST] = { .name = "lost, needed" },
	[BURST] = { .name = "burst" },
	[SHORT_BURST] = { .name = "burst, RTT below 8 ms" },
};

enum {
	TOO_HIGH,
	TOO_HIGH_PROBING,
	LOSS_ENDS_PROBE,
	RAISES,
	ACKS_TLP,
	IS_ECE,
	TAIL_LOSS,
	APP_LIMITED,
	CHECK,
	NEEDED_TOO_HIGH_PROBING,
	NOT_NEEDED_RAISES
};

static struct decision decisions[] = {
	[TOO_HIGH] = { .name = "too high" },
	[TOO_HIGH_PROBING] = { .name = "too high while probing" },
	[LOSS_ENDS_PROBE] = { .name = "a loss ends a probe" },
	[RAISES] = { .name = "inflight_hi is raised" }, /* wrong: higher than the truth */
	[ACKS_TLP] = { .name = "acks_tlp" },
	[IS_ECE] = { .name = "is_ece" },
	[TAIL_LOSS] = { .name = "tail loss" },
	[APP_LIMITED] = { .name = "is_app_limited of lost" },
	[CHECK] = { .name = "app_limited by an ACK" },
	/* Of the flights that the program asks for. Those of the rest change nothing. */
	[NEEDED_TOO_HIGH_PROBING] = { .name = "needed while probing" },
	[NOT_NEEDED_RAISES] = { .name = "not needed, but raises" },
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/*
 * A connection: our part of its state, and what Google's stack has reported since the last callback
 * that stock kernels make, too.
 */
struct connection {
	u64 cookie;
	u32 last_lost;
	bool in_order;
	bool has_more, has_history, tail_lost;
	struct bbr_more more;
	struct bbr_history history;
	u32 rate_delivered, rate_interval_us;
	bool rate_app_limited;
	struct bbr before, after; /* the lost packets */
	struct bbr_flight *lost;
	u32 n_lost;
};

static void *connections;
static bool without_more, with_ecn;

static int compare_cookies(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static void *allocate(void *old, size_t size)
{
	void *p = realloc(old, size);

	if (!p) {
		perror("inputs");
		exit(2);
	}
	return p;
}

static struct connection *connection_of(u64 cookie)
{
	struct connection **found = tfind(&cookie, &connections, compare_cookies), *new;

	if (found)
		return *found;
	new = allocate(NULL, sizeof(*new));
	*new = (struct connection){ .cookie = cookie };
	tsearch(new, &connections, compare_cookies);
	return new;
}

static void free_connections(void)
{
	while (connections) {
		struct connection *c = *(struct connection **)connections;

		tdelete(c, &connections, compare_cookies);
		free(c->lost);
		free(c);
	}
}

static bool is_probing(const struct bbr *b)
{
	return b->probe_samples || b->mode == BBR_STARTUP;
}

static bool has_ended_probe(const struct connection *c, const struct bbr *b)
{
	return c->before.probe_samples && !b->probe_samples;
}

/* Compares losses. The estimate has one flight for all of them. */
static void compare_losses(struct connection *c, const struct shell_sock *sk,
			   const struct bbr_flight *flight, u32 marked)
{
	struct bbr b = c->before;
	struct shell_sock copy = *sk;
	struct bbr_lost lost;

	for (u32 i = 0; i < c->n_lost; i++) {
		if (!c->lost[i].tx_in_flight)
			continue; /* nothing is known of it */
		distribution_add(&distributions[LOST_TX_IN_FLIGHT], flight->tx_in_flight,
				 c->lost[i].tx_in_flight);
		distribution_add(&distributions[LOST_LOST], flight->lost, c->lost[i].lost);
		decision_add(&decisions[APP_LIMITED], flight->is_app_limited,
			     c->lost[i].is_app_limited);
	}
	if (c->n_lost && c->before.probe_samples) {
		lost = bbr_lost_of(&b, &copy, flight, marked);
		bbr_lose(&b, &copy, &lost.flight, lost.packets);
		decision_add(&decisions[LOSS_ENDS_PROBE], has_ended_probe(c, &b),
			     has_ended_probe(c, &c->after));
		if (has_ended_probe(c, &b) && has_ended_probe(c, &c->after))
			distribution_add(&distributions[INFLIGHT_HI], b.inflight_hi,
					 c->after.inflight_hi);
	}
	c->n_lost = 0;
}

static u32 newly_lost(const struct bbr *b, const struct shell_sock *sk)
{
	return (sk->lost - b->last_lost) & ((1u << BBR_MARK_BITS) - 1);
}

/* The inflight_hi after an ACK with this flight, which may raise it. */
static u32 raise(const struct bbr *b, const struct shell_sock *sk, const struct bbr_flight *flight)
{
	return bbr_is_loss_too_high(sk, flight) ? b->inflight_hi :
						  max_u32(b->inflight_hi, flight->tx_in_flight);
}

static void compare_flights(const struct replay *r, const struct bbr_flight *estimate)
{
	const struct bbr_flight *truth = &r->ack.flight;
	bool is_too_high = bbr_is_loss_too_high(&r->sk, truth);
	bool estimated_too_high = bbr_is_loss_too_high(&r->sk, estimate);

	distribution_add(&distributions[TX_IN_FLIGHT], estimate->tx_in_flight, truth->tx_in_flight);
	if (r->rs.is_retrans)
		distribution_add(&distributions[TX_IN_FLIGHT_RETRANS], estimate->tx_in_flight,
				 truth->tx_in_flight);
	distribution_add(&distributions[LOST], estimate->lost, truth->lost);
	decision_add(&decisions[TOO_HIGH], estimated_too_high, is_too_high);
	if (is_probing(&r->b))
		decision_add(&decisions[TOO_HIGH_PROBING], estimated_too_high, is_too_high);
	if (r->b.inflight_hi != BBR_COUNT_NONE)
		decision_add(&decisions[RAISES], raise(&r->b, &r->sk, estimate) > r->b.inflight_hi,
			     raise(&r->b, &r->sk, truth) >= raise(&r->b, &r->sk, estimate) &&
				     raise(&r->b, &r->sk, truth) > r->b.inflight_hi);
	if (!bbr_needs_flight(&r->b, &r->sk, &r->rs)) {
		decision_add(&decisions[NOT_NEEDED_RAISES], false,
			     raise(&r->b, &r->sk, truth) > r->b.inflight_hi);
		return;
	}
	distribution_add(&distributions[NEEDED_TX_IN_FLIGHT], estimate->tx_in_flight,
			 truth->tx_in_flight);
	distribution_add(&distributions[NEEDED_LOST], estimate->lost, truth->lost);
	if (is_probing(&r->b))
		decision_add(&decisions[NEEDED_TOO_HIGH_PROBING], estimated_too_high, is_too_high);
}

/* Google's state after a callback. */
static struct bbr state_after(const struct record *rec)
{
	struct record next = *rec;
	struct replay after;

	memcpy(next.state_before, rec->state_after, sizeof(next.state_before));
	replayer_bbr3.load(NULL, &next, false, &after);
	return after.b;
}

/* What tcp_rate_gen() keeps of a sample. No recording has it. */
static void keep_rate(struct connection *c, const struct shell_rs *rs)
{
	if (rs->delivered < 0 || rs->interval_us <= 0 ||
	    (rs->is_app_limited &&
	     (u64)rs->delivered * c->rate_interval_us < (u64)c->rate_delivered * rs->interval_us))
		return;
	c->rate_delivered = rs->delivered;
	c->rate_interval_us = rs->interval_us;
	c->rate_app_limited = rs->is_app_limited;
}

static void take_ack(struct connection *c, struct replay *r)
{
	u32 marked = newly_lost(&r->b, &r->sk);
	u32 app_limited = r->sk.app_limited;
	struct bbr b = r->b;
	struct bbr_ack ack;
	struct bbr_flight flight;

	r->sk.app_limited = 0;
	/* In order the program reads no flight without a bound. So give it one. */
	if (b.in_order && b.inflight_hi == BBR_COUNT_NONE && bbr_stays_in_order(&b, &r->sk, &r->rs))
		b.inflight_hi--;
	bbr_estimate_ack(&b, &r->sk, &r->rs, &ack);
	/* Where the program does not ask, the comparison does. */
	if (!bbr_needs_flight(&r->b, &r->sk, &r->rs))
		bbr_take_flight(&r->b, r->sk.history, &r->sk, &r->rs, &ack, marked);
	flight = r->rs.delivered >= 0 ? ack.flight : bbr_last_flight(r->sk.history, &r->sk);
	if (marked)
		compare_losses(c, &r->sk, &flight, marked);
	if (r->ack.flight.tx_in_flight && r->rs.delivered >= 0)
		compare_flights(r, &ack.flight);
	if (r->sk.app_limited)
		decision_add(&decisions[CHECK], true, r->sk.app_limited == app_limited);
	decision_add(&decisions[ACKS_TLP], ack.acks_tlp, r->ack.acks_tlp);
	if (r->sk.more && with_ecn)
		decision_add(&decisions[IS_ECE], ack.is_ece, r->ack.is_ece);
	if (c->tail_lost)
		decision_add(&decisions[TAIL_LOSS], false, true);
	c->tail_lost = false;
	r->b.last_lost = b.last_lost;
	r->b.in_order = b.in_order;
}

static void take_lost(struct connection *c, const struct record *rec, const struct replay *r)
{
	if (!c->n_lost)
		c->before = r->b;
	c->after = state_after(rec);
	c->lost = allocate(c->lost, (c->n_lost + 1) * sizeof(*c->lost));
	c->lost[c->n_lost++] = r->ack.flight;
}

static void take_state(struct connection *c, struct replay *r)
{
	u32 marked = newly_lost(&r->b, &r->sk);
	struct bbr_flight flight;
	bool is_tail_loss;

	bbr_catch_up(&r->b, &r->sk);
	flight = bbr_last_flight(r->sk.history, &r->sk);
	if (marked)
		compare_losses(c, &r->sk, &flight, marked);
	is_tail_loss = bbr_is_tail_loss(&r->sk, r->arg, marked);
	if (is_tail_loss || c->tail_lost)
		decision_add(&decisions[TAIL_LOSS], is_tail_loss, c->tail_lost);
	c->tail_lost = false;
	bbr_note_timeout(&r->sk, r->arg);
}

/* What a stock kernel from 5.18 on sends at once: tcp_tso_autosize(), with tcp_tso_rtt_log = 9. */
static u32 stack_burst(const struct shell_sock *sk, u32 min_tso_segs)
{
	u32 halvings = sk->min_rtt_us >> 9;
	u64 bytes = sk->pacing_rate >> sk->pacing_shift;

	if (halvings < 32)
		bytes += sk->gso_max_size >> halvings;
	return max_u32(min_u64(bytes, sk->gso_max_size) / sk->mss, min_tso_segs);
}

/* Compares the segments of a burst with what Google's algorithm answered. */
static void take_burst(const struct record *rec, struct replay *r)
{
	struct shell_sock sk = r->sk;
	u32 burst;

	sk.mss = rec->mss_cache;
	burst = stack_burst(&r->sk, bbr_min_tso_segs(&r->b, &sk));
	distribution_add(&distributions[BURST], burst, rec->returned);
	if (r->b.min_rtt_us < SHORT_PATH)
		distribution_add(&distributions[SHORT_BURST], burst, rec->returned);
}

static void take(const struct record *rec, const struct bbr_params *params)
{
	struct connection *c = connection_of(rec->cookie);
	struct replay r;

	replayer_bbr3.load(NULL, rec, false, &r);
	c->has_more |= rec->kind == KIND_INIT && !without_more;
	r.b.last_lost = c->last_lost;
	r.b.in_order = c->in_order;
	r.sk.param = params;
	r.sk.uses_ecn = with_ecn;
	r.sk.more = c->has_more ? &c->more : NULL;
	r.sk.history = c->has_more ? &c->history : NULL;
	r.sk.has_history = c->has_history;
	r.b.initialized = 1;
	if (rec->kind == KIND_MAIN)
		keep_rate(c, &r.rs);
	r.sk.rate_delivered = c->rate_delivered;
	r.sk.rate_app_limited = c->rate_app_limited;
	switch (rec->kind) {
	case KIND_INIT:
		bbr_init_estimate(&r.b, &r.sk);
		break;
	case KIND_MAIN:
		take_ack(c, &r);
		break;
	case KIND_LOST:
		take_lost(c, rec, &r);
		break;
	case KIND_EVENT:
		c->tail_lost |= rec->arg == EVENT_TLP_RECOVERY;
		break;
	case KIND_SET_STATE:
		take_state(c, &r);
		break;
	case KIND_TSO_SEGS:
		take_burst(rec, &r);
		break;
	}
	c->has_history = r.sk.has_history;
	c->last_lost = r.b.last_lost;
	c->in_order = r.b.in_order;
}

static void take_file(const char *path)
{
	__u64 seen[MAX_KINDS] = {};
	struct bbr_params params;
	struct record rec;
	void *recording = replayer_bbr3.open(path, &params);

	while (replayer_bbr3.read(recording, &rec)) {
		take(&rec, &params);
		seen[rec.kind]++;
	}
	replayer_bbr3.close(recording, seen);
	free_connections();
}

static void print(bool as_json)
{
	if (!as_json)
		printf("%-26s%8s %8s %8s %8s %8s %8s %8s\n", "INPUT", "SAMPLES", "EXACT%", "IN2%",
		       "LEAST", "0.5%", "99.5%", "MOST");
	for (size_t i = 0; i < LENGTH(distributions); i++) {
		if (as_json)
			printf(i ? "," : "{");
		distribution_print(&distributions[i], as_json);
	}
	if (!as_json)
		printf("%-26s%8s %8s %8s %8s %8s\n", "DECISION", "CASES", "YES", "MISSED", "WRONG",
		       "DIFFER%");
	for (size_t i = 0; i < LENGTH(decisions); i++) {
		if (as_json)
			printf(",");
		decision_print(&decisions[i], as_json);
	}
	if (as_json)
		printf("}\n");
}

int main(int argc, char **argv)
{
	bool as_json = false;
	int c;

	while ((c = getopt(argc, argv, "ejw")) != -1) {
		if (c == 'j')
			as_json = true;
		else if (c == 'e')
			with_ecn = true;
		else if (c == 'w')
			without_more = true;
		else
			optind = argc;
	}
	if (optind >= argc) {
		fputs("usage: inputs [-e] [-j] [-w] RECORDING...\n", stderr);
		return 2;
	}
	while (optind < argc)
		take_file(argv[optind++]);
	print(as_json);
	return 0;
}
