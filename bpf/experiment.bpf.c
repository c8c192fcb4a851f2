// SPDX-License-Identifier: GPL-2.0-only
/*
 * An experiment (bpf_bbr/experiment.h), for a cgroup: gives each new connection of its scope an arm, and writes down
 * what becomes of it. After the handshake it looks at a connection once a round trip, at timeouts, and at its end; an ACK
 * costs nothing more.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "address.bpf.h"
#include "bpf_bbr/experiment.h"

#define IPPROTO_TCP 6
#define NSEC_PER_SEC 1000000000ull
#define ECONNABORTED 103
#define ECONNRESET 104
#define EBUSY 16
#define EINVAL 22
#define EPIPE 32
#define PLACE_TRIES 256 /* another CPU leaves a place after some microseconds */
#define CALLBACKS (BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG)

char LICENSE[] SEC("license") = "GPL";

const volatile struct experiment experiment SEC(EXPERIMENT_MAP_CONFIG) = {};
struct experiment_control control SEC(EXPERIMENT_MAP_CONTROL) = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EXPERIMENT_RING); /* bbrctl sets experiment.outcomes */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct experiment_outcome);
} bbr_outcomes SEC(".maps"); /* EXPERIMENT_MAP_OUTCOMES */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EXPERIMENT_LOG);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct experiment_decision);
} bbr_exp_log SEC(".maps"); /* EXPERIMENT_MAP_LOG */

struct assigned_of_instance {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE); /* as libbpf makes global data */
	__type(key, u32);
	__type(value, struct assigned_places);
} bbr_no_arm SEC(
	".maps"); /* a map of its own, for clang describes the value only then; Linux 6.1 compares that */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EXPERIMENT_ARMS);
	__type(key, u32);
	__array(values, struct assigned_of_instance);
} bbr_arms SEC(".maps"); /* EXPERIMENT_MAP_ASSIGNED */

/* What a socket has counted since it was made. */
struct counts {
	u64 acked, sent, retransmitted; /* bytes */
	u32 busy, rwnd, sndbuf; /* ticks */
};

struct subject {
	struct experiment_outcome
		outcome; /* as it would be now; the ring has it as it was a second ago */
	struct counts before; /* at its beginning */
	u32 block; /* that it has the arm of */
	u8 arm;
	bool counts; /* false: the washout is not over, and there is no outcome */
};

