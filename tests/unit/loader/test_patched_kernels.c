/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Our objects fit the types of kernels that were patched with BBR version 3. libbpf does all that
 * it does before the kernel gets the programs; what the kernel would say about them is not tested.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "fixture.h"
#include "made_kernel.h"

#include <bpf/libbpf.h>
#include <libgen.h>
#include <limits.h>

#include "cli/options.h"
#include "instance/object.h"
#include "instance/struct_ops.h"
#include "kernel/kernel_types.h"

#define N_OURS 2

/* Loads are compared with the loads of these algorithms on the unchanged running kernel. */
static const char *const ours[N_OURS] = { "bbr", "bbr3" };
static struct loaded stock[N_OURS];

static const char *member_name(int type, unsigned i)
{
	const struct btf_type *t = btf__type_by_id(made_kernel, type);

	assert_true(i < btf_vlen(t));
	return btf__name_by_offset(made_kernel, btf_members(t)[i].name_off);
}

static bool is_in(int value, const int *list)
{
	for (; *list; list++)
		if (*list == value)
			return true;
	return false;
}

#define POISON 0xbad2310 /* libbpf makes a read of a missing member a call to this */

/*
 * Number of instructions in which two loads of the same programs differ. Each differs by an offset
 * or a constant, by one of `shifts`, a list that ends with 0; or it reads a member that the first
 * kernel does not have. (Instructions that load the address of a map are skipped: they contain its
 * file descriptor.)
 */
static int shifted(const struct loaded *from, const struct loaded *to, const int *shifts)
{
	int n = 0;

	assert_int_equal(from->n, to->n);
	for (unsigned p = 0; p < to->n; p++) {
		const struct loaded_program *was = &from->programs[p], *is = &to->programs[p];

		assert_string_equal(is->name, was->name);
		assert_int_equal(is->n, was->n);
		for (unsigned i = 0; i < is->n; i++) {
			struct bpf_insn a = was->insns[i], b = is->insns[i];
			int shift = (b.off - a.off) + (b.imm - a.imm);

			if (a.code == (BPF_LD | BPF_DW | BPF_IMM)) {
				i++;
				continue;
			}
			if (a.code == (BPF_JMP | BPF_CALL) && a.imm == POISON) {
				n += !!memcmp(&a, &b, sizeof(a));
				continue;
			}
			assert_int_equal(a.code, b.code);
			assert_true(a.off == b.off || a.imm == b.imm);
			if (!shift)
				continue;
			if (!is_in(shift, shifts))
				fail_msg("%s: instruction %u is other by %d", is->name, i, shift);
			n++;
		}
	}
	return n;
}

static __u32 place_in_value(const char *callback)
{
	int type = btf__find_by_name(made_kernel, TCP_OPS_VALUE);
	char path[64];
	__u32 at;

	snprintf(path, sizeof(path), "data.%s", callback);
	assert_int_equal(btf_member_offset(made_kernel, type, path, &at), 0);
	return at;
}

/* Each program is the callback of its name, both for the verifier and in what is registered. */
static void check_callbacks(struct bpf_object *obj, enum change changes)
{
	int type = btf__find_by_name(made_kernel, "tcp_congestion_ops");
	struct ops ops;

	assert_int_equal(ops_make(&ops, obj, "made", true), 0);
	assert_int_equal(loaded.n, 9);
	for (unsigned i = 0; i < loaded.n; i++) {
		const struct loaded_program *p = &loaded.programs[i];
		const char *callback = p->name;
		__u64 fd;

		if (changes & WHOLE_BURSTS && !strcmp(callback, "min_tso_segs"))
			callback = "tso_segs";
		assert_int_equal(p->of_type, type);
		assert_string_equal(member_name(type, p->callback), callback);
		memcpy(&fd, ops_value + place_in_value(callback), sizeof(fd));
		assert_int_equal(fd,
				 bpf_program__fd(bpf_object__find_program_by_name(obj, p->name)));
	}
	ops_free(&ops);
}

