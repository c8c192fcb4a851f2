/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel that does not exist: its types are those of the running kernel with changes, and bpf()
 * only records what it is asked for. Include this once in a program, because it replaces two
 * functions that libbpf calls.
 */
#ifndef UNIT_MADE_KERNEL_H
#define UNIT_MADE_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>

#include <bpf/btf.h>
#include <linux/bpf.h>

#include "kernel/kernel_types.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* ---- its types */

/* What is different in a kernel with BBR version 3. */
enum change {
	LARGER_STATE = 1 << 0, /* 144 bytes of icsk_ca_priv */
	LARGER_SOCKET = 1 << 1, /* struct tcp_sock has more members */
	LARGER_SAMPLE = 1 << 2, /* so has struct rate_sample */
	WHOLE_BURSTS = 1 << 3, /* tso_segs instead of min_tso_segs, and one more callback */
	OWN_BBR = 1 << 4, /* struct bbr is that of version 3 */
	ALL_CHANGES = (1 << 5) - 1,
};

#define STATE_WORDS 18
#define STATE_GROWTH (STATE_WORDS * 8 - 104)

/*
 * What the stack notes in a packet when it sends it: an unnamed structure in a union of struct
 * tcp_skb_cb.
 */
#define SENT "tcp_skb_cb.tx"

/*
 * Bytes inserted after a member (NULL: after all), with a name if the made kernel has a member
 * there.
 */
static const struct insertion {
	enum change change;
	const char *type, *after, *name;
	unsigned bytes;
} insertions[] = {
	{ LARGER_STATE, "inet_connection_sock", NULL, NULL, STATE_GROWTH },
	{ LARGER_STATE, "tcp_sock", "inet_conn", NULL, STATE_GROWTH },
	{ LARGER_SOCKET, "tcp_sock", "inet_conn", "fast_ack_mode", 8 },
	{ LARGER_SOCKET, "tcp_sock", "inet_conn", "tlp_orig_data_app_limited", 56 },
	{ LARGER_SAMPLE, "rate_sample", "prior_mstamp", "prior_lost", 8 },
	{ LARGER_SAMPLE, "rate_sample", "prior_delivered_ce", "tx_in_flight", 4 },
	{ LARGER_SAMPLE, "rate_sample", "prior_delivered_ce", "lost", 4 },
	{ LARGER_SAMPLE, "rate_sample", "is_retrans", "is_acking_tlp_retrans_seq", 1 },
	{ LARGER_SAMPLE, "rate_sample", "is_ack_delayed", "is_ece", 1 },
	{ LARGER_SAMPLE, SENT, "delivered_mstamp", "in_flight", 4 },
	{ LARGER_SAMPLE, SENT, "delivered_mstamp", "lost", 4 },
	{ WHOLE_BURSTS, "tcp_congestion_ops", "cong_avoid", "skb_marked_lost", 8 },
	{ WHOLE_BURSTS, "tcp_congestion_ops", NULL, NULL, 56 }, /* up to whole cache lines */
	{ WHOLE_BURSTS, "bpf_struct_ops_tcp_congestion_ops", NULL, NULL, 64 },
};