_Static_assert(!(EXPERIMENT_ARMS & (EXPERIMENT_ARMS - 1)), "a mask");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct subject);
} bbr_exp_conns SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock___experiment {
	int sk_err;
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock___experiment {
	u32 chrono_start;
	u32 chrono_stat[3];
	u8 chrono_type : 2;
	struct tcp_rack rack;
};

#pragma clang attribute pop

enum {
	CHRONO_BUSY = 1,
	CHRONO_RWND,
	CHRONO_SNDBUF
};

/* ---- what a connection has done */

/* As TCP_INFO has it: the ticks of a state, and those of the present one so far. */
static inline u32 ticks_in(struct tcp_sock *tp, u32 state)
{
	struct tcp_sock___experiment *e = (struct tcp_sock___experiment *)tp;
	u32 ticks = e->chrono_stat[state - 1];

	if (BPF_CORE_READ_BITFIELD(e, chrono_type) == state)
		ticks += (u32)bpf_jiffies64() - e->chrono_start;
	return ticks;
}

static inline struct counts counts_of(struct tcp_sock *tp)
{
	struct counts now = {
		.acked = tp->bytes_acked,
		.sent = tp->bytes_sent,
		.retransmitted = tp->bytes_retrans,
		.rwnd = ticks_in(tp, CHRONO_RWND),
		.sndbuf = ticks_in(tp, CHRONO_SNDBUF),
	};

	now.busy = ticks_in(tp, CHRONO_BUSY) + now.rwnd + now.sndbuf;
	return now;
}

static inline void count(struct subject *s, struct tcp_sock *tp, u64 now)
{
	struct experiment_outcome *o = &s->outcome;
	struct counts is = counts_of(tp);

	o->acked = is.acked - s->before.acked;
	o->sent = is.sent - s->before.sent;
	o->retransmitted = is.retransmitted - s->before.retransmitted;
	o->busy_ticks = is.busy - s->before.busy;
	o->rwnd_ticks = is.rwnd - s->before.rwnd;
	o->sndbuf_ticks = is.sndbuf - s->before.sndbuf;
	o->last = now;
}

static inline struct experiment_outcome *place_of(u64 number)
{
	return bpf_map_lookup_elem(&bbr_outcomes,
				   &(u32){ (number - 1) & (experiment.outcomes - 1) });
}

/*
 * Into the ring. Two connections have one place at once only if the ring went round while one of them was between these
 * lines; bbrctl makes none smaller than 1024.
 */
static inline void write_outcome(struct subject *s)
{
	struct experiment_outcome *place = place_of(s->outcome.number);

	if (!place)
		return;
	if (place->number > s->outcome.number) {
		__sync_fetch_and_add(&control.lost, 1);
		return;
	}
	s->outcome.version = __sync_fetch_and_add(&place->version, 1) + 1; /* odd */
	*place = s->outcome;
	__sync_fetch_and_add(&place->version, 1);
}

static inline void begin_outcome(struct subject *s, struct sock *sk, u64 connection, u64 now)
{
	struct sock_common *skc = &sk->__sk_common;
	struct experiment_outcome *o = &s->outcome;

	__builtin_memset(o, 0, sizeof(*o));
	o->number = __sync_fetch_and_add(&control.outcomes, 1) + 1;
	o->arm = s->arm;
	o->block = s->block;
	o->connection = connection;
	o->begin = o->last = now;
	o->netns = skc->skc_net.net->ns.inum;
	o->family = skc->skc_family;
	o->lport = ((struct inet_sock *)sk)->inet_sport;
	o->rport = skc->skc_dport;
	local_address(o->laddr, sk);
	remote_address(o->raddr, sk);
	s->before = counts_of((struct tcp_sock *)sk);
	s->counts = true;
	write_outcome(s);
}

static inline void end_outcome(struct subject *s, struct tcp_sock *tp, u64 now, u8 end)
{
	if (!s->counts)
		return;
	count(s, tp, now);
	s->outcome.end = end;
	write_outcome(s);
	s->counts = false;
}

/* ---- which arm */

static inline u32 block_at(u64 now)
{
	return experiment.block ? (now - experiment.started) / experiment.block : 0;
}

static inline bool is_washout(u64 now)
{
	return experiment.block &&
	       (now - experiment.started) % experiment.block < experiment.washout;
}

/* Of the bits of a prefix those in word i of an address, network byte order. */
static inline u32 mask_of(u32 bits, u32 i)
{
	s32 here = (s32)bits - 32 * (s32)i;

	if (here <= 0)
		return 0;
	return here >= 32 ? ~0u : bpf_htonl(~0u << (32 - here));
}

/* Where a connection stands among all, from 0 to EXPERIMENT_SHARES - 1. */
static inline u32 draw(struct sock *sk)
{
	u32 addr[4], drawn = experiment.seed, bits;

	if (experiment.unit != EXPERIMENT_BY_PREFIX) {
		drawn = bpf_get_prandom_u32();
	} else {
		remote_address(addr, sk);
		bits = !addr[0] && !addr[1] && addr[2] == bpf_htonl(0xffff) ? experiment.prefix4 :
									      experiment.prefix6;
		for (int i = 0; i < 4; i++)
			drawn = experiment_mix(drawn ^ (addr[i] & mask_of(bits, i)));
	}
	return (u64)drawn * EXPERIMENT_SHARES >> 32;
}

/*
 * From the top downwards, the last arm first: if its share grows, it keeps the prefixes that it has. What no share
 * covers is arm 0's.
 */
static inline u32 arm_of_share(u32 drawn)
{
	u32 from = EXPERIMENT_SHARES;

	for (u32 i = EXPERIMENT_ARMS - 1; i; i--) {
		if (i >= experiment.arms)
			continue;
		from -= control.share[i] < from ? control.share[i] : from;
		if (drawn >= from)
			return i;
	}
	return 0;
}

static inline u32 choose_arm(struct sock *sk, u64 now)
{
	u64 lease = *(volatile u64 *)&control.lease;
	u32 arm;

	if (experiment.design == EXPERIMENT_SWITCHBACK) {
		arm = experiment_block_arm(experiment.seed, experiment.arms, block_at(now));
		/* The verifier does not know how small a remainder is. The compiler does, and would drop the mask. */
		barrier_var(arm);
		return arm & (EXPERIMENT_ARMS - 1);
	}
	if (lease && now > lease)
		return 0;
	return arm_of_share(draw(sk));
}

/* ---- giving it */

static inline bool is_same(const char *a, const volatile char *b)
{
	for (int i = 0; i < BBR_NAME_LEN; i++) {
		if (a[i] != b[i])
			return false;
		if (!a[i])
			break;
	}
	return true;
}

/* socket is what the helpers of this kind of program take; 0 or -errno. */
static inline int set_congestion_control(void *socket, const volatile char *name)
{
	return bpf_setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, (void *)name, BBR_NAME_LEN);
}

