/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIB_QDISC_H
#define LIB_QDISC_H

#include <net/if.h>

struct device_qdisc {
	char device[IF_NAMESIZE];
	/* Of its queue; of several (below mq), the first that is not fq, if any is. */
	char kind[16];
};

/*
 * Lists the devices of this network namespace that have a queue. Returns their number or -errno;
 * the caller frees *list.
 */
int qdiscs_list(struct device_qdisc **list);

#endif
