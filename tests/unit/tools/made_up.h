/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An algorithm that no tool knows: five modes, one with phases, and two fields of its own, of which
 * one has a finding.
 */
#ifndef MADE_UP_H
#define MADE_UP_H

#include <string.h>

#include <arpa/inet.h>

#include "descriptor.h"
#include "event/event.h"

/* TAIL_AT() names struct bbr_tail; a test may have that of another algorithm, too. */
#define bbr_tail made_up_tail
struct bbr_tail {
	__u32 stamina;
	__u8 surface;
	__u8 pad[3];
};

enum {
	CRAWL,
	WALK,
	RUN,
	REST,
	FALL,
	MADE_UP_MODES
};

static const char *const feet[] = { "left", "right" };
static const char *const surfaces[] = { "road", "sand", "snow" };
static const char *const falls[] = { "stone", "ice" };

static const struct algorithm_step made_up_steps[] = { { "left", "right" }, {} };

static const struct algorithm_mode made_up_modes[MADE_UP_MODES] = {
	[CRAWL] = { .name = "CRAWL" },
	[WALK] = { .name = "WALK", .phases = feet, .n_phases = 2 },
	[RUN] = { .name = "RUN" },
	[REST] = { .name = "REST" },
	[FALL] = { .name = "FALL", .rarity = 1 },
};

static const struct field_finding slide = {
	.state = "snow",
	.reason = "ice",
	.key = "slides",
	.metric = "bbr_slides",
	.help = "Times that it slid.",
};

static const struct field made_up_fields[] = {
	{ "stamina", TAIL_AT(stamina), FIELD_COUNT, .has_unknown = true, .unknown = 1000,
	  .text = " stamina:%", .order = TEXT_MODEL, .lane = LANE_INFLIGHT, .curve = "stamina" },
	{ "surface", TAIL_AT(surface), FIELD_NAME, NAMES(surfaces), .page = "on %",
	  .page_order = PAGE_RECOVERY + 1, .lane = LANE_STATE, .finding = &slide },
};

#undef bbr_tail

static const struct algorithm made_up = {
	.name = "made_up",
	.instance = "made_up",
	.title = "none",
	.modes = made_up_modes,
	.n_modes = MADE_UP_MODES,
	.reasons = falls,
	.steps = made_up_steps,
	.n_reasons = 2,
	.fields = made_up_fields,
	.n_fields = 2,
	.tail_size = sizeof(struct made_up_tail),
};

static const struct origin made_up_origin = { .name = "runner", .id = 5, .algorithm = &made_up };

/* For struct known: a recording that describes it. */
static inline const struct algorithm *describe_made_up(const char *recording, size_t i)
{
	(void)recording;
	return i ? NULL : &made_up;
}

/* An ACK of connection `conn`. */
static inline struct bbr_event made_up_event(__u64 conn, __u8 mode, __u32 stamina, __u8 surface)
{
	const struct made_up_tail tail = { .stamina = stamina, .surface = surface };
	struct bbr_event e = {
		.size = BBR_EVENT_BASE + sizeof(tail),
		.major = BBR_ABI_MAJOR,
		.kind = BBR_EV_ACK,
		.conn = conn,
		.time_ns = 1000000000,
		.netns = 1,
		.laddr = { 0, 0, htonl(0xffff), htonl(0x0a000001) },
		.raddr = { 0, 0, htonl(0xffff), htonl(0x0a000002) },
		.lport = htons(conn),
		.rport = htons(80),
		.family = AF_INET,
		.mode = mode,
		.mss = 1000,
		.min_rtt_us = 10000,
		.rtt_us = 12000,
		.srtt_us = 11000,
		.bw = 1 << 14,
		.pacing_gain = 256,
		.cwnd_gain = 512,
		.pacing_rate = 125000,
		.cwnd = 20,
		.inflight = 10,
		.ssthresh = 0x7fffffff,
		.bytes_sent = 5000,
	};

	memcpy(e.tail, &tail, sizeof(tail));
	return e;
}

#endif
