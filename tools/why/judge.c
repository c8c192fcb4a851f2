// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "cli/units.h"
#include "judge.h"
#include "kernel/clock.h"

#define NS_PER_US 1000

/* enum tcp_ca_state of linux/tcp.h: Recovery and Loss. */
#define CA_RECOVERY 3

/* A queue: half of the minimum RTT, and more than a timer or a scheduler adds. */
#define QUEUE_RATIO 1.5
#define QUEUE_LEAST_US 2000

/*
 * The receiver's window is full from here on. BBR paces at the rate that the window gave it, and its
 * probes for more are what meets the window, so the data in flight stays a little below it.
 */
#define WINDOW_FULL 0.9

/*
 * A bound on pacing is reached from here on. BBR paces 1 % below its estimate, and fq(8) counts
 * headers of 66 bytes to a segment of 1448.
 */
#define BOUND_REACHED 0.94

/* True if an RTT is so far above the minimum that there is a queue on the path. */
static bool is_queue(double rtt_us, double min_rtt_us)
{
	return min_rtt_us > 0 && rtt_us >= QUEUE_RATIO * min_rtt_us &&
	       rtt_us >= min_rtt_us + QUEUE_LEAST_US;
}

void why_window_begin(struct why_window *w)
{
	memset(w, 0, sizeof(*w));
	w->least_window = ~0u;
}

static bool has_nothing_to_send(const struct why_reading *r)
{
	if (!r->has_socket)
		return r->is_app_limited || !r->inflight;
	/* As tcp_rate_check_app_limited() has it, which also lets less than a segment wait. */
	return r->unsent < r->mss && r->inflight < r->cwnd && !r->no_space;
}

/*
 * The buffer is locked, or cannot grow: nearly all that is in it is in flight. One that grows with
 * the window holds as much again that was not sent.
 */
static bool is_send_buffer_empty(const struct why_reading *r)
{
	return r->has_socket && r->no_space && r->inflight < r->cwnd && r->unsent <= r->unacked / 4;
}

static bool is_receiver_full(const struct why_reading *r)
{
	return r->has_socket && r->unsent &&
	       (r->unacked >= WINDOW_FULL * r->snd_wnd || r->snd_wnd - r->unacked < r->mss);
}

__u64 why_bound(const struct why_reading *r)
{
	return r->socket_bound < r->profile_bound ? r->socket_bound : r->profile_bound;
}

/*
 * A BBR that is bounded also measures the bound as its bandwidth, so this holds while it paces
 * below it, too, to drain what its probe queued.
 */
static bool is_bounded(const struct why_reading *r)
{
	__u64 bound = why_bound(r);

	if (!r->has_socket || bound == WHY_NO_RATE)
		return false;
	if (r->bw)
		return r->bw >= BOUND_REACHED * bound;
	return r->pacing_rate != WHY_NO_RATE && r->pacing_rate >= BOUND_REACHED * bound;
}

/* In slow start a window grows only while more than half of it is in flight (tcp_is_cwnd_limited()). */
static bool is_starting(const struct why_reading *r)
{
	if (r->mode != WHY_MODE_NONE)
		return r->mode == WHY_MODE_STARTUP;
	return r->cwnd < r->ssthresh && r->cwnd < r->cwnd_clamp && 2 * r->inflight >= r->cwnd &&
	       r->ca_state < CA_RECOVERY;
}

/*
 * A congestion control that goes by its window has it full. With TSO a little of it is free while
 * the stack waits until it is worth a burst; the stack says so. BBR version 1 goes by its pacing
 * rate, and is only now and then in that state.
 */
static bool is_window_full(const struct why_reading *r)
{
	return r->inflight >= r->cwnd || (r->reacts_to_losses && r->is_cwnd_limited);
}

enum why_cause why_cause_now(const struct why_reading *r)
{
	bool has_queue = is_queue(r->srtt_us, r->min_rtt_us);

