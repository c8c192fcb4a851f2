// SPDX-License-Identifier: GPL-2.0-only
/*
 * An experiment (experiment.h), for a cgroup: gives each new connection of its scope an arm, and
 * records the outcome. After the handshake it looks at a connection once a round trip, at timeouts,
 * and at its end. It adds nothing to the cost of an ACK.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "address.bpf.h"
#include "experiment/experiment.h"
#include "base/chrono.bpf.h"

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

/* bbr_no_arm is a map of its own: clang describes the value only then, which 6.1 compares. */
struct assigned_of_instance {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE); /* as libbpf makes global data */
	__type(key, u32);
	__type(value, struct assigned_places);
} bbr_no_arm SEC(".maps");

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

/* An open connection. */
struct subject {
	u64 number; /* of its outcome; 0: it has none */
	struct counts before; /* at the outcome's beginning */
	u32 block; /* the block whose arm it has */
	u8 arm;
	bool waits; /* for the end of the washout: then its outcome begins */
};

_Static_assert(!(EXPERIMENT_ARMS & (EXPERIMENT_ARMS - 1)), "a mask");

/*
 * By socket cookie. A socket storage would take two allocations when a connection starts, which is
 * half of all that a start costs.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EXPERIMENT_RING); /* bbrctl sets experiment.outcomes */
	__type(key, u64);
	__type(value, struct subject);
} bbr_exp_conns SEC(".maps"); /* EXPERIMENT_MAP_CONNECTIONS */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock___experiment {
	int sk_err;
};

struct tcp_congestion_ops___name {
	char name[BBR_NAME_LEN];
};

