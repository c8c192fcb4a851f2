/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the numbers of a connection over a window to verdicts: a share of the time, a sentence, the
 * numbers, and what to do. A pure function: it knows no kernel.
 */
#ifndef TOOLS_WHY_JUDGE_H
#define TOOLS_WHY_JUDGE_H

#include "window.h"

/* What a CPU of this machine did over the window. */
struct why_cpu {
	bool is_known;
	__u32 number;
	double busy, softirq, stolen; /* shares of its time */
	__u64 squeezes; /* times that net_rx_action() ran out of budget or time */
	__u64 drops; /* packets that found its backlog full */
	double seconds;
};

/* The other connections of this machine that send to the same prefix. */
struct why_neighbours {
	unsigned int n; /* that sent something */
	double rate; /* bytes per second, all of them */
};

#define WHY_TEXT_LEN 320

struct why_verdict {
	enum why_cause cause;
	double share; /* of the window's time */
	char sentence[WHY_TEXT_LEN];
	char numbers[WHY_TEXT_LEN];
	const char *advice;
};

struct why_answer {
	struct why_verdict verdicts[WHY_CAUSES]; /* the largest share first */
	unsigned int n; /* 0: too few readings */
};

/* The name of a cause in JSON and in text: "send_buffer". */
const char *why_cause_name(enum why_cause cause);

/*
 * Corrects what single readings cannot know. It moves shares between causes: a policer whose losses
 * go on, a bound that is not reached, losses that do not matter, a CPU that has no time.
 */
void why_shares(const struct why_window *w, const struct why_cpu *cpu, double shares[WHY_CAUSES]);

/* The causes that have a twentieth of the time, and PROBE_RTT that has a hundredth. */
void why_judge(const struct why_window *w, const struct why_cpu *cpu,
	       const struct why_neighbours *others, struct why_answer *answer);

/*
 * What CUBIC (RFC 9438) would get, in bytes per second, if each packet were lost with this
 * probability and nothing else limited it; 0: not known.
 */
double why_cubic_rate(double loss, double rtt_us, double mss);

#endif
