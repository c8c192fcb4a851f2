/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections as an experiment sees them: sizes with a heavy tail, remote prefixes of very
 * different weight, each with its own rate, round trip and loss, and rare resets and timeouts. A
 * seed determines all of them.
 */
#ifndef TESTS_MADE_UP_TRAFFIC_H
#define TESTS_MADE_UP_TRAFFIC_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "experiment/analysis/row.h"

#define TRAFFIC_PREFIXES 512

struct traffic {
	__u64 random; /* xorshift64* */
	int prefixes;
	struct {
		double below; /* the share of connections up to this one */
		double rate, rtt, loss;
	} prefix[TRAFFIC_PREFIXES];
};

static inline double traffic_uniform(struct traffic *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return ((t->random * 2685821657736338717ull >> 11) + 0.5) / 9007199254740992.0;
}

static inline double traffic_normal(struct traffic *t)
{
	double radius = sqrt(-2 * log(traffic_uniform(t)));

	return radius * cos(2 * M_PI * traffic_uniform(t));
}

/*
 * zipf: the weight of the nth is n^-zipf; alike: the standard deviation of what a prefix's
 * connections have in common.
 */
static inline void traffic_begin(struct traffic *t, __u64 seed, int prefixes, double zipf,
				 double alike)
{
	double sum = 0;

	t->random = seed * 2654435769u + 88172645463325252ull;
	t->prefixes = prefixes;
	for (int i = 0; i < prefixes; i++) {
		sum += pow(i + 1, -zipf);
		t->prefix[i].below = sum;
		t->prefix[i].rate = 2e7 * exp(alike * traffic_normal(t));
		t->prefix[i].rtt = 20000 * exp(alike * traffic_normal(t));
		t->prefix[i].loss = 0.005 * exp(1.5 * alike * traffic_normal(t));
	}
	for (int i = 0; i < prefixes; i++)
		t->prefix[i].below /= sum;
}

/*
 * One more connection, without its arm. slow: a factor on all rates and queues, for the load of the
 * whole network at this time.
 */
static inline void traffic_next(struct traffic *t, struct row *row, double slow)
{
	static const double firsts[] = EXPERIMENT_FIRST_BYTES;
	double draw = traffic_uniform(t), size, bps, rtt;
	int i = 0;

	while (i < t->prefixes - 1 && t->prefix[i].below < draw)
		i++;
	size = fmin(4000 * pow(traffic_uniform(t), -1 / 1.2), 1e9);
	bps = t->prefix[i].rate / slow * exp(0.7 * traffic_normal(t));
	rtt = t->prefix[i].rtt * exp(0.3 * traffic_normal(t));
	*row = (struct row){
		.raddr = { 0, 0, htonl(0xffff), htonl(0x0a000000 | i << 8) },
		.acked = size,
		.rtts = 1 + size / 60000,
		.rtt_min_us = rtt,
		.rtt_above_p95_us = rtt * 0.3 * slow * -log(traffic_uniform(t)),
		.end = traffic_uniform(t) < 0.03 ? EXPERIMENT_RESET : EXPERIMENT_CLOSED,
		.timeouts = traffic_uniform(t) < 0.03 ? 1 - 1.5 * log(traffic_uniform(t)) : 0,
	};
	row->busy_us = (__u64)(size * 8 / bps * 1e6 + 2 * rtt) / 4000 * 4000;
	row->rtt_mean_us = rtt + row->rtt_above_p95_us / 2;
	if (traffic_uniform(t) > 0.6)
		row->retransmitted = -size * t->prefix[i].loss * log(traffic_uniform(t));
	row->sent = row->acked + row->retransmitted;
	for (int k = 0; k < EXPERIMENT_FIRSTS; k++)
		if (size >= firsts[k])
			row->first_us[k] = firsts[k] * 8 / bps * 1e6 + 2 * rtt;
}

/* How a clock may spoil the times of a connection. */
#define TRAFFIC_TEN_VALUES 0 /* each is one of ten */

/* Rounds a time to a multiple of the step, which it does not fall below, or to the next of ten values. */
static inline __u32 traffic_rounded(double us, __u32 step)
{
	__u32 most = 700;

	if (step)
		return us < step ? step : (__u32)(us / step + 0.5) * step;
	while (most < us && most < 700 << 9)
		most *= 2;
	return most;
}

/* The numbers of a connection as coarse clocks show them. */
static inline void traffic_round(struct traffic *t, struct row *row, __u32 step)
{
	__u32 *const times[] = { &row->rtt_min_us,  &row->rtt_mean_us, &row->rtt_above_p95_us,
				 &row->first_us[0], &row->first_us[1], &row->first_us[2] };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (*times[i])
			*times[i] = traffic_rounded(*times[i], step);
	if (!step) /* with one size, goodput has ten values as well */
		row->acked = 100000;
	row->sent = row->acked + row->retransmitted;
	row->busy_us = traffic_rounded(row->busy_us + 4000 * traffic_uniform(t), step);
}

#endif