struct inet_connection_sock___experiment {
	const struct tcp_congestion_ops___name *icsk_ca_ops;
	u8 icsk_ca_initialized : 1;
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock___experiment {
	struct tcp_rack rack;
};

#pragma clang attribute pop

/* ---- the outcome of a connection */

static inline struct counts counts_of(struct tcp_sock *tp)
{
	struct chrono chrono = chrono_of(tp);

	return (struct counts){
		.acked = tp->bytes_acked,
		.sent = tp->bytes_sent,
		.retransmitted = tp->bytes_retrans,
		.busy = chrono.busy,
		.rwnd = chrono.rwnd,
		.sndbuf = chrono.sndbuf,
	};
}

static inline void count(struct experiment_outcome *o, const struct subject *s, struct tcp_sock *tp,
			 u64 now)
{
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
 * From here to unlock_outcome() readers see that the outcome is changing. Two connections have the
 * same place at once only if the ring went round while one of them was between these two calls;
 * bbrctl makes no ring smaller than 1024.
 */
static inline void lock_outcome(struct experiment_outcome *o)
{
	__sync_fetch_and_add(&o->version, 1); /* odd */
}

static inline void unlock_outcome(struct experiment_outcome *o)
{
	__sync_fetch_and_add(&o->version, 1);
}

/*
 * A connection's outcome, locked. Returns NULL if it has none, or has none any more because its
 * place was given away.
 */
static inline struct experiment_outcome *outcome_of(struct subject *s)
{
	struct experiment_outcome *o = s->number ? place_of(s->number) : NULL;

	if (!o)
		return NULL;
	if (o->number != s->number) {
		__sync_fetch_and_add(&control.lost, 1);
		s->number = 0;
		return NULL;
	}
	lock_outcome(o);
	return o;
}

static inline void begin_outcome(struct subject *s, struct sock *sk, u64 now, bool continued)
{
	struct sock_common *skc = &sk->__sk_common;
	u64 number = __sync_fetch_and_add(&control.outcomes, 1) + 1;
	struct experiment_outcome *o = place_of(number);

	s->waits = false;
	if (!o)
		return;
	if (o->number > number) {
		__sync_fetch_and_add(&control.lost, 1);
		return;
	}
	s->before = counts_of((struct tcp_sock *)sk);
	s->number = number;
	lock_outcome(o);
	__builtin_memset(&o->acked, 0, sizeof(*o) - offsetof(struct experiment_outcome, acked));
	o->number = number;
	o->arm = s->arm;
	o->end = EXPERIMENT_OPEN;
	o->family = skc->skc_family;
	o->continued = continued;
	o->block = s->block;
	o->connection = cookie_of(sk);
	o->begin = o->last = now;
	o->netns = skc->skc_net.net->ns.inum;
	o->lport = ((struct inet_sock *)sk)->inet_sport;
	o->rport = skc->skc_dport;
	local_address(o->laddr, sk);
	remote_address(o->raddr, sk);
	o->timeouts = 0;
	unlock_outcome(o);
}

/* Notes the time when each of these numbers of bytes is first ACKed. */
static inline void take_firsts(struct experiment_outcome *o, const struct subject *s,
			       struct tcp_sock *tp, u64 now)
{
	const u32 bytes[EXPERIMENT_FIRSTS] = EXPERIMENT_FIRST_BYTES;
	u64 acked = tp->bytes_acked - s->before.acked, us = (now - o->begin) / 1000;

	for (int i = 0; i < EXPERIMENT_FIRSTS; i++)
		if (!o->first_us[i] && acked >= bytes[i])
			o->first_us[i] = us < ~0u ? us : ~0u;
}

/*
 * A part of a switchback ends with its block, although the connection is looked at later: an hour
 * later if the machine stood still.
 */
static inline u64 end_of_part(const struct experiment_outcome *o, const struct subject *s, u64 now)
{
	u64 end = experiment.started + (s->block + 1ull) * experiment.block;

	return experiment.block && o->last < end && end < now ? end : now;
}

/* Of the ticks counted from `last` to now, the share of the time up to `end` is kept. */
static inline u32 ticks_until(u32 was, u32 is, u64 last, u64 end, u64 now)
{
	u64 whole = (now - last) >> 20; /* ms, or nearly: the product fits 64 bits */

	return was + (whole ? (u64)(is - was) * ((end - last) >> 20) / whole : 0);
}

/* The bytes that were ACKed since the last count were mostly sent before the end. */
static inline void count_part(struct experiment_outcome *o, const struct subject *s,
			      struct tcp_sock *tp, u64 now)
{
	u32 busy = o->busy_ticks, rwnd = o->rwnd_ticks, sndbuf = o->sndbuf_ticks;
	u64 last = o->last, end = end_of_part(o, s, now);

	count(o, s, tp, end);
	if (end == now)
		return;
	o->busy_ticks = ticks_until(busy, o->busy_ticks, last, end, now);
	o->rwnd_ticks = ticks_until(rwnd, o->rwnd_ticks, last, end, now);
	o->sndbuf_ticks = ticks_until(sndbuf, o->sndbuf_ticks, last, end, now);
}

static inline void end_outcome(struct subject *s, struct tcp_sock *tp, u64 now, u8 end)
{
	struct experiment_outcome *o = outcome_of(s);

	s->number = 0;
	if (!o)
		return;
	take_firsts(o, s, tp, now);
	/* Our FIN counts as a byte that was acknowledged, unless that was before a seam. */
	if (end == EXPERIMENT_CLOSED && s->before.acked < tp->bytes_acked)
		s->before.acked++;
	count_part(o, s, tp, now);
	o->end = end;
	unlock_outcome(o);
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

/* The bits of a prefix that are in word i of an address, as a mask in network byte order. */
static inline u32 mask_of(u32 bits, u32 i)
{
	s32 here = (s32)bits - 32 * (s32)i;

	if (here <= 0)
		return 0;
	return here >= 32 ? ~0u : bpf_htonl(~0u << (32 - here));
}

/* Draws a connection's position among all, from 0 to EXPERIMENT_SHARES - 1. */
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
 * From the top downwards, the last arm first: if its share grows, it keeps the prefixes that it
 * has. Arm 0 gets what no share covers.
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
		/*
		 * The verifier does not know how small a remainder is. The compiler does, and would
		 * drop the mask.
		 */
		barrier_var(arm);
		return arm & (EXPERIMENT_ARMS - 1);
	}
	if (lease && now > lease)
		return 0;
	return arm_of_share(draw(sk));
}

/* ---- giving it */

/* Names of congestion controls are padded with zeros, everywhere. */
static inline bool has_name(struct tcp_sock *tp, const volatile char name[BBR_NAME_LEN])
{
	const struct tcp_congestion_ops___name *ops =
		((struct inet_connection_sock___experiment *)tp)->icsk_ca_ops;
	const u32 *has = (const u32 *)&ops->name[0];
	const volatile u32 *is = (const volatile u32 *)name;

	for (u32 i = 0; i < BBR_NAME_LEN / sizeof(*has); i++)
		if (has[i] != is[i])
			return false;
	return true;
}

/* socket: what the helpers of this type of program take. Returns 0 or -errno. */
static inline int set_congestion_control(void *socket, const volatile char *name)
{
	return bpf_setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, (void *)name, BBR_NAME_LEN);
}

