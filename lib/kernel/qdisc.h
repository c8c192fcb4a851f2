/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIB_QDISC_H
#define LIB_QDISC_H

#include <linux/types.h>
#include <net/if.h>

/* What the fq of a device, or all of them below mq, have done since they were made. */
struct fq_counts {
	unsigned int n; /* of these qdiscs; 0: there is no fq */
	__u32 limit, flow_limit; /* packets that the last one holds in all and of one flow */
	__u64 packets; /* sent */
	__u64 drops; /* packets, those above flow_limit included */
	__u64 flow_drops; /* packets above flow_limit */
};

struct device_qdisc {
	char device[IF_NAMESIZE];
	unsigned int index; /* of the device */
	/* Of its queue; of several (below mq), the first that is not fq, if any is. */
	char kind[16];
	char multi[16]; /* "mq" or "mqprio": it has a queue for each of the device's; else "" */
	__u16 handle; /* of mq; 0: the kernel made it, and its queues cannot be named */
	char *queues; /* below mq: those that fq could replace, as tc(8) counts them: "1 2 a"; or NULL */
	struct fq_counts fq;
};

/* Lists this namespace's devices with a queue, for qdiscs_free(). Returns how many, or -errno. */
int qdiscs_list(struct device_qdisc **list);
void qdiscs_free(struct device_qdisc *list, int n);

/*
 * Commands for a shell that give the device fq and keep the rest of what it has; NULL if it has fq,
 * or something that somebody chose, as a shaper, and fq would take away. The caller frees it.
 */
char *qdisc_advice(const struct device_qdisc *q);

/* The same, to give its fq this flow_limit. NULL: it has none that can be named. */
char *qdisc_flow_limit_advice(const struct device_qdisc *q, __u32 flow_limit);

#endif
