// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records the callbacks of the kernel's own BBR: fentry sees what a callback can read, fexit what it
 * changed. What is read, and how, are the inputs of bpf/kernel.bpf.h: those of the BPF program.
 *
 * The socket is locked all through a callback, so the first half can be kept by the socket's address.
 *
 * The kernel skips a tracing program that it would run within itself: in an interrupt, or on a kernel that
 * preempts, for another socket. So there are several copies of each program, and of those that run for
 * a half of a callback the first records it.
 */
#include "bbr/bbr.h"
#include "kernel.bpf.h"

#include "record.h"

/*
 * Callbacks that have begun, of one socket. bbr_main() itself calls bbr_min_tso_segs(): a recorded call like any
 * other, and the only one within another.
 */
struct pending {
	u32 depth;
	struct recorded rec[2];
};

static const struct pending nothing;

/*
 * By the socket's address. Not a socket storage: kernels crash when a program on a module's function asks
 * for that (6.12: bpf_sk_storage_tracing_allowed() looks for the function in vmlinux).
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct pending);
} pending SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} ring SEC(".maps");

struct counts counts SEC(".bss.counts");

static inline void drop(void)
{
	__sync_fetch_and_add(&counts.dropped, 1);
}

/* Came with 6.3, a release after bpf_rdonly_cast(). */
struct bpf_rb_root {
	u64 root;
} __attribute__((preserve_access_index));

extern void *bpf_rdonly_cast(const void *obj, u32 btf_id) __ksym __weak;

/*
 * sk as a tcp_sock: only so does the verifier let a tracing program read beyond struct sock. Some kernels' modules
 * have a struct sock of their own in their BTF, which bpf_skc_to_tcp_sock() does not take for one.
 */
static inline struct bbr_sock sock_to_read(struct sock *sk)
{
	void *tp;

	if (bpf_core_type_exists(struct bpf_rb_root))
		tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	else
		tp = bpf_skc_to_tcp_sock(sk);
	return (struct bbr_sock){ .sk = tp };
}

static inline void read_outputs(struct outputs *out, const struct bbr_sock *s)
{
	out->pacing_rate = IN(s, pacing_rate);
	out->cwnd = IN(s, cwnd);
	out->ssthresh = IN(s, ssthresh);
	out->app_limited = tcp_sk(s->sk)->app_limited; /* IN() may answer from bpf_bbr's state */
	out->returned = 0;
	for (int i = 0; i < CA_PRIV_SIZE / 8; i++)
		((u64 *)out->ca_priv)[i] = ((struct inet_connection_sock *)s->sk)->icsk_ca_priv[i];
}

static inline void read_inputs(struct callback *cb, const struct bbr_sock *s)
{
	cb->ca_state = IN(s, ca_state);
	cb->pacing_shift = IN(s, pacing_shift);
	cb->delivered = IN(s, delivered);
	cb->lost = IN(s, lost);
	cb->inflight = IN(s, inflight);
	cb->mss = IN(s, mss);
	cb->srtt_us = IN(s, srtt_us);
	cb->min_rtt_us = IN(s, min_rtt_us);
	cb->snd_cwnd_clamp = IN(s, snd_cwnd_clamp);
	cb->tcp_mstamp = IN(s, tcp_mstamp);
	cb->delivered_mstamp = IN(s, delivered_mstamp);
	cb->tcp_clock_cache = IN(s, tcp_clock_cache);
	cb->tcp_wstamp_ns = IN(s, tcp_wstamp_ns);
	cb->max_pacing_rate = IN(s, max_pacing_rate);
}

static inline void read_rate_sample(struct callback *cb, const struct rate_sample *rs)
{
	cb->rs_interval_us = rs->interval_us;
	cb->rs_rtt_us = rs->rtt_us;
	cb->rs_delivered = rs->delivered;
	cb->rs_losses = rs->losses;
	cb->rs_prior_delivered = rs->prior_delivered;
	cb->rs_prior_in_flight = rs->prior_in_flight;
	cb->rs_acked_sacked = rs->acked_sacked;
	cb->rs_is_app_limited = rs->is_app_limited;
	cb->rs_is_ack_delayed = rs->is_ack_delayed;
}

static inline struct pending *pending_of(struct sock *sk)
{
	u64 key = (u64)sk;
	struct pending *p = bpf_map_lookup_elem(&pending, &key);

	if (p)
		return p;
	bpf_map_update_elem(&pending, &key, &nothing, BPF_NOEXIST);
	return bpf_map_lookup_elem(&pending, &key);
}

