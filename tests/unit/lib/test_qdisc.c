/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which devices have a queue, and of which kind, by the kernel's answers: those here are made up,
 * the last ones cut or wrong.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "kernel/qdisc.h"

/* The answer, as several parts that recv() gives one after the other. */
static char parts[8][4096] __attribute__((aligned(NLMSG_ALIGNTO)));
static size_t sizes[8];
static int n_parts, next_part, gone_device, odd_device;
static int refuse_send, refuse_recv;
static bool was_asked;

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	const struct nlmsghdr *head = data;

	(void)fd;
	(void)flags;
	assert_int_equal(head->nlmsg_len, size);
	was_asked = head->nlmsg_type == RTM_GETQDISC && head->nlmsg_flags & NLM_F_DUMP;
	errno = refuse_send;
	return refuse_send ? -1 : (ssize_t)size;
}

ssize_t recv(int fd, void *to, size_t size, int flags)
{
	(void)fd;
	(void)flags;
	errno = refuse_recv;
	if (refuse_recv)
		return -1;
	assert_true(next_part < n_parts);
	assert_in_range(sizes[next_part], 0, size);
	memcpy(to, parts[next_part], sizes[next_part]);
	return sizes[next_part++];
}

char *if_indextoname(unsigned int index, char name[IF_NAMESIZE])
{
	if ((int)index == gone_device)
		return NULL;
	sprintf(name, (int)index == odd_device ? "a;id$(id)" : "dev%u", index);
	return name;
}

static int begin(void **state)
{
	(void)state;
	memset(parts, 0, sizeof(parts));
	memset(sizes, 0, sizeof(sizes));
	n_parts = 1;
	next_part = refuse_send = refuse_recv = gone_device = odd_device = 0;
	was_asked = false;
	return 0;
}

static void *add(__u16 type, size_t len)
{
	int i = n_parts - 1;
	struct nlmsghdr *head = (void *)(parts[i] + sizes[i]);

	head->nlmsg_type = type;
	head->nlmsg_len = NLMSG_LENGTH(len);
	sizes[i] += NLMSG_ALIGN(head->nlmsg_len);
	assert_true(sizes[i] <= sizeof(parts[i]));
	return NLMSG_DATA(head);
}

static struct tcmsg *add_qdisc(int device, __u32 parent, __u32 handle, const char *kind)
{
	struct {
		struct tcmsg tc;
		struct rtattr attribute;
		char kind[16];
	} *q = add(RTM_NEWQDISC, sizeof(*q));

	q->tc = (struct tcmsg){ .tcm_ifindex = device, .tcm_parent = parent, .tcm_handle = handle };
	q->attribute.rta_type = TCA_KIND;
	q->attribute.rta_len = RTA_LENGTH(strlen(kind) + 1);
	strcpy(q->kind, kind);
	return &q->tc;
}

static void add_root(int device, const char *kind)
{
	add_qdisc(device, TC_H_ROOT, device << 16, kind);
}

/* Expects "device kind" of each, joined by commas. */
static void expect(const char *devices)
{
	struct device_qdisc *list;
	char found[512] = "";
	int n;

	add(NLMSG_DONE, 4);
	n = qdiscs_list(&list);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++)
		sprintf(found + strlen(found), "%s%s %s", i ? ", " : "", list[i].device,
			list[i].kind);
	qdiscs_free(list, n);
	assert_string_equal(found, devices);
	assert_true(was_asked);
}

static void expect_error(int error)
{
	struct device_qdisc *list = (void *)1;

	assert_int_equal(qdiscs_list(&list), error);
	assert_null(list);
}

static void no_device_has_a_queue(void **state)
{
	(void)state;
	add_root(1, "noqueue");
	expect("");
}