	if (r->mode == WHY_MODE_PROBE_RTT && (!r->has_socket || r->unsent))
		return WHY_PROBE_RTT;
	if (has_nothing_to_send(r))
		return WHY_APPLICATION;
	if (is_send_buffer_empty(r))
		return WHY_SEND_BUFFER;
	if (is_receiver_full(r))
		return WHY_RECEIVER;
	if (r->is_policed)
		return WHY_POLICER;
	if (is_bounded(r))
		return WHY_PACING;
	if (is_starting(r))
		return WHY_STARTUP;
	if (r->ca_state >= CA_RECOVERY)
		return WHY_LOSSES;
	if (has_queue)
		return WHY_QUEUE;
	if (is_window_full(r))
		return WHY_CWND;
	return r->has_socket ? WHY_PATH : WHY_UNKNOWN;
}

/* Microseconds by which a count of the kernel grew, as nanoseconds within [0, most]. */
static double grown_ns(__u64 from, __u64 to, double most)
{
	double ns = to > from ? (double)(to - from) * NS_PER_US : 0;

	return ns < most ? ns : most;
}

/* Divides a stretch of time: what the kernel counted, and the rest by the states at both ends. */
static void add_time(struct why_window *w, const struct why_reading *from,
		     const struct why_reading *to)
{
	double time = to->time_ns - from->time_ns, busy = time, rwnd = 0, sndbuf = 0, rest;
	enum why_cause before = why_cause_now(from), after = why_cause_now(to);

	if (from->has_socket && to->has_socket) {
		busy = grown_ns(from->busy_us, to->busy_us, time);
		rwnd = grown_ns(from->rwnd_us, to->rwnd_us, busy);
		sndbuf = grown_ns(from->sndbuf_us, to->sndbuf_us, busy - rwnd);
		w->busy_ns += busy;
		w->rwnd_ns += rwnd;
		w->sndbuf_ns += sndbuf;
	} else if (!from->inflight) {
		busy = 0; /* nothing was sent until the next event */
	}
	rest = busy - rwnd - sndbuf;
	w->idle_ns += time - busy;
	w->ns[WHY_APPLICATION] += time - busy;
	w->ns[WHY_RECEIVER] += rwnd;
	w->ns[WHY_SEND_BUFFER] += sndbuf;
	w->ns[before] += rest / 2;
	w->ns[after] += rest / 2;
}

static void note_state(struct why_window *w, const struct why_reading *r)
{
	if (r->srtt_us) {
		w->rtt_sum += r->srtt_us;
		w->rtts++;
	}
	if (r->min_rtt_us && (!w->min_rtt_us || r->min_rtt_us < w->min_rtt_us))
		w->min_rtt_us = r->min_rtt_us;
	if (r->has_socket && r->snd_wnd < w->least_window)
		w->least_window = r->snd_wnd;
	if (r->has_socket && r->snd_wnd > w->most_window)
		w->most_window = r->snd_wnd;
	if (r->bw)
		w->bw = r->bw;
	if (r->is_policed)
		w->policer_rate = r->policer_rate;
}

void why_window_add(struct why_window *w, const struct why_reading *r)
{
	if (!w->readings) {
		w->first = *r;
	} else {
		if (r->time_ns <= w->last.time_ns)
			return;
		add_time(w, &w->last, r);
		if (w->last.is_policed && r->is_policed) {
			w->policed_lost += r->lost - w->last.lost;
			w->policed_delivered += r->delivered - w->last.delivered;
		}
	}
	note_state(w, r);
	w->last = *r;
	w->readings++;
}

double why_window_ns(const struct why_window *w)
{
	return w->last.time_ns - w->first.time_ns;
}

double why_window_rate(const struct why_window *w)
{
	double ns = why_window_ns(w);

	return ns > 0 ? (w->last.bytes_acked - w->first.bytes_acked) * (double)NS_PER_S / ns : 0;
}

double why_window_loss(const struct why_window *w)
{
	double lost = w->last.lost - w->first.lost;
	double delivered = w->last.delivered - w->first.delivered;

	return lost + delivered > 0 ? lost / (lost + delivered) : 0;
}

double why_window_rtt(const struct why_window *w)
{
	return w->rtts ? w->rtt_sum / w->rtts : 0;
}

bool why_window_is_idle(const struct why_window *w)
{
	return w->first.bytes_sent == w->last.bytes_sent && !w->last.unsent && !w->last.unacked &&
	       !w->last.inflight;
}

/* ---- what the readings of a window say together */

#define LEAST_SHARE 0.05
#define LEAST_PROBE_RTT 0.01 /* it takes a fiftieth of the time at most, unless tuned */