/* The innermost callback that has begun; NULL: there is none. */
static inline struct recorded *innermost(struct pending *p)
{
	if (!p->depth)
		return NULL;
	return p->depth > 1 ? &p->rec[1] : &p->rec[0];
}

/* The first half of a callback; rs: the rate sample, if it has one. */
static inline void begin(struct sock *sk, u8 kind, u8 arg, const struct rate_sample *rs)
{
	struct pending *p = pending_of(sk);
	struct bbr_sock s;
	struct recorded *rec;
	struct callback *cb;

	if (!p)
		return; /* it will be missing */
	rec = innermost(p);
	if (rec && rec->cb.kind == kind)
		return; /* another copy was here */
	s = sock_to_read(sk);
	if (!s.sk)
		return;
	if (rec && (p->depth > 1 || kind != CB_MIN_TSO_SEGS))
		p->depth = 0; /* no copy saw the second half of the last one: that is missing */
	rec = p->depth++ ? &p->rec[1] : &p->rec[0];
	cb = &rec->cb;
	__builtin_memset(cb, 0, sizeof(*cb));
	rec->socket = (u64)sk;
	cb->kind = kind;
	cb->arg = arg;
	read_inputs(cb, &s);
	if (rs)
		read_rate_sample(cb, rs);
	read_outputs(&cb->before, &s);
	cb->jiffies[0] = bpf_jiffies64(); /* last: as near to the callback as can be */
}

static inline void end(struct sock *sk, u8 kind, u32 returned)
{
	u32 jiffies = bpf_jiffies64(); /* first, for the same reason */
	struct pending *p = pending_of(sk);
	struct recorded *rec;
	struct bbr_sock s;

	rec = p ? innermost(p) : NULL;
	if (!rec || rec->cb.kind != kind)
		return; /* another copy was here, or none saw the first half */
	s = sock_to_read(sk);
	if (!s.sk)
		return;
	p->depth--;
	rec->cb.jiffies[1] = jiffies;
	read_outputs(&rec->cb.after, &s);
	rec->cb.after.returned = returned;
	if (bpf_ringbuf_output(&ring, rec, sizeof(*rec), BPF_RB_NO_WAKEUP))
		drop();
	else
		__sync_fetch_and_add(&counts.recorded[kind], 1);
}

/* Both halves of a function of tcp_bbr.c: what it is given, and what it returns. */
#define COPY(n, function, kind, arg, rs, returned)           \
	SEC("fentry/" #function)                             \
	int function##_begin##n(unsigned long long *ctx)     \
	{                                                    \
		begin((struct sock *)ctx[0], kind, arg, rs); \
		return 0;                                    \
	}                                                    \
	SEC("fexit/" #function)                              \
	int function##_end##n(unsigned long long *ctx)       \
	{                                                    \
		end((struct sock *)ctx[0], kind, returned);  \
		return 0;                                    \
	}
#define CALLBACK(...)        \
	COPY(0, __VA_ARGS__) \
	COPY(1, __VA_ARGS__) \
	COPY(2, __VA_ARGS__)
_Static_assert(COPIES == 3, "of each program");

CALLBACK(bbr_init, CB_INIT, 0, NULL, 0)
CALLBACK(bbr_main, CB_CONG_CONTROL, 0, ctx_rate_sample(ctx), 0)
CALLBACK(bbr_cwnd_event, CB_CWND_EVENT, ctx[1], NULL, 0)
CALLBACK(bbr_cwnd_event_tx_start, CB_CWND_EVENT, EVENT_TX_START, NULL, 0) /* from 7.1 on */
CALLBACK(bbr_set_state, CB_SET_STATE, ctx[1], NULL, 0)
CALLBACK(bbr_ssthresh, CB_SSTHRESH, 0, NULL, ctx[1])
CALLBACK(bbr_undo_cwnd, CB_UNDO_CWND, 0, NULL, ctx[1])
CALLBACK(bbr_min_tso_segs, CB_MIN_TSO_SEGS, 0, NULL, ctx[1])
CALLBACK(bbr_sndbuf_expand, CB_SNDBUF_EXPAND, 0, NULL, ctx[1])

/* Asks both clocks at once. */
SEC("syscall")
int read_clocks(struct clocks *clocks)
{
	clocks->jiffies = bpf_jiffies64();
	clocks->ns = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