static void the_root_of_each_device(void **state)
{
	(void)state;
	add_root(1, "noqueue");
	add_root(2, "fq");
	add_root(3, "htb");
	add_qdisc(3, 0x30001, 0x40000, "fq"); /* below htb's class: not the device's */
	add_qdisc(3, TC_H_INGRESS, 0xffff0000, "ingress");
	add_root(4, "fq_codel");
	expect("dev2 fq, dev3 htb, dev4 fq_codel");
}

/* All queues must be fq, or the device is told as what it has besides. */
static void each_queue_below_mq(void **state)
{
	(void)state;
	add_qdisc(2, TC_H_ROOT, 0x80010000, "mq");
	add_qdisc(2, 0x80010001, 0, "fq");
	add_qdisc(2, 0x80010002, 0, "fq");
	add_qdisc(3, TC_H_ROOT, 0x80020000, "mqprio");
	add_qdisc(3, 0x80020001, 0, "fq");
	add_qdisc(3, 0x80020002, 0, "pfifo_fast");
	add_qdisc(3, 0x80020003, 0, "fq_codel");
	add_qdisc(3, 0x80020004, 0, "fq");
	add_qdisc(4, TC_H_ROOT, 0x80030000, "mq");
	add_qdisc(4, 0x80030001, 0, "noqueue");
	add_qdisc(5, 0x80030001, 0, "fq"); /* of no mq of its own */
	expect("dev2 fq, dev3 pfifo_fast");
}

/* Expects the advice for the only device, or none. */
static void expect_advice(const char *expected)
{
	struct device_qdisc *list;
	char *advice;

	add(NLMSG_DONE, 4);
	assert_int_equal(qdiscs_list(&list), 1);
	advice = qdisc_advice(&list[0]);
	if (expected)
		assert_string_equal(advice, expected);
	else
		assert_null(advice);
	free(advice);
	qdiscs_free(list, 1);
}

static void advice_for_a_single_queue(void **state)
{
	(void)state;
	add_root(2, "pfifo_fast");
	expect_advice("tc qdisc replace dev dev2 root fq");
}

/* A device may have any name without blanks, colons and slashes. */
static void the_name_of_a_device_is_one_word_of_the_advice(void **state)
{
	(void)state;
	odd_device = 2;
	add_qdisc(2, TC_H_ROOT, 0, "mq");
	add_qdisc(2, 1, 0, "pfifo_fast");
	expect_advice("tc qdisc replace dev 'a;id$(id)' root handle 1: mq; for q in 1; do tc qdisc "
		      "replace dev 'a;id$(id)' parent 1:$q fq; done");
}

static void no_advice_where_fq_is_or_would_take_a_choice_away(void **state)
{
	static const char *const chosen[] = { "fq", "htb", "tbf", "cake", "netem", "hfsc", "prio" };

	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
		begin(state);
		add_root(2, chosen[i]);
		expect_advice(NULL);
	}
}

/* mq stays: fq replaces its queues. tc(8) counts them in hexadecimal. */
static void advice_for_each_queue_below_mq(void **state)
{
	(void)state;
	add_qdisc(2, TC_H_ROOT, 0x80010000, "mq");
	for (int queue = 11; queue; queue--)
		add_qdisc(2, 0x80010000 | queue, 0,
			  queue == 2 ? "fq" :
			  queue == 3 ? "cake" :
				       "fq_codel");
	expect_advice("for q in 1 4 5 6 7 8 9 a b; do tc qdisc replace dev dev2 parent 8001:$q fq; "
		      "done");
}

/* The kernel's own mq has no handle by which its queues could be named. */
static void advice_for_an_mq_without_a_handle(void **state)
{
	(void)state;
	add_qdisc(2, TC_H_ROOT, 0, "mq");
	add_qdisc(2, 2, 0, "pfifo_fast");
	add_qdisc(2, 1, 0, "pfifo_fast");
	expect_advice("tc qdisc replace dev dev2 root handle 1: mq; for q in 1 2; do tc qdisc "
		      "replace dev dev2 parent 1:$q fq; done");
}