/* struct bbr of version 3: members and their bits, 0 for an array of two. */
static const struct {
	const char *name;
	unsigned size, bits;
} own_bbr[] = {
	{ "min_rtt_us", 4, 32 },
	{ "min_rtt_stamp", 4, 32 },
	{ "probe_rtt_done_stamp", 4, 32 },
	{ "probe_rtt_min_us", 4, 32 },
	{ "probe_rtt_min_stamp", 4, 32 },
	{ "next_rtt_delivered", 4, 32 },
	{ "cycle_mstamp", 8, 64 },
	{ "mode", 4, 2 },
	{ "prev_ca_state", 4, 3 },
	{ "round_start", 4, 1 },
	{ "ce_state", 4, 1 },
	{ "bw_probe_up_rounds", 4, 5 },
	{ "try_fast_path", 4, 1 },
	{ "idle_restart", 4, 1 },
	{ "probe_rtt_round_done", 4, 1 },
	{ "init_cwnd", 4, 7 },
	{ "unused_1", 4, 10 },
	{ "pacing_gain", 4, 10 },
	{ "cwnd_gain", 4, 10 },
	{ "full_bw_reached", 4, 1 },
	{ "full_bw_cnt", 4, 2 },
	{ "cycle_idx", 4, 2 },
	{ "has_seen_rtt", 4, 1 },
	{ "unused_2", 4, 6 },
	{ "prior_cwnd", 4, 32 },
	{ "full_bw", 4, 32 },
	{ "ack_epoch_mstamp", 8, 64 },
	{ "extra_acked", 2, 0 },
	{ "ack_epoch_acked", 4, 20 },
	{ "extra_acked_win_rtts", 4, 5 },
	{ "extra_acked_win_idx", 4, 1 },
	{ "full_bw_now", 4, 1 },
	{ "startup_ecn_rounds", 4, 2 },
	{ "loss_in_cycle", 4, 1 },
	{ "ecn_in_cycle", 4, 1 },
	{ "unused_3", 4, 1 },
	{ "loss_round_delivered", 4, 32 },
	{ "undo_bw_lo", 4, 32 },
	{ "undo_inflight_lo", 4, 32 },
	{ "undo_inflight_hi", 4, 32 },
	{ "bw_latest", 4, 32 },
	{ "bw_lo", 4, 32 },
	{ "bw_hi", 4, 0 },
	{ "inflight_latest", 4, 32 },
	{ "inflight_lo", 4, 32 },
	{ "inflight_hi", 4, 32 },
	{ "bw_probe_up_cnt", 4, 32 },
	{ "bw_probe_up_acks", 4, 32 },
	{ "probe_wait_us", 4, 32 },
	{ "prior_rcv_nxt", 4, 32 },
	{ "alpha_last_delivered", 4, 32 },
	{ "alpha_last_delivered_ce", 4, 32 },
	{ "ecn_eligible", 4, 1 },
	{ "ecn_alpha", 4, 9 },
	{ "bw_probe_samples", 4, 1 },
	{ "prev_probe_too_high", 4, 1 },
	{ "stopped_risky_probe", 4, 1 },
	{ "rounds_since_probe", 4, 8 },
	{ "loss_round_start", 4, 1 },
	{ "loss_in_round", 4, 1 },
	{ "ecn_in_round", 4, 1 },
	{ "ack_phase", 4, 3 },
	{ "loss_events_in_round", 4, 4 },
	{ "initialized", 4, 1 },
};

/* The callbacks, which tracing programs attach to. */
static const char *const own_functions[] = {
	"bbr_init",	  "bbr_main",	  "bbr_skb_marked_lost",
	"bbr_cwnd_event", "bbr_ssthresh", "bbr_undo_cwnd",
	"bbr_set_state",  "bbr_tso_segs", "bbr_sndbuf_expand",
};

/* Types that the made kernel has in addition, after all of the running kernel's. */
struct more_types {
	int u8, u16, u32, u64, two_u16, two_u32, state, tso_segs;
};

static struct btf *made_kernel, *running_kernel;

static inline unsigned growth(enum change changes, const char *type)
{
	unsigned bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(insertions); i++)
		if (insertions[i].change & changes && !strcmp(insertions[i].type, type))
			bytes += insertions[i].bytes;
	return bytes;
}

/* Inserts what belongs after this member. Returns the number of bytes. */
static inline unsigned insert(const struct more_types *more, enum change changes, const char *type,
			      const char *after, unsigned at)
{
	unsigned bytes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(insertions); i++) {
		const struct insertion *in = &insertions[i];

		if (!(in->change & changes) || strcmp(in->type, type) || !in->after ||
		    strcmp(in->after, after))
			continue;
		if (in->name)
			btf__add_field(made_kernel, in->name, in->bytes < 4 ? more->u8 : more->u32,
				       (at + bytes) * 8, 0);
		bytes += in->bytes;
	}
	return bytes;
}

