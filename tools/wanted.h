/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which connections were asked for: what the BPF program does for live events, for those that come from
 * elsewhere.
 */
#ifndef TOOLS_WANTED_H
#define TOOLS_WANTED_H

#include "monitor.h"

bool is_conn_wanted(const struct monitor_config *config, const struct origin *origin,
		    const struct bbr_event *e);

#endif