/* BBR version 1 ignores losses: below this share they cost it only their bandwidth. */
#define LOSS_FEW 0.005
/*
 * BBR assumes a policer if two intervals lost a fifth and agree on the rate. At a policer's rate
 * the losses end; with random losses, or in a queue that others fill, they do not.
 */
#define LOSS_POLICED 0.05
#define BBR3_LOSS 0.02 /* more than this in a round, and BBRv3 lowers its bound */

/* A congestion control without an estimate reaches its bound only if it delivers about that much. */
#define BOUND_DELIVERED 0.8

/*
 * A CPU is the limit only if it is full and softirqs use much of it. If BBR sends at the rate that
 * it measured, the path limits it all the same, unless the CPU deferred packets.
 */
#define CPU_FULL 0.97
#define CPU_SOFTIRQ 0.3
#define CPU_SQUEEZES 1 /* a second */
#define BW_USED 0.85

/* One BBR keeps at most cwnd_gain BDPs in flight, which is that many minimum RTTs. */
#define QUEUE_MARGIN 1.2

double why_cubic_rate(double loss, double rtt_us, double mss)
{
	double rtt = rtt_us / 1e6, reno, cubic;

	if (loss <= 0 || rtt <= 0)
		return 0;
	reno = sqrt(1.5 / loss);
	cubic = 1.054 * pow(rtt / loss, 0.75);
	return fmax(reno, cubic) * mss / rtt;
}

static void move(double shares[WHY_CAUSES], enum why_cause from, enum why_cause to)
{
	shares[to] += shares[from];
	shares[from] = 0;
}

static enum why_cause path_cause(const struct why_window *w)
{
	if (is_queue(why_window_rtt(w), w->min_rtt_us))
		return WHY_QUEUE;
	return w->last.has_socket ? WHY_PATH : WHY_UNKNOWN;
}

static bool reaches_bound(const struct why_window *w, double shares[WHY_CAUSES])
{
	__u64 bound = why_bound(&w->last);

	return w->bw ||
	       (bound != WHY_NO_RATE && shares[WHY_PACING] > 0 &&
		why_window_rate(w) >= BOUND_DELIVERED * bound * (1 - shares[WHY_APPLICATION]));
}

/* Moves to the CPU the time that only the path or a slow application would explain. */
static void blame_cpu(const struct why_window *w, const struct why_cpu *cpu,
		      double shares[WHY_CAUSES])
{
	double idle = w->idle_ns / why_window_ns(w), waited = shares[WHY_APPLICATION] - idle;
	bool is_late = cpu->squeezes + cpu->drops >= CPU_SQUEEZES * cpu->seconds;

	if (waited > 0) { /* there was data in flight: the application may have got no time */
		shares[WHY_APPLICATION] -= waited;
		shares[WHY_CPU] += waited;
	}
	if (!is_late && w->bw && why_window_rate(w) >= BW_USED * w->bw * (1 - idle))
		return;
	move(shares, WHY_PATH, WHY_CPU);
	move(shares, WHY_STARTUP, WHY_CPU);
	if (is_late || w->bw)
		move(shares, WHY_QUEUE, WHY_CPU);
}

/*
 * Corrects what single readings cannot know. It moves shares between causes: a policer whose losses
 * go on, a bound that is not reached, losses that do not matter, a CPU that has no time.
 */
void why_shares(const struct why_window *w, const struct why_cpu *cpu, double shares[WHY_CAUSES])
{
	double time = why_window_ns(w), loss = why_window_loss(w);
	double policed = w->policed_lost + w->policed_delivered;

	for (int i = 0; i < WHY_CAUSES; i++)
		shares[i] = time > 0 ? w->ns[i] / time : 0;
	if (w->policed_lost > LOSS_POLICED * policed)
		move(shares, WHY_POLICER, WHY_LOSSES);
	if (!reaches_bound(w, shares))
		move(shares, WHY_PACING, path_cause(w));
	if (w->last.reacts_to_losses && loss > 0)
		move(shares, WHY_CWND, WHY_LOSSES);
	else if (loss < LOSS_FEW)
		move(shares, WHY_LOSSES, path_cause(w));
	if (time > 0 && cpu && cpu->is_known && cpu->busy >= CPU_FULL &&
	    cpu->softirq >= CPU_SOFTIRQ)
		blame_cpu(w, cpu, shares);
}