/*
 * The stack begins a congestion control, which is when it takes a profile, only in the place of another. reno is in every
 * kernel.
 */
static inline int begin_anew(void *socket, const volatile char *name)
{
	char has[BBR_NAME_LEN] = {};
	int error = bpf_getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, has, sizeof(has));

	if (!error && is_same(has, name))
		error = set_congestion_control(socket, "reno\0\0\0\0\0\0\0\0\0\0\0");
	return error ? error : set_congestion_control(socket, name);
}

/* The place of a connection in the instance, or NULL: it has none, or another connection does not leave it. */
static inline struct assigned_profile *take_place(u32 arm, struct sock *sk)
{
	void *of_instance = bpf_map_lookup_elem(&bbr_arms, &arm);
	struct assigned_places *places =
		of_instance ? bpf_map_lookup_elem(of_instance, &(u32){ 0 }) : NULL;
	struct assigned_profile *place;

	if (!places)
		return NULL;
	place = &places->place[assigned_place(ports_of(sk))];
	for (int i = 0; i < PLACE_TRIES; i++)
		if (!__sync_val_compare_and_swap(&place->sk, 0, (u64)sk))
			return place;
	return NULL;
}

static inline int give_arm(void *socket, struct sock *sk, u32 arm)
{
	const volatile struct experiment_arm *a;
	struct assigned_profile *place;
	int error;

	if (arm >= EXPERIMENT_ARMS)
		return -EINVAL;
	a = &experiment.arm[arm];
	if (a->profile == EXPERIMENT_NO_PROFILE)
		return set_congestion_control(socket, a->cc);
	place = take_place(arm, sk);
	if (!place)
		return -EBUSY;
	place->profile = a->profile;
	error = begin_anew(socket, a->cc);
	__sync_lock_test_and_set(&place->sk, 0);
	return error;
}

/* ---- which connections */

static inline bool is_in_scope(struct bpf_sock_ops *ops, struct sock *sk)
{
	const volatile struct experiment_scope *scope = &experiment.scope;
	u32 addr[4];

	if ((scope->dport && scope->dport != sk->__sk_common.skc_dport) ||
	    (scope->sport && scope->sport != ((struct inet_sock *)sk)->inet_sport) ||
	    (scope->has_mark && scope->mark != sk->sk_mark) ||
	    (scope->netns && scope->netns != bpf_get_netns_cookie(ops)))
		return false;
	remote_address(addr, sk);
	for (int i = 0; i < 4; i++)
		if ((addr[i] ^ scope->dst[i]) & mask_of(scope->dst_len, i))
			return false;
	return true;
}

/*
 * By the application, for this socket or for its listener. What bbrctl attached to a cgroup sets the same bit: then
 * the name tells.
 */