/* Loads an object that bbrctl contains into the made kernel. */
static void load(const char *algorithm, enum change changes)
{
	struct object obj;

	assert_int_equal(object_open(NULL, algorithm_find(algorithm), &obj), EXIT_DONE);
	assert_int_equal(object_load(&obj), EXIT_DONE);
	check_callbacks(obj.bpf, changes);
	object_close(&obj);
}

static int load_stock(void **state)
{
	(void)state;
	if (!make_kernel(0))
		return -1;
	for (int i = 0; i < N_OURS; i++) {
		load(ours[i], 0);
		move_loaded(&stock[i], &loaded);
	}
	return 0;
}

/* Loads all with these changes: `least` to `most` instructions differ from the stock loads. */
static void check_load(enum change changes, const int *shifts, int least, int most)
{
	assert_true(make_kernel(changes));
	for (int i = 0; i < N_OURS; i++) {
		forget_loaded(&loaded);
		load(ours[i], changes);
		assert_in_range(shifted(&stock[i], &loaded, shifts), least, most);
	}
}

#define SHIFTS(...) ((const int[]){ __VA_ARGS__, 0 })
#define ANY 100000

/* All of struct tcp_sock comes after the state, so it is shifted. */
static void the_state_may_be_larger(void **state)
{
	(void)state;
	check_load(LARGER_STATE, SHIFTS(STATE_GROWTH), 100, ANY);
}

static void the_socket_may_be_larger(void **state)
{
	(void)state;
	check_load(LARGER_SOCKET, SHIFTS(64), 100, ANY);
}

/*
 * Shifts after prior_lost, after tx_in_flight and lost, and after is_acking_tlp_retrans_seq. And
 * version 3 learns that the members exist.
 */
static void the_rate_sample_may_be_larger(void **state)
{
	(void)state;
	check_load(LARGER_SAMPLE, SHIFTS(8, 16, 17, 1), 20, ANY);
}

/*
 * Two constants in each copy of least_burst(): min_tso_segs does not exist, tso_segs does. It is
 * copied into min_tso_segs, into the restart after nothing was in flight, and into what handles
 * rare bursts.
 */
static void kernels_may_request_whole_bursts(void **state)
{
	(void)state;
	assert_true(make_kernel(WHOLE_BURSTS));
	for (int i = 0; i < N_OURS; i++) {
		forget_loaded(&loaded);
		load(ours[i], WHOLE_BURSTS);
		assert_int_equal(shifted(&stock[i], &loaded, SHIFTS(1, -1)), 2 * 3);
	}
}

static void all_may_be_at_once(void **state)
{
	(void)state;
	check_load(ALL_CHANGES, SHIFTS(STATE_GROWTH + 64, 8, 16, 17, 1, -1), 122, ANY);
}

/*
 * Programs that look at sockets from outside. bbrctl does not contain them, so they are files in
 * build/.
 */
static const char *const outside[] = { "snapshot_bbr.bpf.o", "snapshot_bbr3.bpf.o",
				       "probe_bbr.bpf.o", "probe_bbr3.bpf.o" };

static void load_file(const char *name)
{
	char exe[PATH_MAX] = "", path[2 * PATH_MAX];
	struct bpf_object *obj;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	snprintf(path, sizeof(path), "%s/../../%s", dirname(exe), name);
	obj = bpf_object__open(path);
	assert_non_null(obj);
	assert_int_equal(bpf_object__load(obj), 0);
	bpf_object__close(obj);
}