static inline void add_changed(const struct btf *from, const struct btf_type *t, const char *type,
			       const struct more_types *more, enum change changes)
{
	unsigned shift = 0;

	btf__add_struct(made_kernel, type, t->size + growth(changes, type));
	for (int i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(from, btf_members(t)[i].name_off);
		unsigned at = btf_member_bit_offset(t, i) + shift * 8;
		int id = btf_members(t)[i].type;

		if (changes & LARGER_STATE && !strcmp(name, "icsk_ca_priv"))
			id = more->state;
		if (changes & WHOLE_BURSTS && !strcmp(name, "min_tso_segs")) {
			name = "tso_segs";
			id = more->tso_segs;
		}
		btf__add_field(made_kernel, name, id, at, btf_member_bitfield_size(t, i));
		shift += insert(more, changes, type, name,
				at / 8 + btf__resolve_size(from, btf_members(t)[i].type));
	}
}

static inline void add_own_bbr(const struct more_types *more)
{
	unsigned at = 0;

	btf__add_struct(made_kernel, "bbr", STATE_WORDS * 8);
	for (size_t i = 0; i < ARRAY_SIZE(own_bbr); i++) {
		unsigned size = own_bbr[i].size, bits = own_bbr[i].bits;
		bool is_bitfield = bits && bits < size * 8;
		int id = size == 8 ? more->u64 : more->u32;

		if (!bits)
			id = size == 2 ? more->two_u16 : more->two_u32;
		if (size == 8)
			at = (at + 63) / 64 * 64;
		btf__add_field(made_kernel, own_bbr[i].name, id, at, is_bitfield ? bits : 0);
		at += bits ? bits : 2 * size * 8;
	}
}

static inline void add_more_types(const struct more_types *more, int sock, int index)
{
	btf__add_int(made_kernel, "u8", 1, 0);
	btf__add_int(made_kernel, "u16", 2, 0);
	btf__add_int(made_kernel, "u32", 4, 0);
	btf__add_int(made_kernel, "u64", 8, 0);
	btf__add_array(made_kernel, index, more->u16, 2);
	btf__add_array(made_kernel, index, more->u32, 2);
	btf__add_array(made_kernel, index, more->u64, STATE_WORDS);
	btf__add_ptr(made_kernel, more->tso_segs + 1);
	btf__add_func_proto(made_kernel, more->u32);
	btf__add_func_param(made_kernel, "sk", more->tso_segs + 2);
	btf__add_func_param(made_kernel, "mss_now", more->u32);
	btf__add_ptr(made_kernel, sock);
}

static inline bool is_changed(const char *type, enum change changes)
{
	for (size_t i = 0; i < ARRAY_SIZE(insertions); i++)
		if (insertions[i].change & changes && !strcmp(insertions[i].type, type))
			return true;
	return false;
}

/* Type of the member tx of a union in struct tcp_skb_cb; 0: there is none. */
static inline int find_sent(const struct btf *from)
{
	const struct btf_type *cb =
		btf__type_by_id(from, btf__find_by_name_kind(from, "tcp_skb_cb", BTF_KIND_STRUCT));

	for (int i = 0; i < btf_vlen(cb); i++) {
		const struct btf_type *u = btf__type_by_id(from, btf_members(cb)[i].type);

		for (int k = 0; btf_is_union(u) && k < btf_vlen(u); k++)
			if (!strcmp(btf__name_by_offset(from, btf_members(u)[k].name_off), "tx"))
				return btf_members(u)[k].type;
	}
	return 0;
}

/* Begins a kernel without any types. The tools forget those of the last one. */
static inline void begin_kernel(void)
{
	btf__free(made_kernel);
	kernel_types_forget();
	made_kernel = btf__new_empty();
}

/* Each type keeps its id. Returns false if the running kernel has no types. */
static inline bool make_kernel(enum change changes)
{
	struct btf *from = running_kernel;
	struct more_types more;
	int n, sock, index, sent;

	if (!from)
		from = running_kernel = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	if (!from)
		return false;
	n = btf__type_cnt(from);
	more = (struct more_types){ n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7 };
	sock = btf__find_by_name_kind(from, "sock", BTF_KIND_STRUCT);
	index = btf__find_by_name_kind(from, "unsigned int", BTF_KIND_INT);
	sent = find_sent(from);
	begin_kernel();
	for (int id = 1; id < n; id++) {
		const struct btf_type *t = btf__type_by_id(from, id);
		const char *name = id == sent ? SENT : btf__name_by_offset(from, t->name_off);

		if (btf_is_struct(t) && is_changed(name, changes))
			add_changed(from, t, name, &more, changes);
		else if (btf_is_struct(t) && changes & OWN_BBR && !strcmp(name, "bbr"))
			add_own_bbr(&more);
		else
			btf__add_type(made_kernel, from, t);
	}
	add_more_types(&more, sock, index);
	if (changes & OWN_BBR && btf__find_by_name(from, "bbr") < 0) /* it is in a module */
		add_own_bbr(&more);
	for (size_t i = 0; changes & OWN_BBR && i < ARRAY_SIZE(own_functions); i++)
		btf__add_func(made_kernel, own_functions[i], BTF_FUNC_STATIC, more.tso_segs + 1);
	return true;
}