/* ---- words */

static void add_rate(FILE *to, const char *before, double bytes_per_s)
{
	char rate[UNITS_LEN];

	format_rate_ss(rate, sizeof(rate), 8 * bytes_per_s);
	fprintf(to, "%s%s", before, rate);
}

static void add_rtt(FILE *to, const struct why_window *w)
{
	if (w->rtts && w->min_rtt_us)
		fprintf(to, "RTT %.3g ms, minimum %.3g ms", why_window_rtt(w) / 1000,
			w->min_rtt_us / 1000.0);
	else
		fputs("RTT not known", to);
}

static void add_loss(FILE *to, const struct why_window *w)
{
	fprintf(to, "%.2g %% of packets lost", 100 * why_window_loss(w));
}

/* ---- the causes: each function says the sentence and the numbers, and returns what to do */

struct saying {
	FILE *sentence, *numbers;
	const struct why_cpu *cpu;
	const struct why_neighbours *others;
};

static const char *say_application(const struct why_window *w, struct saying *s)
{
	bool is_idle = why_window_is_idle(w), is_redirected = is_idle && w->last.is_in_sockmap;

	if (is_redirected)
		fprintf(s->sentence,
			"TCP has nothing to send: the socket is in a sockmap, and what "
			"its BPF program redirects does not go through TCP, so there are "
			"no ACKs either.");
	else
		fprintf(s->sentence, is_idle ? "The application sends nothing." :
					       "The application has nothing to send.");
	if (w->last.has_socket)
		fprintf(s->numbers, "%.0f %% of the time all was ACKed; ",
			100 * w->idle_ns / why_window_ns(w));
	add_rate(s->numbers, "rate ", why_window_rate(w));
	if (is_redirected)
		return "Measure where the data goes. bpftool map show (sockmap, sockhash) and "
		       "bpftool prog show (sk_msg, sk_skb) list the programs that redirect it.";
	return "Look at the application: give it more data to send, or send it in larger pieces.";
}

static const char *say_receiver(const struct why_window *w, struct saying *s)
{
	fprintf(s->numbers,
		"window %u to %u bytes, %u in flight; the kernel counts %.0f %% rwnd_limited; ",
		w->least_window, w->most_window, w->last.unacked,
		100 * w->rwnd_ns / why_window_ns(w));
	add_rtt(s->numbers, w);
	if (w->least_window < w->last.mss) {
		fprintf(s->sentence,
			"The receiver's window closes: its application reads too slowly.");
		return "Let the receiving application read faster.";
	}
	fprintf(s->sentence, "The receiver's window is full: it allows no more data in flight.");
	return "On the receiver: raise net.ipv4.tcp_rmem, or remove SO_RCVBUF or TCP_WINDOW_CLAMP.";
}

static const char *say_send_buffer(const struct why_window *w, struct saying *s)
{
	fprintf(s->sentence, "The send buffer is too small: all that it holds is in flight.");
	fprintf(s->numbers,
		"buffer %u bytes, %u in flight; the kernel counts %.0f %% sndbuf_limited; ",
		w->last.sndbuf, w->last.unacked, 100 * w->sndbuf_ns / why_window_ns(w));
	add_rtt(s->numbers, w);
	return "Remove SO_SNDBUF from the application, or raise net.ipv4.tcp_wmem.";
}

static const char *say_cwnd(const struct why_window *w, struct saying *s)
{
	const struct why_reading *r = &w->last;

	fprintf(s->numbers, "cwnd %u, %u in flight; ", r->cwnd, r->inflight);
	add_rtt(s->numbers, w);
	if (r->has_socket && r->cwnd_clamp <= r->cwnd) {
		fprintf(s->sentence,
			"The route's bound on the congestion window (cwnd lock) limits it.");
		return "Remove `cwnd` from the route: ip route show.";
	}
	fprintf(s->sentence, "The congestion window is full, and the path has no queue.");
	return "With BBR: raise cwnd_gain or max_cwnd (bbrctl set). Otherwise: the window grows "
	       "with time.";
}

