// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "filter.h"
#include "request.h"

static bool addr_matches(const __u32 addr[4], const __u32 want[4], const __u32 mask[4])
{
	for (int i = 0; i < 4; i++)
		if ((addr[i] & mask[i]) != want[i])
			return false;
	return true;
}

bool is_event_wanted(const struct monitor_config *config, const struct origin *origin,
		     const struct bbr_event *e)
{
	return !config->filter || filter_matches(config->filter, origin, e, NULL);
}

bool is_conn_wanted(const struct monitor_config *config, const struct origin *origin,
		    const struct bbr_event *e)
{
	const struct bbr_filter *f = &config->request.filter;
	const struct value_list *names = &config->names;
	bool is_named = !names->n;

	for (int i = 0; i < names->n; i++)
		is_named |= !strcmp(names->arg[i], origin->name);
	return is_named && addr_matches(e->laddr, f->laddr, f->lmask) &&
	       addr_matches(e->raddr, f->raddr, f->rmask) && (!f->lport || f->lport == e->lport) &&
	       (!f->rport || f->rport == e->rport) && is_event_wanted(config, origin, e);
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