static inline void forget_kernel(void)
{
	btf__free(made_kernel);
	btf__free(running_kernel);
	kernel_types_forget();
}

/* Replaces libbpf's function. */
struct btf *btf__load_vmlinux_btf(void)
{
	__u32 size;
	const void *data = btf__raw_data(made_kernel, &size);

	return btf__new(data, size);
}

/* ---- bpf() */

struct loaded_program {
	char name[BPF_OBJ_NAME_LEN];
	__u32 callback, of_type; /* index of the member, and the id of its struct */
	__u32 n;
	struct bpf_insn *insns;
};

struct loaded {
	struct loaded_program programs[64];
	unsigned n;
};

static struct loaded loaded; /* since it was last forgotten */

/* The last struct_ops map that was made, and what was written into its only element. */
static int ops_fd;
static char ops_value[1024];
static __u32 ops_size;

static inline void forget_loaded(struct loaded *l)
{
	while (l->n)
		free(l->programs[--l->n].insns);
}

static inline void move_loaded(struct loaded *to, struct loaded *from)
{
	*to = *from;
	from->n = 0;
}

/*
 * A file descriptor that can be mapped, as a map's can. It is not that of a standard stream, which
 * libbpf would replace.
 */
static inline int new_fd(void)
{
	int low = memfd_create("bpf", MFD_CLOEXEC), fd = fcntl(low, F_DUPFD_CLOEXEC, 3);

	close(low);
	return fd >= 0 && !ftruncate(fd, 1 << 24) ? fd : -1;
}

static inline int note_program(const union bpf_attr *attr)
{
	struct loaded_program *p = &loaded.programs[loaded.n];
	size_t size = attr->insn_cnt * sizeof(*p->insns);
	int fd = new_fd();

	/* libbpf probes kernel features. */
	if (!attr->attach_btf_id || loaded.n == ARRAY_SIZE(loaded.programs))
		return fd;
	*p = (struct loaded_program){ .callback = attr->expected_attach_type,
				      .of_type = attr->attach_btf_id,
				      .n = attr->insn_cnt,
				      .insns = malloc(size) };
	memcpy(p->name, attr->prog_name, sizeof(p->name));
	memcpy(p->insns, (void *)(unsigned long)attr->insns, size);
	loaded.n++;
	return fd;
}

static inline long made_bpf(int cmd, union bpf_attr *attr)
{
	switch (cmd) {
	case BPF_PROG_LOAD:
		return note_program(attr);
	case BPF_MAP_CREATE:
		if (attr->map_type != BPF_MAP_TYPE_STRUCT_OPS)
			return new_fd();
		ops_size = attr->value_size;
		ops_fd = new_fd();
		return ops_fd;
	case BPF_BTF_LOAD:
		return new_fd();
	case BPF_MAP_UPDATE_ELEM:
		if ((int)attr->map_fd == ops_fd && ops_size <= sizeof(ops_value))
			memcpy(ops_value, (void *)(unsigned long)attr->value, ops_size);
		return 0;
	case BPF_BTF_GET_NEXT_ID:
		errno = ENOENT; /* no module has types */
		return -1;
	default:
		return 0;
	}
}

/* Replaces the C library's function. From 1.4 on, libbpf also calls the last two of these. */
long syscall(long number, ...)
{
	long arg[3];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 3; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	switch (number) {
	case SYS_bpf:
		return made_bpf(arg[0], (union bpf_attr *)arg[1]);
	case SYS_memfd_create:
		return new_fd();
	case SYS_dup3:
		return dup3(arg[0], arg[1], arg[2]);
	default:
		errno = ENOSYS;
		return -1;
	}
}

#endif