static const char *say_pacing(const struct why_window *w, struct saying *s)
{
	const struct why_reading *r = &w->last;

	add_rate(s->numbers, "bound ", why_bound(r));
	add_rate(s->numbers, ", rate ", why_window_rate(w));
	if (r->socket_bound <= r->profile_bound) {
		fprintf(s->sentence, "SO_MAX_PACING_RATE bounds its rate.");
		return "Raise SO_MAX_PACING_RATE in the application.";
	}
	fprintf(s->sentence, "Its profile's max_pacing_rate or pacing_rate bounds its rate.");
	return "Raise max_pacing_rate or pacing_rate of its profile (bbrctl set); 0bit turns it "
	       "off.";
}

static const char *say_policer(const struct why_window *w, struct saying *s)
{
	fprintf(s->sentence, "A policer on the path drops what is above its rate.");
	add_rate(s->numbers, "policer's rate ", w->policer_rate);
	add_rate(s->numbers, ", rate ", why_window_rate(w));
	fprintf(s->numbers, ", ");
	add_loss(s->numbers, w);
	return "Ask the provider for a higher rate, or for a shaper in place of the policer.";
}

static const char *say_losses(const struct why_window *w, struct saying *s)
{
	double loss = why_window_loss(w);
	double cubic = why_cubic_rate(loss, why_window_rtt(w), w->last.mss);

	fprintf(s->sentence, path_cause(w) == WHY_QUEUE ?
				     "A queue on the path overflows, and packets are lost." :
				     "Packets are lost without a queue on the path.");
	if (w->policed_lost)
		fprintf(s->sentence,
			" BBR took that for a policer, but losses continue at its rate.");
	else if (!w->last.reacts_to_losses)
		fprintf(s->sentence, " BBR version 1 does not slow down for losses.");
	add_loss(s->numbers, w);
	add_rate(s->numbers, ", rate ", why_window_rate(w));
	if (cubic > 0)
		add_rate(s->numbers, "; CUBIC would get at most ", cubic);
	if (w->last.mode != WHY_MODE_NONE && !w->last.reacts_to_losses)
		fprintf(s->numbers, "; BBR version 3 would %s",
			loss > BBR3_LOSS ? "slow down" : "not slow down");
	fprintf(s->numbers, "; ");
	add_rtt(s->numbers, w);
	if (w->last.reacts_to_losses)
		return "Look for a bad link. BBR version 1 does not slow down for losses: try it.";
	return "Look for a bad link or a small buffer on the path: each loss costs a "
	       "retransmission.";
}

static const char *say_probe_rtt(const struct why_window *w, struct saying *s)
{
	fprintf(s->sentence, "BBR keeps few packets in flight to measure the minimum RTT.");
	fprintf(s->numbers, "%.2g %% of the time; ", 100 * w->ns[WHY_PROBE_RTT] / why_window_ns(w));
	add_rtt(s->numbers, w);
	return "If it matters: probe less often (min_rtt_win or probe_rtt_win) or shorter.";
}

static const char *say_startup(const struct why_window *w, struct saying *s)
{
	fprintf(s->sentence, "The connection is still starting: its rate grows each round trip.");
	add_rate(s->numbers, "rate ", why_window_rate(w));
	fprintf(s->numbers, ", cwnd %u", w->last.cwnd);
	return "Nothing, if it is young. Keep connections open for several transfers.";
}

static const char *say_cpu(UNUSED const struct why_window *w, struct saying *s)
{
	const struct why_cpu *cpu = s->cpu;

	fprintf(s->sentence, "CPU %u of this machine, which processes its ACKs, is fully busy.",
		cpu->number);
	fprintf(s->numbers,
		"busy %.0f %%, softirq %.0f %%, stolen %.0f %%; packets were deferred %llu times "
		"(time_squeeze), %llu were dropped from the backlog",
		100 * cpu->busy, 100 * cpu->softirq, 100 * cpu->stolen,
		(unsigned long long)cpu->squeezes, (unsigned long long)cpu->drops);
	return "Spread packets over more CPUs (RSS, RPS), turn on GRO, or use fewer packets (TSO).";
}