static inline bool has_chosen(struct bpf_sock_ops *ops, struct tcp_sock *tp)
{
	char has[BBR_NAME_LEN] = {};

	if (!BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_setsockopt))
		return false;
	if (bpf_getsockopt(ops, IPPROTO_TCP, TCP_CONGESTION, has, sizeof(has)))
		return true;
	for (int i = 0; i < EXPERIMENT_ARMS; i++)
		if (experiment.attached[i][0] && is_same(has, experiment.attached[i]))
			return false;
	return true;
}

/* ---- the life of a connection */

static inline void begin(struct bpf_sock_ops *ops)
{
	struct bpf_sock *bsk = ops->sk;
	struct tcp_sock *tp = bsk ? bpf_skc_to_tcp_sock(bsk) : NULL;
	struct sock *sk = (struct sock *)tp;
	u64 now = bpf_ktime_get_ns();
	struct subject *s;
	u32 arm;

	if (!tp || *(volatile u32 *)&control.paused || !is_in_scope(ops, sk))
		return;
	if (has_chosen(ops, tp)) {
		__sync_fetch_and_add(&control.chosen, 1);
		return;
	}
	s = bpf_sk_storage_get(&bbr_exp_conns, bsk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!s) {
		__sync_fetch_and_add(&control.no_memory, 1);
		return;
	}
	arm = choose_arm(sk, now);
	if (arm >= EXPERIMENT_ARMS)
		return;
	if (give_arm(ops, sk, arm)) {
		__sync_fetch_and_add(&control.refused[arm], 1);
		bpf_sk_storage_delete(&bbr_exp_conns, bsk);
		return;
	}
	__sync_fetch_and_add(&control.assigned[arm], 1);
	s->arm = arm;
	s->block = block_at(now);
	if (!is_washout(now))
		begin_outcome(s, sk, bpf_get_socket_cookie(ops), now);
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | CALLBACKS);
}

static inline void take_rtt(struct experiment_outcome *o, struct tcp_sock *tp)
{
	u32 rtt = ((struct tcp_sock___experiment *)tp)->rack.rtt_us, bucket;

	if (!rtt)
		return;
	if (!o->rtt_min_us || rtt < o->rtt_min_us)
		o->rtt_min_us = rtt;
	o->rtt_sum_us += rtt;
	o->rtts++;
	bucket = experiment_bucket(rtt - o->rtt_min_us);
	if (bucket < EXPERIMENT_RTT_BUCKETS && o->rtt_above[bucket] != 0xffff)
		o->rtt_above[bucket]++;
}

/* Has it just got as many bytes through? */
static inline void take_firsts(struct subject *s, struct tcp_sock *tp, u64 now)
{
	const u32 bytes[EXPERIMENT_FIRSTS] = EXPERIMENT_FIRST_BYTES;
	u64 acked = tp->bytes_acked - s->before.acked, us = (now - s->outcome.begin) / 1000;

	for (int i = 0; i < EXPERIMENT_FIRSTS; i++)
		if (!s->outcome.first_us[i] && acked >= bytes[i])
			s->outcome.first_us[i] = us < ~0u ? us : ~0u;
}

/* Switchback: the block has changed since this connection was looked at. false: it has left the experiment. */
static inline bool cross_seam(struct bpf_sock_ops *ops, struct subject *s, struct sock *sk, u64 now)
{
	u32 arm = choose_arm(sk, now);

	end_outcome(s, (struct tcp_sock *)sk, now, EXPERIMENT_SEAM);
	s->block = block_at(now);
	if (arm == s->arm)
		return true;
	if (arm >= EXPERIMENT_ARMS)
		return false;
	if (give_arm(ops, sk, arm)) {
		__sync_fetch_and_add(&control.refused[arm], 1);
		return false;
	}
	__sync_fetch_and_add(&control.moved, 1);
	s->arm = arm;
	return true;
}

static inline void look(struct bpf_sock_ops *ops, struct bpf_sock *bsk, struct tcp_sock *tp,
			struct subject *s)
{
	u64 now = bpf_ktime_get_ns();

