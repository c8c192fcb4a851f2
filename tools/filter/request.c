// SPDX-License-Identifier: GPL-2.0-only
#include "request.h"

bool is_wanted(const struct watch_config *config, const struct origin *origin,
	       const struct bbr_event *e)
{
	return !config->filter || filter_matches(config->filter, origin, e, NULL);
}

void counters_add(struct counters *sum, const struct counters *c)
{
	sum->seq += c->seq;
	sum->acks += c->acks;
	for (int i = 0; i < BBR_EV_MAX; i++) {
		sum->received[i] += c->received[i];
		sum->drops[i] += c->drops[i];
	}
	sum->drops_unknown += c->drops_unknown;
	sum->not_matched += c->not_matched;
}

__u64 counters_received(const struct counters *c)
{
	__u64 n = 0;

	for (int i = 0; i < BBR_EV_MAX; i++)
		n += c->received[i];
	return n;
}

__u64 counters_drops(const struct counters *c)
{
	__u64 n = c->drops_unknown;

	for (int i = 0; i < BBR_EV_MAX; i++)
		n += c->drops[i];
	return n;
}
