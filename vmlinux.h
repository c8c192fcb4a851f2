/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types as far as the BPF program reads them. libbpf finds the fields of the running
 * kernel by their names (CO-RE), so order, padding and what is left out do not matter, and a struct of
 * which only some members are used needs only those.
 */
#ifndef VMLINUX_H
#define VMLINUX_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define AF_INET 2
#define AF_INET6 10

#define TCP_LISTEN 10
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define TCP_CONG_NON_RESTRICTED 1 /* sockets without CAP_NET_ADMIN may use it */
#define TCP_CONG_NEEDS_ECN 2 /* connections negotiate ECN */

#define SK_USER_DATA_PSOCK 4ul /* a bit of sk_user_data: it is the struct sk_psock of a sockmap */

#define SK_PACING_NONE 0 /* nobody paces */
#define SK_PACING_NEEDED 1 /* TCP's own timer is to pace, unless fq does */

enum tcp_ca_state {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};

enum tcp_ca_event {
	CA_EVENT_TX_START, /* the first packet after nothing was in flight */
	CA_EVENT_CWND_RESTART, /* the window restarts after idle */
	CA_EVENT_COMPLETE_CWR, /* the end of congestion recovery */
	CA_EVENT_LOSS, /* the end of an RTO's loss */
	CA_EVENT_ECN_NO_CE, /* received: ECT without CE */
	CA_EVENT_ECN_IS_CE, /* received: CE */
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct netns_ipv4 {
	u8 sysctl_tcp_min_tso_segs;
};

struct net {
	struct ns_common ns;
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct kernfs_node {
	u64 id;
	const char *name;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	atomic_t refs;
} refcount_t;

struct sock {
	struct sock_common __sk_common;
	refcount_t sk_wmem_alloc;
	struct sock_cgroup_data sk_cgrp_data;
	__u32 sk_mark;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	u8 sk_pacing_shift;
	unsigned int sk_gso_max_size;
};

struct inet_sock {
	struct sock sk;
	__be16 inet_sport;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5, icsk_ca_setsockopt : 1;
	struct {
		__u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
};

/* The stack's own filter of the minimum RTT; not BBR's, which has the tag minmax. */
struct minmax_sample___kernel {
	u32 t;
	u32 v;
};

struct minmax___kernel {
	struct minmax_sample___kernel s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	u64 delivered_mstamp;
	u64 bytes_sent;
	u64 bytes_acked;
	u64 bytes_retrans;
	struct minmax___kernel rtt_min;
	u32 srtt_us;
	u32 mss_cache;
	u32 packets_out;
	u32 retrans_out;
	u32 sacked_out;
	u32 lost_out;
	u32 reord_seen;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 notsent_lowat;
	u32 delivered;
	u32 lost;
	u32 app_limited;
	u32 delivered_ce;
	u32 prior_cwnd;
	u32 rcv_nxt;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 tlp_high_seq;
	u8 ecn_flags;
	u32 rate_delivered;
	u8 tlp_retrans : 1, is_cwnd_limited : 1, rate_app_limited : 1;
};

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u8 is_app_limited; /* bool in the kernel, as the next one */
	u8 is_ack_delayed;
	bool is_retrans;
	u32 last_end_seq;
	s32 delivered_ce;
};

struct seq_file {
	unsigned long size;
	unsigned long count;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

/*
 * Only the members that are set: libbpf up to 1.3 refuses an object that names one which the running
 * kernel lacks, set or not.
 */
struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 (*sndbuf_expand)(struct sock *sk);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
	char name[16];
	u32 flags;
};

#endif
