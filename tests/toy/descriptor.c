// SPDX-License-Identifier: GPL-2.0-only
#include "descriptor.h"

#include "event.h"
#include "params.h"

static const struct param params[] = {
#define PARAM(key, n, unit, dflt, lo, hi, help) \
	{ #key, n, BBR_U_##unit, lo, hi, offsetof(struct bbr_params, key) / sizeof(__u32), help },
	BBR_PARAMS(PARAM, PARAM)
#undef PARAM
};

static const struct bbr_params defaults = BBR_PARAMS_DEFAULT;

static const struct algorithm_mode modes[BBR_MODES] = { [BBR_FIXED] = { "FIXED" } };

static const char *const mode_names[BBR_MODES] = { "FIXED" };

static const struct field fields[] = {
	{ "mode", FIELD_AT(mode), FIELD_NAME, NAMES(mode_names) },
	{ "bw_bps", FIELD_AT(bw), FIELD_BW, .lane = LANE_RATE, .curve = "bw" },
	{ "min_rtt_us", FIELD_AT(min_rtt_us), FIELD_US, .has_unknown = true,
	  .unknown = BBR_RTT_NONE, .lane = LANE_RTT, .curve = "min_rtt" },
	{ "pacing_gain", FIELD_AT(pacing_gain), FIELD_GAIN },
	{ "cwnd_gain", FIELD_AT(cwnd_gain), FIELD_GAIN },
	{ "rounds", FIELD_AT(rounds), FIELD_COUNT, .text = " round:%", .order = TEXT_MODEL },
	{ "round_start", FIELD_AT(flags), FIELD_FLAG, BBR_F_ROUND_START },
	{ "acks_seen", TAIL_AT(acks), FIELD_COUNT, .text = " acks_seen:%", .order = TEXT_REST },
	{ "worst_rtt_us", TAIL_AT(worst_rtt_us), FIELD_US, .has_unknown = true,
	  .unknown = BBR_RTT_NONE, .text = " worst_rtt:%", .order = TEXT_REST + 1, .lane = LANE_RTT,
	  .curve = "worst rtt" },
};

const struct algorithm algorithm_toy = {
	.name = "toy",
	.instance = "bpf_toy",
	.title = "a fixed window",
	.params = params,
	.n_params = sizeof(params) / sizeof(params[0]),
	.defaults = (const __u32 *)&defaults,
	.params_size = sizeof(defaults),
	.modes = modes,
	.n_modes = BBR_MODES,
	.fields = fields,
	.n_fields = sizeof(fields) / sizeof(fields[0]),
	.tail_size = sizeof(struct bbr_tail),
};
