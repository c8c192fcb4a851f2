// SPDX-License-Identifier: GPL-2.0-only
/* Describes BBR version 1 to the tools (lib/descriptor.h). */
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

static const char *const phases[] = { "0", "1", "2", "3", "4", "5", "6", "7" };

static const struct algorithm_mode modes[BBR_MODES] = {
	[BBR_STARTUP] = { .name = "STARTUP", .rarity = 1 },
	[BBR_DRAIN] = { .name = "DRAIN", .rarity = 2 },
	[BBR_PROBE_BW] = { "PROBE_BW", phases, sizeof(phases) / sizeof(phases[0]), .mark = 'B' },
	[BBR_PROBE_RTT] = { .name = "PROBE_RTT", .mark = 'R', .rarity = 3 },
};

static const char *const mode_names[BBR_MODES] = { "STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT" };

static const char *const reasons[BBR_REASONS] = {
	[BBR_R_LT_BW_EXPIRED] = "lt_bw_expired",
	[BBR_R_FULL_BW] = "full_bw",
	[BBR_R_DRAINED] = "drained",
	[BBR_R_MIN_RTT_EXPIRED] = "min_rtt_expired",
	[BBR_R_PROBE_RTT_DONE] = "probe_rtt_done",
};

static const char *const policers[BBR_POLICERS] = {
	[BBR_POLICER_OFF] = "off",
	[BBR_POLICER_SAMPLING] = "sampling",
	[BBR_POLICER_DETECTED] = "detected",
};

static const struct field_finding policer = {
	.state = "detected",
	.reason = "lt_bw_expired",
	.key = "policers",
	.metric = "bbr_policer_detections",
	.help = "Times that a connection found a policer on its path and took over its rate.",
};

static const char *const behind_of[] = { "no", "cpu" };

static const struct field_finding short_of_cpu = {
	.state = "cpu",
	.key = "cpu_shortages",
	.metric = "bbr_cpu_shortages",
	.help = "Times that a connection was seen short of CPU (only with cpu_gain).",
};

static const char *const policer_cells[BBR_POLICERS] = {
	[BBR_POLICER_OFF] = "-",
	[BBR_POLICER_SAMPLING] = "?",
	[BBR_POLICER_DETECTED] = "yes",
};

static const struct field_column policer_column = { "POL", "policer found (yes) or looked for (?)",
						    policer_cells };

static const struct field fields[] = {
	{ "mode", FIELD_AT(mode), FIELD_NAME, NAMES(mode_names) },
	{ "cycle_idx", FIELD_AT(phase), FIELD_COUNT },
	{ "bw_bps", FIELD_AT(bw), FIELD_BW, .page = "bw %", .page_order = PAGE_RATE + 1,
	  .lane = LANE_RATE, .curve = "bw" },
	{ "max_bw_bps", TAIL_AT(max_bw), FIELD_BW, .page = "max_bw %",
	  .page_order = PAGE_RATE + 2 },
	{ "full_bw_bps", TAIL_AT(full_bw), FIELD_BW, .text = " full_bw:%", .order = TEXT_MODEL + 1,
	  .page = "full_bw %", .page_order = PAGE_PACING + 3 },
	{ "lt_bw_bps", TAIL_AT(lt_bw), FIELD_BW, .text = " lt_bw:%", .order = TEXT_REST + 3,
	  .text_if = { "policer", BBR_POLICER_DETECTED }, .page = "lt_bw %",
	  .page_order = PAGE_RECOVERY + 3 },
	{ "min_rtt_us", FIELD_AT(min_rtt_us), FIELD_US, .has_unknown = true,
	  .unknown = BBR_RTT_NONE, .page = "min_rtt %", .page_order = PAGE_RTT + 1,
	  .lane = LANE_RTT, .curve = "min_rtt" },
	{ "pacing_gain", FIELD_AT(pacing_gain), FIELD_GAIN, .page = "pacing_gain %",
	  .page_order = PAGE_PACING + 1 },
	{ "cwnd_gain", FIELD_AT(cwnd_gain), FIELD_GAIN, .page = "cwnd_gain %",
	  .page_order = PAGE_PACING + 2 },
	{ "rounds", FIELD_AT(rounds), FIELD_COUNT, .text = " round:%", .order = TEXT_MODEL,
	  .page = "rounds %", .page_order = PAGE_SSTHRESH + 2 },
	{ "round_start", FIELD_AT(flags), FIELD_FLAG, BBR_F_ROUND_START },
	{ "full_bw_reached", FIELD_AT(flags), FIELD_FLAG, BBR_F_FULL_BW, .text = " full",
	  .order = TEXT_MODEL + 3, .page = " (full)", .page_order = PAGE_PACING + 5 },
	{ "full_bw_cnt", TAIL_AT(full_bw_cnt), FIELD_COUNT, .text = "/%", .order = TEXT_MODEL + 2,
	  .page = "full_bw_cnt %", .page_order = PAGE_PACING + 4 },
	{ "policer", TAIL_AT(policer), FIELD_NAME, NAMES(policers), .text = " policer:%",
	  .order = TEXT_REST + 2, .page = "policer %", .page_order = PAGE_RECOVERY + 2,
	  .column = &policer_column, .lane = LANE_STATE, .curve = "policer", .finding = &policer },
	{ "lt_rtt_cnt", TAIL_AT(lt_rtt_cnt), FIELD_COUNT },
	{ "extra_acked", TAIL_AT(extra_acked), FIELD_COUNT, .text = " extra_acked:%",
	  .order = TEXT_REST + 4, .page = "extra_acked %", .page_order = PAGE_SSTHRESH + 1 },
	{ "conservation", FIELD_AT(flags), FIELD_FLAG, BBR_F_CONSERVATION, .text = " conservation",
	  .order = TEXT_REST, .page = " (conservation)", .page_order = PAGE_RECOVERY + 1 },
	{ "idle_restart", FIELD_AT(flags), FIELD_FLAG, BBR_F_IDLE_RESTART, .text = " idle_restart",
	  .order = TEXT_REST + 1, .page = "idle_restart", .page_order = PAGE_APP_LIMITED + 1 },
	{ "prior_cwnd", TAIL_AT(prior_cwnd), FIELD_COUNT, .page = "prior_cwnd %",
	  .page_order = PAGE_WINDOW + 1 },
	{ "behind", TAIL_AT(behind), FIELD_NAME, NAMES(behind_of), .text = " behind:%",
	  .order = TEXT_REST + 5, .text_if = { "behind", 1 }, .page = "behind %",
	  .page_order = PAGE_RECOVERY + 4, .finding = &short_of_cpu },
};

const struct algorithm algorithm_bbr = {
	.name = "bbr",
	.instance = "bpf_bbr",
	.kernel_member = "lt_bw",
	.title = "BBR version 1, as in mainline Linux",
	.params = params,
	.n_params = sizeof(params) / sizeof(params[0]),
	.defaults = (const __u32 *)&defaults,
	.params_size = sizeof(defaults),
	.modes = modes,
	.n_modes = BBR_MODES,
	.reasons = reasons,
	.n_reasons = BBR_REASONS,
	.fields = fields,
	.n_fields = sizeof(fields) / sizeof(fields[0]),
	.tail_size = sizeof(struct bbr_tail),
};