static const char *say_queue(const struct why_window *w, struct saying *s)
{
	const struct why_neighbours *others = s->others;
	double own_rtt = QUEUE_MARGIN * w->last.cwnd_gain / 256.0 * w->min_rtt_us;

	fprintf(s->sentence, "The path has a queue: the RTT is %.2g times its minimum.",
		why_window_rtt(w) / w->min_rtt_us);
	if (w->bw && w->last.cwnd_gain && why_window_rtt(w) > own_rtt)
		fprintf(s->sentence,
			" Other connections fill it: BBR alone would keep it shorter.");
	else if (others->n)
		fprintf(s->sentence,
			" This connection fills it, or others do, such as %u of this machine.",
			others->n);
	else
		fprintf(s->sentence,
			" This connection fills it, or others do that this machine cannot see.");
	add_rtt(s->numbers, w);
	add_rate(s->numbers, "; rate ", why_window_rate(w));
	if (others->n)
		add_rate(s->numbers, "; the others of this machine to the same prefix ",
			 others->rate);
	return "A fair queue at the bottleneck (fq_codel, cake), or BBR for the connections that "
	       "fill it.";
}

static void add_rates(FILE *numbers, const struct why_window *w)
{
	add_rate(numbers, "rate ", why_window_rate(w));
	if (w->bw)
		add_rate(numbers, ", bandwidth ", w->bw);
	fputs("; ", numbers);
	add_rtt(numbers, w);
}

static const char *say_path(const struct why_window *w, struct saying *s)
{
	fprintf(s->sentence,
		w->bw ? "The path's bottleneck limits it: BBR sends at the rate that it measures." :
			"Only the rate of the path limits it, nothing on this machine.");
	add_rates(s->numbers, w);
	return "Nothing on this machine: only a faster path helps.";
}

static const char *say_unknown(const struct why_window *w, struct saying *s)
{
	fprintf(s->sentence, "The path's bottleneck, the receiver's window, the send buffer or a "
			     "bound on its pacing rate: a recording does not tell which.");
	add_rates(s->numbers, w);
	return "Run bbrmon why without --read, while the connection is open.";
}

static const struct {
	const char *name;
	const char *(*say)(const struct why_window *w, struct saying *s);
} causes[WHY_CAUSES] = {
	[WHY_APPLICATION] = { "application", say_application },
	[WHY_RECEIVER] = { "receiver", say_receiver },
	[WHY_SEND_BUFFER] = { "send_buffer", say_send_buffer },
	[WHY_CWND] = { "cwnd", say_cwnd },
	[WHY_PACING] = { "pacing", say_pacing },
	[WHY_POLICER] = { "policer", say_policer },
	[WHY_LOSSES] = { "losses", say_losses },
	[WHY_PROBE_RTT] = { "probe_rtt", say_probe_rtt },
	[WHY_STARTUP] = { "startup", say_startup },
	[WHY_CPU] = { "cpu", say_cpu },
	[WHY_QUEUE] = { "queue", say_queue },
	[WHY_PATH] = { "path", say_path },
	[WHY_UNKNOWN] = { "unknown", say_unknown },
};

const char *why_cause_name(enum why_cause cause)
{
	return causes[cause].name;
}

static int by_share(const void *a, const void *b)
{
	const struct why_verdict *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (int)x->cause - (int)y->cause;
}

void why_judge(const struct why_window *w, const struct why_cpu *cpu,
	       const struct why_neighbours *others, struct why_answer *answer)
{
	double *shares = answer->shares;

	memset(answer, 0, sizeof(*answer));
	why_shares(w, cpu, shares);
	for (int i = 0; i < WHY_CAUSES; i++) {
		struct why_verdict *v = &answer->verdicts[answer->n];
		struct saying s = { .cpu = cpu, .others = others };

		if (shares[i] < (i == WHY_PROBE_RTT ? LEAST_PROBE_RTT : LEAST_SHARE))
			continue;
		v->cause = i;
		v->share = shares[i];
		/* A last byte stays 0, whatever is cut off. */
		s.sentence = mem_need(fmemopen(v->sentence, sizeof(v->sentence) - 1, "w"));
		s.numbers = mem_need(fmemopen(v->numbers, sizeof(v->numbers) - 1, "w"));
		v->advice = causes[i].say(w, &s);
		fclose(s.sentence);
		fclose(s.numbers);
		answer->n++;
	}
	qsort(answer->verdicts, answer->n, sizeof(*answer->verdicts), by_share);
}