/* The 8 is the shift of what comes after skb_marked_lost in tcp_congestion_ops. */
static void sockets_can_be_seen_from_outside(void **state)
{
	struct loaded before[ARRAY_SIZE(outside)];

	(void)state;
	assert_true(make_kernel(OWN_BBR));
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		forget_loaded(&loaded);
		load_file(outside[i]);
		assert_in_range(loaded.n, 2, 8);
		move_loaded(&before[i], &loaded);
	}
	assert_true(make_kernel(ALL_CHANGES));
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		load_file(outside[i]);
		assert_in_range(
			shifted(&before[i], &loaded, SHIFTS(STATE_GROWTH + 64, STATE_GROWTH, 8)),
			20, ANY);
		forget_loaded(&loaded);
		forget_loaded(&before[i]);
	}
}

/* Number of instructions that read what the kernel does not have. */
static int poisoned(const struct loaded *l)
{
	int n = 0;

	for (unsigned p = 0; p < l->n; p++)
		for (unsigned i = 0; i < l->programs[p].n; i++) {
			const struct bpf_insn *insn = &l->programs[p].insns[i];

			n += insn->code == (BPF_JMP | BPF_CALL) && insn->imm == POISON;
		}
	return n;
}

#define HALVES 2
#define COPIES 3

/*
 * The programs that record the callbacks of the kernel's own version 3 find each member that they
 * read.
 */
static void callbacks_can_be_recorded(void **state)
{
	static const enum change needed[] = { LARGER_STATE, LARGER_SOCKET, LARGER_SAMPLE };
	static const char programs[] = "oracle/record_bbr3.bpf.o";

	(void)state;
	assert_true(make_kernel(ALL_CHANGES));
	forget_loaded(&loaded);
	load_file(programs);
	assert_int_equal(loaded.n, ARRAY_SIZE(own_functions) * HALVES * COPIES);
	assert_int_equal(poisoned(&loaded), 0);
	libbpf_set_print(NULL); /* it would report what is missing */
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		assert_true(make_kernel(ALL_CHANGES & ~needed[i]));
		forget_loaded(&loaded);
		load_file(programs);
		assert_true(poisoned(&loaded));
	}
}

/* A kernel whose types are only struct bbr, with this member. */
static void make_bbr_with(const char *member)
{
	int id;

	begin_kernel();
	id = btf__add_int(made_kernel, "unsigned int", 4, 0);
	btf__add_struct(made_kernel, "bbr", 8);
	btf__add_field(made_kernel, "min_rtt_us", id, 0, 0);
	btf__add_field(made_kernel, member, id, 32, 0);
}

/* bbrmon tells the version of the kernel's own BBR by its struct bbr. */
static void version_3_is_not_read_as_version_1(void **state)
{
	const struct algorithm *found = NULL;

	(void)state;
	assert_true(make_kernel(OWN_BBR));
	assert_int_equal(kernel_bbr_find(&found), 0);
	assert_string_equal(found->name, "bbr3");
	assert_true(make_kernel(ALL_CHANGES));
	assert_int_equal(kernel_bbr_find(&found), 0);
	assert_string_equal(found->name, "bbr3");
	make_bbr_with("inflight_hi"); /* version 2 */
	assert_int_equal(kernel_bbr_find(&found), -EPROTONOSUPPORT);
	make_bbr_with("lt_bw");
	assert_int_equal(kernel_bbr_find(&found), 0);
	assert_string_equal(found->name, "bbr");
}

static int forget_all(void **state)
{
	(void)state;
	forget_loaded(&loaded);
	for (int i = 0; i < N_OURS; i++)
		forget_loaded(&stock[i]);
	forget_kernel();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_state_may_be_larger),
		cmocka_unit_test(the_socket_may_be_larger),
		cmocka_unit_test(the_rate_sample_may_be_larger),
		cmocka_unit_test(kernels_may_request_whole_bursts),
		cmocka_unit_test(all_may_be_at_once),
		cmocka_unit_test(sockets_can_be_seen_from_outside),
		cmocka_unit_test(callbacks_can_be_recorded),
		cmocka_unit_test(version_3_is_not_read_as_version_1),
	};

	return cmocka_run_group_tests(tests, load_stock, forget_all);
}
