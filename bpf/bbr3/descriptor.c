// SPDX-License-Identifier: GPL-2.0-only
/* Describes BBR version 3 to the tools (lib/descriptor.h). */
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

static const char *const phases[BBR_PHASES] = {
	[BBR_UP] = "UP",
	[BBR_DOWN] = "DOWN",
	[BBR_CRUISE] = "CRUISE",
	[BBR_REFILL] = "REFILL",
};

static const struct algorithm_mode modes[BBR_MODES] = {
	[BBR_STARTUP] = { .name = "STARTUP", .rarity = 1 },
	[BBR_DRAIN] = { .name = "DRAIN", .rarity = 2 },
	[BBR_PROBE_BW] = { "PROBE_BW", phases, BBR_PHASES, .mark = 'B' },
	[BBR_PROBE_RTT] = { .name = "PROBE_RTT", .mark = 'R', .rarity = 3 },
};

static const char *const mode_names[BBR_MODES] = { "STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT" };

static const char *const reasons[BBR_REASONS] = {
	[BBR_R_FULL_BW] = "full_bw",
	[BBR_R_STARTUP_LOSS] = "startup_loss",
	[BBR_R_STARTUP_ECN] = "startup_ecn",
	[BBR_R_DRAINED] = "drained",
	[BBR_R_PROBE_AGAIN] = "probe_again",
	[BBR_R_PROBE_LOSS] = "probe_loss",
	[BBR_R_PROBE_ECN] = "probe_ecn",
	[BBR_R_PROBE_INFLIGHT] = "probe_inflight",
	[BBR_R_PROBE_FULL_BW] = "probe_full_bw",
	[BBR_R_WAITED] = "waited",
	[BBR_R_WAITED_ROUNDS] = "waited_rounds",
	[BBR_R_MARKS_CEASED] = "marks_ceased",
	[BBR_R_REFILLED] = "refilled",
	[BBR_R_HEADROOM] = "headroom",
	[BBR_R_MIN_RTT_EXPIRED] = "min_rtt_expired",
	[BBR_R_PROBE_RTT_DONE] = "probe_rtt_done",
};

static const struct algorithm_step steps[BBR_REASONS] = {
	[BBR_R_DRAINED] = { NULL, "DOWN" },
	[BBR_R_PROBE_AGAIN] = { NULL, "REFILL" }, /* from DOWN or CRUISE */
	[BBR_R_PROBE_LOSS] = { "UP", "DOWN" },
	[BBR_R_PROBE_ECN] = { "UP", "DOWN" },
	[BBR_R_PROBE_INFLIGHT] = { "UP", "DOWN" },
	[BBR_R_PROBE_FULL_BW] = { "UP", "DOWN" },
	[BBR_R_WAITED] = { NULL, "REFILL" },
	[BBR_R_WAITED_ROUNDS] = { NULL, "REFILL" },
	[BBR_R_MARKS_CEASED] = { NULL, "REFILL" },
	[BBR_R_REFILLED] = { "REFILL", "UP" },
	[BBR_R_HEADROOM] = { "DOWN", "CRUISE" },
	[BBR_R_PROBE_RTT_DONE] = { NULL, "CRUISE" }, /* unless it is STARTUP */
};

static const char *const acks[BBR_ACKS] = {
	[BBR_ACKS_INIT] = "init",
	[BBR_ACKS_REFILLING] = "refilling",
	[BBR_ACKS_PROBE_STARTING] = "probe_starting",
	[BBR_ACKS_PROBE_FEEDBACK] = "probe_feedback",
	[BBR_ACKS_PROBE_STOPPING] = "probe_stopping",
};

#define BOUND .has_unknown = true, .unknown = BBR_TAIL_NONE

static const struct field_column hi_column = { .title = "HI",
					       .help = "packets: the bound that losses left" };
static const struct field_column lo_column = { .title = "LO",
					       .help = "packets: the bound until the next probe" };

static const char *const behind_of[] = { "no", "cpu" };