/*
 * Makes the stack begin a congestion control, which is when the connection takes a profile. The
 * stack does so when it replaces another one, or right after this program if the connection has
 * just been established. A connection that has begun it already gets reno in between, which is in
 * every kernel.
 */
static inline int begin_anew(void *socket, struct tcp_sock *tp, const volatile char *name)
{
	struct inet_connection_sock___experiment *icsk =
		(struct inet_connection_sock___experiment *)tp;
	int error = 0;

	if (has_name(tp, name) && BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized))
		error = set_congestion_control(socket, "reno\0\0\0\0\0\0\0\0\0\0\0");
	return error ? error : set_congestion_control(socket, name);
}

/*
 * The place of a connection in the instance. Returns NULL if it has none, or if another connection
 * does not leave it.
 */
static inline struct assigned_profile *take_place(u32 arm, struct sock *sk, u64 mine)
{
	void *of_instance = bpf_map_lookup_elem(&bbr_arms, &arm);
	struct assigned_places *places =
		of_instance ? bpf_map_lookup_elem(of_instance, &(u32){ 0 }) : NULL;
	struct assigned_profile *place;

	if (!places)
		return NULL;
	place = &places->place[assigned_place(ports_of(sk))];
	for (int i = 0; i < PLACE_TRIES; i++) {
		u64 owner = *(volatile u64 *)&place->owner;

		if (assigned_is_free(owner, mine) &&
		    __sync_val_compare_and_swap(&place->owner, owner, mine) == owner)
			return place;
	}
	return NULL;
}

static inline int give_arm(void *socket, struct sock *sk, u32 arm, u64 now)
{
	u64 mine = assigned_owner(cookie_of(sk), now);
	const volatile struct experiment_arm *a;
	struct assigned_profile *place;
	int error;

	if (arm >= EXPERIMENT_ARMS)
		return -EINVAL;
	a = &experiment.arm[arm];
	if (a->profile == EXPERIMENT_NO_PROFILE)
		return set_congestion_control(socket, a->cc);
	place = take_place(arm, sk, mine);
	if (!place)
		return -EBUSY;
	place->profile = a->profile;
	error = begin_anew(socket, (struct tcp_sock *)sk, a->cc);
	if (error)
		__sync_val_compare_and_swap(&place->owner, mine, 0);
	return error;
}

/* Counts a connection that did not get this arm, and notes why. */
static inline void refuse(u32 arm, int error)
{
	arm &= EXPERIMENT_ARMS - 1;
	control.refused_error[arm] = -error;
	__sync_fetch_and_add(&control.refused[arm], 1);
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
 * True if the application has chosen, for this socket or for its listener. A program that bbrctl
 * attached to a cgroup sets the same bit; the name distinguishes the two.
 */
static inline bool has_chosen(struct tcp_sock *tp)
{
	if (!BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_setsockopt))
		return false;
	for (int i = 0; i < EXPERIMENT_ARMS; i++)
		if (experiment.attached[i][0] && has_name(tp, experiment.attached[i]))
			return false;
	return true;
}

/* ---- the life of a connection */

static inline struct subject *subject_of(struct sock *sk)
{
	return bpf_map_lookup_elem(&bbr_exp_conns, &(u64){ cookie_of(sk) });
}

static inline void forget(struct sock *sk)
{
	bpf_map_delete_elem(&bbr_exp_conns, &(u64){ cookie_of(sk) });
}

/* Returns NULL if there is no room for another. */
static inline struct subject *add_subject(struct bpf_sock_ops *ops, u32 arm, u64 now)
{
	struct subject new = { .arm = arm, .block = block_at(now), .waits = is_washout(now) };
	u64 cookie = bpf_get_socket_cookie(ops);

	bpf_map_update_elem(&bbr_exp_conns, &cookie, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&bbr_exp_conns, &cookie);
}