static void no_advice_for_an_mq_of_chosen_queues(void **state)
{
	(void)state;
	add_qdisc(2, TC_H_ROOT, 0x10000, "mq");
	add_qdisc(2, 0x10001, 0, "fq");
	add_qdisc(2, 0x10002, 0, "cake");
	expect_advice(NULL);
}

/* An fq with what it was told and what it has counted. */
static void add_fq(int device, __u32 parent, __u32 handle, __u32 flow_limit, __u32 flow_drops)
{
	struct {
		struct tcmsg tc;
		struct rtattr kind;
		char name[4];
		struct rtattr options, limit;
		__u32 limit_is;
		struct rtattr flow_limit;
		__u32 flow_limit_is;
		struct rtattr stats, basic;
		struct gnet_stats_basic basic_is;
		struct rtattr queue;
		struct gnet_stats_queue queue_is;
		struct rtattr own;
		__u32 own_is[2 * 5]; /* older kernels have fewer counters */
	} __attribute__((packed, aligned(4))) *q = add(RTM_NEWQDISC, sizeof(*q));

#define ATTRIBUTE(type, size) ((struct rtattr){ .rta_len = RTA_LENGTH(size), .rta_type = type })
	q->tc = (struct tcmsg){ .tcm_ifindex = device, .tcm_parent = parent, .tcm_handle = handle };
	q->kind = ATTRIBUTE(TCA_KIND, 3);
	strcpy(q->name, "fq");
	q->options = ATTRIBUTE(TCA_OPTIONS | NLA_F_NESTED, 16);
	q->limit = ATTRIBUTE(TCA_FQ_PLIMIT, 4);
	q->limit_is = 10000;
	q->flow_limit = ATTRIBUTE(TCA_FQ_FLOW_PLIMIT, 4);
	q->flow_limit_is = flow_limit;
	q->stats = ATTRIBUTE(TCA_STATS2, sizeof(*q) - offsetof(typeof(*q), basic));
	q->basic = ATTRIBUTE(TCA_STATS_BASIC, sizeof(q->basic_is));
	q->basic_is.packets = 1000;
	q->queue = ATTRIBUTE(TCA_STATS_QUEUE, sizeof(q->queue_is));
	q->queue_is.drops = flow_drops + 1;
	q->own = ATTRIBUTE(TCA_STATS_APP, sizeof(q->own_is));
	q->own_is[2 * 4] = flow_drops;
#undef ATTRIBUTE
}

/* Expects the sums of all fq of the only device, and the command that raises their flow_limit. */
static void expect_fq(unsigned int n, __u64 packets, __u64 drops, __u64 flow_drops,
		      const char *advice)
{
	struct device_qdisc *list;
	char *found;

	add(NLMSG_DONE, 4);
	assert_int_equal(qdiscs_list(&list), 1);
	assert_int_equal(list[0].index, 2);
	assert_int_equal(list[0].fq.n, n);
	assert_int_equal(list[0].fq.limit, n ? 10000 : 0);
	assert_int_equal(list[0].fq.flow_limit, n ? 100 : 0);
	assert_int_equal(list[0].fq.packets, packets);
	assert_int_equal(list[0].fq.drops, drops);
	assert_int_equal(list[0].fq.flow_drops, flow_drops);
	found = qdisc_flow_limit_advice(&list[0], 1000);
	if (advice)
		assert_string_equal(found, advice);
	else
		assert_null(found);
	free(found);
	qdiscs_free(list, 1);
}

static void what_fq_has_dropped(void **state)
{
	(void)state;
	add_fq(2, TC_H_ROOT, 0x10000, 100, 7);
	expect_fq(1, 1000, 8, 7, "tc qdisc change dev dev2 root fq flow_limit 1000");
}