	if (s->block != block_at(now) && !*(volatile u32 *)&control.paused &&
	    !cross_seam(ops, s, (struct sock *)tp, now)) {
		bpf_sk_storage_delete(&bbr_exp_conns, bsk);
		return;
	}
	if (!s->counts && !is_washout(now)) {
		begin_outcome(s, (struct sock *)tp, bpf_get_socket_cookie(ops), now);
		s->outcome.continued = 1;
	}
	if (!s->counts)
		return;
	take_rtt(&s->outcome, tp);
	take_firsts(s, tp, now);
	if (now - s->outcome.last < NSEC_PER_SEC)
		return;
	count(s, tp, now);
	write_outcome(s);
}

/* Why did a socket close that was in this state? */
static inline u8 why_closed(struct sock *sk, u32 state)
{
	int error = ((struct sock___experiment *)sk)->sk_err;

	if (error == ECONNRESET || error == EPIPE)
		return EXPERIMENT_RESET;
	if (error == ECONNABORTED)
		return EXPERIMENT_ABORTED;
	if (error) /* ETIMEDOUT, or what a router said why nothing comes back */
		return EXPERIMENT_TIMED_OUT;
	switch (state) {
	case BPF_TCP_FIN_WAIT2:
	case BPF_TCP_CLOSING:
	case BPF_TCP_LAST_ACK:
	case BPF_TCP_TIME_WAIT:
		return EXPERIMENT_CLOSED;
	default:
		return EXPERIMENT_ABORTED;
	}
}

static inline void end(struct bpf_sock *bsk, struct tcp_sock *tp, struct subject *s, u32 state)
{
	u64 now = bpf_ktime_get_ns();
	u8 why = why_closed((struct sock *)tp, state);

	take_firsts(s, tp, now);
	if (why == EXPERIMENT_CLOSED) /* our FIN counts as a byte that was acknowledged */
		s->before.acked++;
	end_outcome(s, tp, now, why);
	bpf_sk_storage_delete(&bbr_exp_conns, bsk);
}

SEC("sockops")
int bbr_experiment(struct bpf_sock_ops *ops)
{
	struct bpf_sock *bsk = ops->sk;
	struct tcp_sock *tp;
	struct subject *s;

	if (ops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	    ops->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		begin(ops);
		return 1;
	}
	if (ops->op != BPF_SOCK_OPS_RTT_CB && ops->op != BPF_SOCK_OPS_RTO_CB &&
	    !(ops->op == BPF_SOCK_OPS_STATE_CB && ops->args[1] == BPF_TCP_CLOSE))
		return 1;
	tp = bsk ? bpf_skc_to_tcp_sock(bsk) : NULL;
	s = bsk && tp ? bpf_sk_storage_get(&bbr_exp_conns, bsk, NULL, 0) : NULL;
	if (!s) /* another program asked for these callbacks */
		return 1;
	if (ops->op == BPF_SOCK_OPS_RTT_CB)
		look(ops, bsk, tp, s);
	else if (ops->op == BPF_SOCK_OPS_RTO_CB)
		s->outcome.timeouts++;
	else
		end(bsk, tp, s, ops->args[0]);
	return 1;
}

/* ---- its end */

/*
 * For who stops an experiment: its open connections go over to an arm. The kernel runs this once for each socket of a
 * network namespace, with the socket locked.
 */
const volatile u32 move_to SEC(".rodata.move_to") = 0;

SEC("iter/tcp")
int bbr_exp_move(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = skc ? bpf_skc_to_tcp_sock(skc) : NULL;
	struct subject *s = tp ? bpf_sk_storage_get(&bbr_exp_conns, tp, NULL, 0) : NULL;

	if (!s || s->arm == move_to)
		return 0;
	if (give_arm(tp, (struct sock *)tp, move_to)) {
		__sync_fetch_and_add(&control.refused[move_to % EXPERIMENT_ARMS], 1);
		return 0;
	}
	s->arm = move_to;
	__sync_fetch_and_add(&control.moved, 1);
	return 0;
}
