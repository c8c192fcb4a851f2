// SPDX-License-Identifier: GPL-2.0-only
#include "address.h"
#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "tuning/socket_filter.h"

int socket_filter_parse(const struct socket_filter *filter, struct migrate_config *config)
{
	if ((filter->dst && !parse_prefix("--dst", filter->dst, config->raddr, config->rmask)) ||
	    (filter->dport && !parse_port("--dport", filter->dport, &config->rport)) ||
	    (filter->sport && !parse_port("--sport", filter->sport, &config->lport)) ||
	    (filter->mark && !parse_mark("--mark", filter->mark, &config->mark)))
		return EXIT_USAGE;
	config->has_mark = !!filter->mark;
	return filter->cgroup ? cgroup_id("--cgroup", filter->cgroup, &config->cgroup) : EXIT_DONE;
}