static const struct field_finding short_of_cpu = {
	.state = "cpu",
	.key = "cpu_shortages",
	.metric = "bbr_cpu_shortages",
	.help = "Times that a connection was seen short of CPU (only with cpu_gain).",
};

static const struct field fields[] = {
	{ "mode", FIELD_AT(mode), FIELD_NAME, NAMES(mode_names) },
	{ "phase", FIELD_AT(phase), FIELD_NAME, .has_unknown = true, .unknown = BBR_PHASE_NONE,
	  NAMES(phases), .lane = LANE_STATE, .curve = "phase", .calm = "CRUISE" },
	{ "bw_bps", FIELD_AT(bw), FIELD_BW, .page = "bw %", .page_order = PAGE_RATE + 1,
	  .lane = LANE_RATE, .curve = "bw" },
	{ "bw_hi_bps", TAIL_AT(bw_hi), FIELD_BW, .text = " bw_hi:%", .order = TEXT_REST,
	  .page = "bw_hi %", .page_order = PAGE_RATE + 2, .lane = LANE_RATE, .curve = "bw_hi" },
	{ "bw_lo_bps", TAIL_AT(bw_lo), FIELD_BW, BOUND, .text = " bw_lo:%", .order = TEXT_REST + 1,
	  .page = "bw_lo %", .page_order = PAGE_RATE + 3, .lane = LANE_RATE, .curve = "bw_lo" },
	{ "bw_latest_bps", TAIL_AT(bw_latest), FIELD_BW, .page = "bw_latest %",
	  .page_order = PAGE_RATE + 4 },
	{ "full_bw_bps", TAIL_AT(full_bw), FIELD_BW, .text = " full_bw:%", .order = TEXT_MODEL + 1,
	  .page = "full_bw %", .page_order = PAGE_PACING + 3 },
	{ "min_rtt_us", FIELD_AT(min_rtt_us), FIELD_US, .has_unknown = true,
	  .unknown = BBR_RTT_NONE, .page = "min_rtt %", .page_order = PAGE_RTT + 1,
	  .lane = LANE_RTT, .curve = "min_rtt" },
	{ "pacing_gain", FIELD_AT(pacing_gain), FIELD_GAIN, .has_unknown = true, .unknown = 0,
	  .page = "pacing_gain %", .page_order = PAGE_PACING + 1 },
	{ "cwnd_gain", FIELD_AT(cwnd_gain), FIELD_GAIN, .has_unknown = true, .unknown = 0,
	  .page = "cwnd_gain %", .page_order = PAGE_PACING + 2 },
	{ "rounds", FIELD_AT(rounds), FIELD_COUNT, BOUND, .text = " round:%", .order = TEXT_MODEL,
	  .page = "rounds %", .page_order = PAGE_SSTHRESH + 2 },
	{ "round_start", FIELD_AT(flags), FIELD_FLAG, BBR_F_ROUND_START },
	{ "full_bw_reached", FIELD_AT(flags), FIELD_FLAG, BBR_F_FULL_BW, .text = " full",
	  .order = TEXT_MODEL + 3, .page = " (full)", .page_order = PAGE_PACING + 5 },
	{ "full_bw_cnt", TAIL_AT(full_bw_cnt), FIELD_COUNT, .text = "/%", .order = TEXT_MODEL + 2,
	  .page = "full_bw_cnt %", .page_order = PAGE_PACING + 4 },
	{ "inflight_hi", TAIL_AT(inflight_hi), FIELD_COUNT, BOUND, .text = " inflight_hi:%",
	  .order = TEXT_REST + 2, .page = "inflight_hi %", .page_order = PAGE_WINDOW + 2,
	  .column = &hi_column, .lane = LANE_INFLIGHT, .curve = "inflight_hi" },
	{ "inflight_lo", TAIL_AT(inflight_lo), FIELD_COUNT, BOUND, .text = " inflight_lo:%",
	  .order = TEXT_REST + 3, .page = "inflight_lo %", .page_order = PAGE_WINDOW + 3,
	  .column = &lo_column, .lane = LANE_INFLIGHT, .curve = "inflight_lo" },
	{ "inflight_latest", TAIL_AT(inflight_latest), FIELD_COUNT, .page = "inflight_latest %",
	  .page_order = PAGE_WINDOW + 4 },
	{ "prior_cwnd", TAIL_AT(prior_cwnd), FIELD_COUNT, .page = "prior_cwnd %",
	  .page_order = PAGE_WINDOW + 1 },
	{ "extra_acked", TAIL_AT(extra_acked), FIELD_COUNT, .text = " extra_acked:%",
	  .order = TEXT_REST + 4, .page = "extra_acked %", .page_order = PAGE_SSTHRESH + 1 },
	{ "acks", TAIL_AT(acks), FIELD_NAME, NAMES(acks), .page = "acks %",
	  .page_order = PAGE_RECOVERY + 1 },
	{ "probe_samples", TAIL_AT(flags), FIELD_FLAG, BBR_T_SAMPLES },
	{ "probe_wait_us", TAIL_AT(probe_wait_us), FIELD_US, .page = "probe_wait %",
	  .page_order = PAGE_RECOVERY + 2 },
	{ "rounds_since_probe", TAIL_AT(rounds_since_probe), FIELD_COUNT,
	  .page = "rounds_since_probe %", .page_order = PAGE_RECOVERY + 3 },
	{ "probe_up_cnt", TAIL_AT(probe_up_cnt), FIELD_COUNT, BOUND },
	{ "too_high", TAIL_AT(flags), FIELD_FLAG, BBR_T_TOO_HIGH, .text = " too_high",
	  .order = TEXT_REST + 5, .page = "too_high", .page_order = PAGE_RECOVERY + 4 },
	{ "loss_in_round", TAIL_AT(flags), FIELD_FLAG, BBR_T_LOSS_IN_ROUND, .text = " loss",
	  .order = TEXT_REST + 6, .page = "loss_in_round", .page_order = PAGE_RECOVERY + 5 },
	{ "ecn_in_round", TAIL_AT(flags), FIELD_FLAG, BBR_T_ECN_IN_ROUND, .text = " ecn",
	  .order = TEXT_REST + 7, .page = "ecn_in_round", .page_order = PAGE_RECOVERY + 6 },
	{ "ecn_eligible", TAIL_AT(flags), FIELD_FLAG, BBR_T_ECN },
	{ "ecn_alpha", TAIL_AT(ecn_alpha), FIELD_GAIN, .page = "ecn_alpha %",
	  .page_order = PAGE_RECOVERY + 7 },
	{ "second_part", TAIL_AT(flags), FIELD_FLAG, BBR_T_SECOND_PART },
	{ "idle_restart", FIELD_AT(flags), FIELD_FLAG, BBR_F_IDLE_RESTART, .text = " idle_restart",
	  .order = TEXT_REST + 8, .page = "idle_restart", .page_order = PAGE_APP_LIMITED + 1 },
	{ "behind", TAIL_AT(behind), FIELD_NAME, NAMES(behind_of), .text = " behind:%",
	  .order = TEXT_REST + 9, .text_if = { "behind", 1 }, .page = "behind %",
	  .page_order = PAGE_RECOVERY + 8, .finding = &short_of_cpu },
};

const struct algorithm algorithm_bbr3 = {
	.name = "bbr3",
	.instance = "bpf_bbr3",
	.kernel_member = "full_bw_now",
	.title = "BBR version 3, as Google has it",
	.params = params,
	.n_params = sizeof(params) / sizeof(params[0]),
	.defaults = (const __u32 *)&defaults,
	.params_size = sizeof(defaults),
	.modes = modes,
	.n_modes = BBR_MODES,
	.reasons = reasons,
	.steps = steps,
	.n_reasons = BBR_REASONS,
	.fields = fields,
	.n_fields = sizeof(fields) / sizeof(fields[0]),
	.tail_size = sizeof(struct bbr_tail),
};
