// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records the callbacks of the kernel's own BBR: fentry sees what a callback can read, fexit what
 * it changed. This file is compiled once for each algorithm, with its RECORD_H, which has
 *
 *	RECORD			a record, with a member `kind`
 *	RECORD_DEPTH		how many callbacks of a socket may be under way at a time
 *	CALLBACKS(X)		record.h
 *	nests(kind)		may it begin within another callback of its socket?
 *	most_of(kind)		how many to record
 *	read_before(record, s, ctx, kind, arg), read_after(record, s, returned, jiffies)
 *
 * The socket is locked all through a callback, so the first half can be stored under the socket's
 * address.
 *
 * The kernel skips a tracing program that would run within itself: in an interrupt, or, on a kernel
 * that preempts, for another socket. So there are several copies of each program, and the first one
 * that runs for a half of a callback records it.
 */
#include RECORD_H
#include "recorded.h"

/* What kernel.bpf.h asks of an algorithm. The recorder runs none. */
#ifdef bbr_app_limited_until
static inline struct bbr_more *more_of(struct sock *sk)
{
	return NULL;
}
#else
static inline u32 bbr_app_limited_until(const struct bbr *b)
{
	return 0;
}

static inline void bbr_set_app_limited_until(struct bbr *b, const struct shell_sock *sk,
					     u32 delivered)
{
}
#endif

static inline bool bbr_was_sent_after_mark(const struct bbr *b, const struct shell_sock *sk,
					   u32 prior_delivered)
{
	return true;
}

/* A callback on its way from the kernel to the recorder. */
struct recorded {
	u64 socket; /* its address, to tell sockets apart */
	RECORD record;
	bool is_omitted;
};
#define RECORDED_SIZE __builtin_offsetof(struct recorded, is_omitted)

/* Callbacks of one socket that have begun. */
struct pending {
	u32 depth;
	struct recorded rec[RECORD_DEPTH];
};

static const struct pending nothing;

/*
 * Keyed by the socket's address. Not a socket storage: kernels crash when a program on a module's
 * function uses one (6.12: bpf_sk_storage_tracing_allowed() searches vmlinux for the function).
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

static inline void count(u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* Exists from 6.3 on, a release after bpf_rdonly_cast(). */
struct bpf_rb_root {
	u64 root;
} __attribute__((preserve_access_index));

extern void *bpf_rdonly_cast(const void *obj, u32 btf_id) __ksym __weak;

/*
 * sk as a tcp_sock: otherwise the verifier does not let a tracing program read beyond struct sock.
 * Some kernels' modules have a struct sock of their own in their BTF, which bpf_skc_to_tcp_sock()
 * rejects.
 */
static inline struct shell_sock sock_to_read(struct sock *sk)
{
	void *tp;

	if (bpf_core_type_exists(struct bpf_rb_root))
		tp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	else
		tp = bpf_skc_to_tcp_sock(sk);
	return (struct shell_sock){ .sk = tp };
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

/* The callback at this depth, from 1 on, of those of a socket that have begun. */
static inline struct recorded *at_depth(struct pending *p, u32 depth)
{
	return depth > 1 ? &p->rec[RECORD_DEPTH - 1] : &p->rec[0];
}

/* The innermost callback that has begun; NULL: there is none. */
static inline struct recorded *innermost(struct pending *p)
{
	return p->depth ? at_depth(p, p->depth) : NULL;
}

/* Records the first half of a callback. */
static inline void begin(unsigned long long *ctx, u8 kind, u32 arg)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct pending *p = pending_of(sk);
	struct shell_sock s;
	struct recorded *rec;

	if (!p)
		return; /* counted as missing */
	rec = innermost(p);
	if (rec && rec->record.kind == kind)
		return; /* another copy was here */
	s = sock_to_read(sk);
	if (!s.sk)
		return;
	if (rec && (p->depth >= RECORD_DEPTH || !nests(kind)))
		p->depth = 0; /* no copy saw the second half of the last one, which is missing */
	rec = at_depth(p, ++p->depth);
	__builtin_memset(&rec->record, 0, sizeof(rec->record));
	rec->socket = (u64)sk;
	rec->record.kind = kind;
	rec->is_omitted = counts.recorded[kind] >= most_of(kind);
	if (!rec->is_omitted)
		read_before(&rec->record, &s, ctx, kind, arg);
}

static inline void end(struct sock *sk, u8 kind, u32 returned)
{
	u32 jiffies = bpf_jiffies64(); /* first: as close to the callback as possible */
	struct pending *p = pending_of(sk);
	struct recorded *rec;
	struct shell_sock s;

	rec = p ? innermost(p) : NULL;
	if (!rec || rec->record.kind != kind)
		return; /* another copy was here, or none saw the first half */
	s = sock_to_read(sk);
	if (!s.sk)
		return;
	p->depth--;
	if (rec->is_omitted) {
		count(&counts.omitted[kind]);
		return;
	}
	read_after(&rec->record, &s, returned, jiffies);
	if (bpf_ringbuf_output(&ring, rec, RECORDED_SIZE, BPF_RB_NO_WAKEUP))
		count(&counts.dropped);
	else
		count(&counts.recorded[kind]);
}

/* Both halves of a function of tcp_bbr.c: its argument, and what it returns. */
#define COPY(n, function, kind, arg, returned)              \
	SEC("fentry/" #function)                            \
	int function##_begin##n(unsigned long long *ctx)    \
	{                                                   \
		begin(ctx, kind, arg);                      \
		return 0;                                   \
	}                                                   \
	SEC("fexit/" #function)                             \
	int function##_end##n(unsigned long long *ctx)      \
	{                                                   \
		end((struct sock *)ctx[0], kind, returned); \
		return 0;                                   \
	}
#define CALLBACK(...)        \
	COPY(0, __VA_ARGS__) \
	COPY(1, __VA_ARGS__) \
	COPY(2, __VA_ARGS__)
_Static_assert(COPIES == 3, "of each program");

CALLBACKS(CALLBACK)

/* Reads both clocks at once. */
SEC("syscall")
int read_clocks(struct clocks *clocks)
{
	clocks->jiffies = bpf_jiffies64();
	clocks->ns = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
