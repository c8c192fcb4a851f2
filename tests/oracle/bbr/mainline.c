// SPDX-License-Identifier: GPL-2.0-only
/*
 * All conversions between the kernel's BBR and ours:
 *
 * - The kernel's BTF says where the members of its struct bbr are. Ours has more bits for some
 *   of them and fewer for cycle_mstamp (bbr.h); a value that does not fit both shows as a
 *   difference.
 * - The kernel keeps min_rtt_stamp and probe_rtt_done_stamp in jiffies, we keep them in
 *   milliseconds. The algorithm only compares and adds them. So here it gets the kernel's clock
 *   as it is, and the two parameters that are counted by it (10 s and 200 ms) in jiffies as
 *   well.
 * - The random number of PROBE_BW's first phase follows from the phase that the kernel chose.
 */
#include "mainline.h"

#include <string.h>

/* X(kernel's name, bits from the start of that member, bits (0: all), ours) */
#define FIELDS(X)                                             \
	X("min_rtt_us", 0, 0, min_rtt_us)                     \
	X("min_rtt_stamp", 0, 0, min_rtt_stamp)               \
	X("probe_rtt_done_stamp", 0, 0, probe_rtt_done_stamp) \
	X("bw", 0, 32, bw.s[0].t)                             \
	X("bw", 32, 32, bw.s[0].v)                            \
	X("bw", 64, 32, bw.s[1].t)                            \
	X("bw", 96, 32, bw.s[1].v)                            \
	X("bw", 128, 32, bw.s[2].t)                           \
	X("bw", 160, 32, bw.s[2].v)                           \
	X("rtt_cnt", 0, 0, round_count)                       \
	X("next_rtt_delivered", 0, 0, next_round_delivered)   \
	X("cycle_mstamp", 0, 0, cycle_mstamp)                 \
	X("mode", 0, 0, mode)                                 \
	X("prev_ca_state", 0, 0, prev_ca_state)               \
	X("packet_conservation", 0, 0, packet_conservation)   \
	X("round_start", 0, 0, round_start)                   \
	X("idle_restart", 0, 0, idle_restart)                 \
	X("probe_rtt_round_done", 0, 0, probe_rtt_round_done) \
	X("lt_is_sampling", 0, 0, lt_is_sampling)             \
	X("lt_rtt_cnt", 0, 0, lt_rtt_cnt)                     \
	X("lt_use_bw", 0, 0, lt_use_bw)                       \
	X("lt_bw", 0, 0, lt_bw)                               \
	X("lt_last_delivered", 0, 0, lt_last_delivered)       \
	X("lt_last_stamp", 0, 0, lt_last_stamp)               \
	X("lt_last_lost", 0, 0, lt_last_lost)                 \
	X("pacing_gain", 0, 0, pacing_gain)                   \
	X("cwnd_gain", 0, 0, cwnd_gain)                       \
	X("full_bw_reached", 0, 0, full_bw_reached)           \
	X("full_bw_cnt", 0, 0, full_bw_cnt)                   \
	X("cycle_idx", 0, 0, cycle_idx)                       \
	X("has_seen_rtt", 0, 0, has_seen_rtt)                 \
	X("prior_cwnd", 0, 0, prior_cwnd)                     \
	X("full_bw", 0, 0, full_bw)                           \
	X("ack_epoch_mstamp", 0, 0, ack_epoch_mstamp)         \
	X("ack_epoch_acked", 0, 0, ack_epoch_acked)           \
	X("extra_acked_win_rtts", 0, 0, extra_acked_win_rtts)

/*
 * X(field, offset, width): two slots, and which of them is the current one. That is the first in
 * ours.
 */
#define SLOTS(X)                 \
	X("extra_acked", 0, 16)  \
	X("extra_acked", 16, 16) \
	X("extra_acked_win_idx", 0, 0)

static const struct field *find(const struct header *h, const char *name)
{
	for (unsigned int i = 0; i < h->fields; i++)
		if (!strcmp(h->field[i].name, name))
			return &h->field[i];
	return NULL;
}