static void what_all_fq_below_mq_have_dropped(void **state)
{
	(void)state;
	add_qdisc(2, TC_H_ROOT, 0x80010000, "mq");
	add_qdisc(2, 0x80010003, 0, "fq_codel");
	add_fq(2, 0x80010002, 0, 100, 7);
	add_fq(2, 0x80010001, 0, 100, 0);
	expect_fq(2, 2000, 9, 7,
		  "for q in $(tc qdisc show dev dev2 | sed -n 's/^qdisc fq .* parent "
		  "\\([0-9a-f:]*\\) .*/\\1/p'); do tc qdisc change dev dev2 parent $q fq "
		  "flow_limit 1000; done");
	begin(state);
	add_qdisc(2, TC_H_ROOT, 0, "mq");
	add_fq(2, 1, 0, 100, 7);
	expect_fq(1, 1000, 8, 7, NULL);
}

/* An fq that says nothing of itself has counted nothing. */
static void an_fq_without_counts(void **state)
{
	struct device_qdisc *list;

	(void)state;
	add_root(2, "fq");
	add(NLMSG_DONE, 4);
	assert_int_equal(qdiscs_list(&list), 1);
	assert_int_equal(list[0].fq.n, 1);
	assert_int_equal(list[0].fq.packets, 0);
	qdiscs_free(list, 1);
}

static void an_answer_in_several_parts(void **state)
{
	(void)state;
	for (int i = 0; i < 7; i++) {
		for (int k = 1; k <= 10; k++)
			add_root(10 * i + k, k == 5 ? "fq" : "noqueue");
		n_parts++;
	}
	expect("dev5 fq, dev15 fq, dev25 fq, dev35 fq, dev45 fq, dev55 fq, dev65 fq");
	assert_int_equal(next_part, 8);
}

static void a_device_that_went_meanwhile(void **state)
{
	(void)state;
	add_root(1, "fq");
	add_root(2, "fq");
	gone_device = 1;
	expect("dev2 fq");
}

static void messages_without_a_kind(void **state)
{
	(void)state;
	add(RTM_NEWQDISC, sizeof(struct tcmsg)); /* no attributes */
	/* An attribute that is longer than the message. */
	((struct rtattr *)(add_qdisc(2, TC_H_ROOT, 0, "fq") + 1))->rta_len = 1000;
	add(RTM_NEWLINK, 16);
	add_root(3, "a_very_long_kin"); /* 15 characters */
	expect("dev3 a_very_long_kin");
}

static void what_the_kernel_refuses(void **state)
{
	(void)state;
	((struct nlmsgerr *)add(NLMSG_ERROR, sizeof(struct nlmsgerr)))->error = -EOPNOTSUPP;
	expect_error(-EOPNOTSUPP);
	refuse_recv = ENOBUFS;
	expect_error(-ENOBUFS);
	refuse_send = EPERM;
	expect_error(-EPERM);
}

/* What was read before is freed; the sanitizer would tell. */
static void an_error_after_some_devices(void **state)
{
	(void)state;
	add_root(2, "fq");
	((struct nlmsgerr *)add(NLMSG_ERROR, sizeof(struct nlmsgerr)))->error = -EINTR;
	expect_error(-EINTR);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_device_has_a_queue),
		TEST(the_root_of_each_device),
		TEST(advice_for_a_single_queue),
		TEST(the_name_of_a_device_is_one_word_of_the_advice),
		TEST(no_advice_where_fq_is_or_would_take_a_choice_away),
		TEST(advice_for_each_queue_below_mq),
		TEST(advice_for_an_mq_without_a_handle),
		TEST(no_advice_for_an_mq_of_chosen_queues),
		TEST(each_queue_below_mq),
		TEST(what_fq_has_dropped),
		TEST(what_all_fq_below_mq_have_dropped),
		TEST(an_fq_without_counts),
		TEST(an_answer_in_several_parts),
		TEST(a_device_that_went_meanwhile),
		TEST(messages_without_a_kind),
		TEST(what_the_kernel_refuses),
		TEST(an_error_after_some_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
