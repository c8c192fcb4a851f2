/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the numbers of a connection over a window to verdicts: a share of the time, a sentence, the
 * numbers, and what to do. A pure function: it knows no kernel.
 */
#ifndef TOOLS_WHY_JUDGE_H
#define TOOLS_WHY_JUDGE_H

#include <stdbool.h>

#include <linux/types.h>

enum why_cause {
	WHY_APPLICATION, /* nothing to send */
	WHY_RECEIVER, /* its window is full */
	WHY_SEND_BUFFER, /* all of it is in flight */
	WHY_CWND, /* the window is, and there is no queue */
	WHY_PACING, /* a bound that somebody set */
	WHY_POLICER,
	WHY_LOSSES,
	WHY_PROBE_RTT,
	WHY_STARTUP, /* the rate still grows */
	WHY_CPU, /* of this machine */
	WHY_QUEUE, /* the path, and the RTT is far above its minimum */
	WHY_PATH, /* the path, without a queue */
	WHY_UNKNOWN, /* several of these are possible */
	WHY_CAUSES,
};

enum why_mode {
	WHY_MODE_NONE, /* not a BBR */
	WHY_MODE_OTHER,
	WHY_MODE_STARTUP,
	WHY_MODE_PROBE_RTT,
};

#define WHY_NO_RATE (~0ull) /* of a pacing rate or a bound: there is none */

/* A connection at one moment. Rates are bytes per second. */
struct why_reading {
	__u64 time_ns;
	__u64 bytes_acked, bytes_sent, bytes_retrans;
	__u32 delivered, lost; /* packets since the start, as those below */
	__u32 cwnd, inflight;
	__u32 ssthresh;
	__u32 mss; /* bytes */
	__u32 srtt_us, min_rtt_us; /* 0: not known */
	__u64 pacing_rate;
	__u8 ca_state; /* enum tcp_ca_state */
	enum why_mode mode;
	bool reacts_to_losses; /* does the congestion control slow down because of any loss? */
	bool is_policed; /* BBR takes the path for one with a policer */
	__u64 policer_rate;
	__u64 bw; /* BBR's estimate; 0: it has none */
	__u32 cwnd_gain; /* 256 = 1.0; 0: it has none */

	/* Only a socket knows what follows. */
	bool has_socket;
	__u64 busy_us, rwnd_us, sndbuf_us; /* as TCP_INFO counts them: busy includes the others */
	__u32 snd_wnd; /* bytes, as the next two */
	__u32 unacked, unsent;
	__u32 sndbuf; /* sk_sndbuf */
	bool no_space; /* the application waits for space in the send buffer */
	bool is_cwnd_limited; /* as the stack last saw it */
	__u32 cwnd_clamp;
	__u64 socket_bound; /* SO_MAX_PACING_RATE */
	__u64 profile_bound; /* parameter of the profile */
	__u32 cpu; /* that processed its last packet */
	bool is_in_sockmap; /* data that a BPF program redirects does not go through TCP */

	/* Only an event of a recording has it. */
	bool is_app_limited;
};

struct why_window {
	unsigned int readings;
	struct why_reading first, last;
	double ns[WHY_CAUSES]; /* the sum is the window's time */
	double idle_ns; /* of WHY_APPLICATION: nothing was even in flight */
	double busy_ns, rwnd_ns, sndbuf_ns; /* as the kernel counts them */
	double rtt_sum; /* of srtt_us, over the readings that have it */
	unsigned int rtts;
	__u32 min_rtt_us; /* the lowest minimum; 0: not known */
	__u32 least_window, most_window; /* snd_wnd */
	__u64 bw, policer_rate; /* the last that were known; 0: none */
	__u64 policed_lost, policed_delivered; /* while it was policed */
};

void why_window_begin(struct why_window *w);
/* Readings come in the order of their time; one that is not later than the last is ignored. */
void why_window_add(struct why_window *w, const struct why_reading *r);

/* The lower of its two bounds on the pacing rate. */
__u64 why_bound(const struct why_reading *r);
/* What limits a connection at the moment of a reading, were it to send. */
enum why_cause why_cause_now(const struct why_reading *r);

double why_window_ns(const struct why_window *w);
/* Bytes per second that were ACKed; 0 without time. */
double why_window_rate(const struct why_window *w);
/* Lost packets among those lost or delivered. */
double why_window_loss(const struct why_window *w);
/* The mean smoothed RTT in microseconds; 0: not known. */
double why_window_rtt(const struct why_window *w);
/* True if it sent nothing, and had nothing to send. */
bool why_window_is_idle(const struct why_window *w);

/* ---- */

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
	double shares[WHY_CAUSES]; /* of the window's time */
	struct why_verdict verdicts[WHY_CAUSES]; /* the largest share first */
	unsigned int n; /* 0: too few readings */
};

/* The name of a cause in JSON and in text: "send_buffer". */
const char *why_cause_name(enum why_cause cause);

/* The shares of an answer alone. */
void why_shares(const struct why_window *w, const struct why_cpu *cpu, double shares[WHY_CAUSES]);

/* The shares, and the causes that have a twentieth of the time, and PROBE_RTT that has a hundredth. */
void why_judge(const struct why_window *w, const struct why_cpu *cpu,
	       const struct why_neighbours *others, struct why_answer *answer);

/*
 * What CUBIC (RFC 9438) would get, in bytes per second, if each packet were lost with this
 * probability and nothing else limited it; 0: not known.
 */
double why_cubic_rate(double loss, double rtt_us, double mss);

#endif