static const struct {
	const char *name;
	unsigned int at, width;
} places[] = {
#define X(kernel, at, width, ours) { kernel, at, width },
	FIELDS(X)
#undef X
#define X(kernel, at, width) { kernel, at, width },
		SLOTS(X)
#undef X
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static bool is_known(const char *name)
{
	for (unsigned int i = 0; i < PLACES; i++)
		if (!strcmp(name, places[i].name))
			return true;
	return !strncmp(name, "unused", 6);
}

const char *layout_init(struct layout *l, const struct header *h)
{
	for (unsigned int i = 0; i < h->fields; i++)
		if (!is_known(h->field[i].name))
			return h->field[i].name;
	for (unsigned int i = 0; i < PLACES; i++) {
		const struct field *f = find(h, places[i].name);

		if (!f || places[i].at + places[i].width > f->bits)
			return places[i].name;
		l->field[i] = *f;
		l->field[i].offset += places[i].at;
		if (places[i].width)
			l->field[i].bits = places[i].width;
	}
	return NULL;
}

static u64 bits_of(const u8 *ca_priv, const struct field *f)
{
	u64 words[2] = {}, value;
	unsigned int shift = f->offset % 64;

	memcpy(words, ca_priv + f->offset / 64 * 8, 8);
	value = words[0] >> shift;
	if (shift + f->bits > 64) {
		memcpy(words + 1, ca_priv + f->offset / 64 * 8 + 8, 8);
		value |= words[1] << (64 - shift);
	}
	return f->bits < 64 ? value & ((1ull << f->bits) - 1) : value;
}

/* The value of the current slot, or of the other one. */
static u16 slot_of(const struct layout *l, const u8 *ca_priv, bool other)
{
	const struct field *slots = &l->field[PLACES - 3], *idx = &slots[2];

	return bits_of(ca_priv, &slots[bits_of(ca_priv, idx) ^ other]);
}

static void load_state(const struct layout *l, const u8 *ca_priv, struct bbr *b)
{
	const struct field *f = l->field;

	*b = (struct bbr){};
#define X(kernel, at, width, ours) b->ours = bits_of(ca_priv, f++);
	FIELDS(X)
#undef X
	b->extra_acked[0] = slot_of(l, ca_priv, false);
	b->extra_acked[1] = slot_of(l, ca_priv, true);
}

struct bbr_params mainline_params(unsigned int hz)
{
	struct bbr_params p = BBR_PARAMS_DEFAULT, clamped;

	p.min_rtt_win[0] = p.min_rtt_win[0] / 1000 * hz; /* bbr_min_rtt_win_sec * HZ */
	/* Like msecs_to_jiffies(). */
	p.probe_rtt_duration[0] = (p.probe_rtt_duration[0] * hz + 999) / 1000;
	bbr_clamp_params(&clamped, &p); /* as for all parameters */
	return clamped;
}

/*
 * bbr_reset_probe_bw_mode() sets cycle_idx to 7 - random (0 to 6) and advances to the next phase.
 * Returns the lowest 32-bit number that leads to the same phase. If the callback drew no number,
 * any will do.
 */
static u32 random_of(const struct bbr *after)
{
	u64 draw = BBR_CYCLE_LEN - 1 - ((after->cycle_idx - 1) & (BBR_CYCLE_LEN - 1));

	return ((draw << 32) + BBR_CYCLE_LEN - 2) / (BBR_CYCLE_LEN - 1);
}

void mainline_load(const struct layout *l, const struct callback *cb, u32 clock, struct replay *r)
{
	struct bbr after;

	load_state(l, cb->after.ca_priv, &after);
	load_state(l, cb->before.ca_priv, &r->b);
	r->sk = (struct shell_sock){
		.tcp_mstamp = cb->tcp_mstamp,
		.delivered_mstamp = cb->delivered_mstamp,
		.tcp_clock_cache = cb->tcp_clock_cache,
		.tcp_wstamp_ns = cb->tcp_wstamp_ns,
		.max_pacing_rate = cb->max_pacing_rate,
		.now_ms = clock,
		.random = random_of(&after),
		.delivered = cb->delivered,
		.lost = cb->lost,
		.inflight = cb->inflight,
		.mss = cb->mss,
		.srtt_us = cb->srtt_us,
		.min_rtt_us = cb->min_rtt_us,
		.snd_cwnd_clamp = cb->snd_cwnd_clamp,
		.pacing_shift = cb->pacing_shift,
		.ca_state = cb->ca_state,
		.pacing_rate = cb->before.pacing_rate,
		.cwnd = cb->before.cwnd,
		.ssthresh = cb->before.ssthresh,
		.app_limited = cb->before.app_limited,
	};
	r->rs = (struct shell_rs){
		.delivered = cb->rs_delivered,
		.losses = cb->rs_losses,
		.interval_us = cb->rs_interval_us,
		.rtt_us = cb->rs_rtt_us,
		.prior_delivered = cb->rs_prior_delivered,
		.prior_in_flight = cb->rs_prior_in_flight,
		.acked_sacked = cb->rs_acked_sacked,
		.is_app_limited = cb->rs_is_app_limited,
		.is_ack_delayed = cb->rs_is_ack_delayed,
	};
	r->returned = 0;
	r->kind = cb->kind;
	r->arg = cb->arg;
}

int mainline_compare(const struct layout *l, const struct callback *cb, const struct replay *r,
		     on_difference_fn *on_difference)
{
	const struct field *f = l->field;
	int differences = 0;
	u64 kernel;

#define COMPARE(name, kernel_has, we_have)                              \
	if ((kernel_has) != (we_have)) {                                \
		differences++;                                          \
		if (on_difference)                                      \
			on_difference((name), (kernel_has), (we_have)); \
	}
#define X(name, at, width, ours)                  \
	kernel = bits_of(cb->after.ca_priv, f++); \
	COMPARE(#ours, kernel, r->b.ours)
	FIELDS(X)
#undef X
	COMPARE("extra_acked[0]", slot_of(l, cb->after.ca_priv, false), r->b.extra_acked[0])
	COMPARE("extra_acked[1]", slot_of(l, cb->after.ca_priv, true), r->b.extra_acked[1])
	COMPARE("pacing_rate", cb->after.pacing_rate, r->sk.pacing_rate)
	COMPARE("cwnd", cb->after.cwnd, r->sk.cwnd)
	COMPARE("ssthresh", cb->after.ssthresh, r->sk.ssthresh)
	COMPARE("app_limited", cb->after.app_limited, r->sk.app_limited)
	COMPARE("return value", cb->after.returned, r->returned)
#undef COMPARE
	return differences;
}