static inline void begin(struct bpf_sock_ops *ops)
{
	struct bpf_sock *bsk = ops->sk;
	struct tcp_sock *tp = bsk ? bpf_skc_to_tcp_sock(bsk) : NULL;
	struct sock *sk = (struct sock *)tp;
	u64 now = bpf_ktime_get_ns();
	struct subject *s;
	int error;
	u32 arm;

	if (!tp || *(volatile u32 *)&control.paused || !is_in_scope(ops, sk))
		return;
	if (has_chosen(tp)) {
		__sync_fetch_and_add(&control.chosen, 1);
		return;
	}
	arm = choose_arm(sk, now);
	if (arm >= EXPERIMENT_ARMS)
		return;
	s = add_subject(ops, arm, now);
	if (!s) {
		__sync_fetch_and_add(&control.no_memory, 1);
		return;
	}
	error = give_arm(ops, sk, arm, now);
	if (error) {
		refuse(arm, error);
		forget(sk);
		return;
	}
	__sync_fetch_and_add(&control.assigned[arm], 1);
	if (!s->waits)
		begin_outcome(s, sk, now, false);
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

/*
 * Switchback: the block has changed since the last look at this connection. Returns false if it has
 * left the experiment.
 */
static inline bool cross_seam(struct bpf_sock_ops *ops, struct subject *s, struct sock *sk, u64 now)
{
	u32 arm = choose_arm(sk, now);
	int error;

	end_outcome(s, (struct tcp_sock *)sk, now, EXPERIMENT_SEAM);
	s->block = block_at(now);
	s->waits = true;
	if (arm == s->arm)
		return true;
	if (arm >= EXPERIMENT_ARMS)
		return false;
	error = give_arm(ops, sk, arm, now);
	if (error) {
		refuse(arm, error);
		return false;
	}
	__sync_fetch_and_add(&control.moved, 1);
	s->arm = arm;
	return true;
}

static inline void look(struct bpf_sock_ops *ops, struct tcp_sock *tp, struct subject *s)
{
	u64 now = bpf_ktime_get_ns();
	struct experiment_outcome *o;

	if (s->block != block_at(now) && !*(volatile u32 *)&control.paused &&
	    !cross_seam(ops, s, (struct sock *)tp, now)) {
		forget((struct sock *)tp);
		return;
	}
	if (s->waits && !is_washout(now))
		begin_outcome(s, (struct sock *)tp, now, true);
	o = outcome_of(s);
	if (!o)
		return;
	take_rtt(o, tp);
	take_firsts(o, s, tp, now);
	if (now - o->last >= NSEC_PER_SEC)
		count(o, s, tp, now);
	unlock_outcome(o);
}

/* Why a socket in this state closes. */
static inline u8 why_closed(struct sock *sk, u32 state)
{
	int error = ((struct sock___experiment *)sk)->sk_err;

	if (error == ECONNRESET || error == EPIPE)
		return EXPERIMENT_RESET;
	if (error == ECONNABORTED)
		return EXPERIMENT_ABORTED;
	if (error) /* ETIMEDOUT, or what a router reported */
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

SEC("sockops")
int bbr_experiment(struct bpf_sock_ops *ops)
{
	struct bpf_sock *bsk = ops->sk;
	struct experiment_outcome *o;
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
	s = tp ? subject_of((struct sock *)tp) : NULL;
	if (!s) /* these callbacks are for another program */
		return 1;
	if (ops->op == BPF_SOCK_OPS_RTT_CB) {
		look(ops, tp, s);
	} else if (ops->op == BPF_SOCK_OPS_RTO_CB) {
		o = outcome_of(s);
		if (o) {
			o->timeouts++;
			unlock_outcome(o);
		}
	} else {
		end_outcome(s, tp, bpf_ktime_get_ns(), why_closed((struct sock *)tp, ops->args[0]));
		forget((struct sock *)tp);
	}
	return 1;
}

/* ---- its end */

/*
 * To stop an experiment: moves its open connections to one arm. The kernel runs this once for each
 * socket of a network namespace, with the socket locked.
 */
const volatile u32 move_to SEC(".rodata.move_to") = 0;

SEC("iter/tcp")
int bbr_exp_move(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp = skc ? bpf_skc_to_tcp_sock(skc) : NULL;
	struct subject *s = tp ? subject_of((struct sock *)tp) : NULL;
	int error;

	if (!s || s->arm == move_to)
		return 0;
	error = give_arm(tp, (struct sock *)tp, move_to, bpf_ktime_get_ns());
	if (error) {
		refuse(move_to, error);
		return 0;
	}
	s->arm = move_to;
	s->waits = false; /* the block has another arm */
	__sync_fetch_and_add(&control.moved, 1);
	return 0;
}
