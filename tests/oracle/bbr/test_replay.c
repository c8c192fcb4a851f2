// SPDX-License-Identifier: GPL-2.0-only
/* The comparison with the kernel notices whatever differs, and the file format loses nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "mainline.h"

/* struct bbr of the kernels from 6.1 to 7.3. */
#define CURRENT_SLOT 825 /* the bit of extra_acked_win_idx */

static const struct header header = {
	.release = "0.0-test",
	.hz = 250,
	.fields = 37,
	.field = {
		{ "min_rtt_us", 0, 32 },
		{ "min_rtt_stamp", 32, 32 },
		{ "probe_rtt_done_stamp", 64, 32 },
		{ "bw", 96, 192 },
		{ "rtt_cnt", 288, 32 },
		{ "next_rtt_delivered", 320, 32 },
		{ "cycle_mstamp", 384, 64 },
		{ "mode", 448, 3 },
		{ "prev_ca_state", 451, 3 },
		{ "packet_conservation", 454, 1 },
		{ "round_start", 455, 1 },
		{ "idle_restart", 456, 1 },
		{ "probe_rtt_round_done", 457, 1 },
		{ "unused", 458, 13 },
		{ "lt_is_sampling", 471, 1 },
		{ "lt_rtt_cnt", 472, 7 },
		{ "lt_use_bw", 479, 1 },
		{ "lt_bw", 480, 32 },
		{ "lt_last_delivered", 512, 32 },
		{ "lt_last_stamp", 544, 32 },
		{ "lt_last_lost", 576, 32 },
		{ "pacing_gain", 608, 10 },
		{ "cwnd_gain", 618, 10 },
		{ "full_bw_reached", 628, 1 },
		{ "full_bw_cnt", 629, 2 },
		{ "cycle_idx", 631, 3 },
		{ "has_seen_rtt", 634, 1 },
		{ "unused_b", 635, 5 },
		{ "prior_cwnd", 640, 32 },
		{ "full_bw", 672, 32 },
		{ "ack_epoch_mstamp", 704, 64 },
		{ "extra_acked", 768, 32 },
		{ "ack_epoch_acked", 800, 20 },
		{ "extra_acked_win_rtts", 820, 5 },
		{ "extra_acked_win_idx", CURRENT_SLOT, 1 },
		{ "unused_c", 826, 6 },
		{ "unused_d", 352, 32 }, /* the hole before cycle_mstamp */
	},
};

static bool is_unused(unsigned int bit)
{
	for (unsigned int i = 0; i < header.fields; i++) {
		const struct field *f = &header.field[i];

		if (!strncmp(f->name, "unused", 6) && bit >= f->offset && bit < f->offset + f->bits)
			return true;
	}
	return false;
}

/* A callback that changes nothing, and the result of its replay. */
static void fixture(struct layout *l, struct callback *cb, struct replay *r)
{
	*cb = (struct callback){ .kind = CB_CWND_EVENT, .arg = 1, .mss = 1448 };
	cb->before.cwnd = 10;
	cb->before.pacing_rate = 1000000;
	for (int i = 0; i < CA_PRIV_SIZE; i++)
		cb->before.ca_priv[i] = 37 * i;
	/* Ours has 52 bits for cycle_mstamp. */
	cb->before.ca_priv[54] &= 0x0f;
	cb->before.ca_priv[55] = 0;
	cb->after = cb->before;
	assert_null(layout_init(l, &header));
	mainline_load(l, cb, 0, r);
	assert_int_equal(mainline_compare(l, cb, r, NULL), 0);
}

/*
 * Every bit of the kernel's state has exactly one place in ours. The bit for the current slot
 * exchanges two values.
 */
static void every_bit_of_the_state_is_compared(void **state)
{
	struct layout l;
	struct callback cb;
	struct replay r;

	(void)state;
	fixture(&l, &cb, &r);
	for (unsigned int bit = 0; bit < 8 * CA_PRIV_SIZE; bit++) {
		cb.after.ca_priv[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(mainline_compare(&l, &cb, &r, NULL),
				 is_unused(bit) ? 0 : 1 + (bit == CURRENT_SLOT));
		cb.after.ca_priv[bit / 8] ^= 1 << bit % 8;
	}
}

static void every_output_is_compared(void **state)
{
	struct layout l;
	struct callback cb, same;
	struct replay r;

	(void)state;
	fixture(&l, &cb, &r);
	same = cb;
#define NOTICES(field, bit)                                       \
	cb.after.field ^= 1ull << (bit);                          \
	assert_int_equal(mainline_compare(&l, &cb, &r, NULL), 1); \
	cb = same;
	for (int bit = 0; bit < 32; bit++) {
		NOTICES(cwnd, bit)
		NOTICES(ssthresh, bit)
		NOTICES(app_limited, bit)
		NOTICES(returned, bit)
		NOTICES(pacing_rate, bit)
		NOTICES(pacing_rate, bit + 32)
	}
#undef NOTICES
}

static const char *reported;

static void report(const char *name, __u64 kernel, __u64 ours)
{
	reported = name;
	assert_int_equal(kernel, 11);
	assert_int_equal(ours, 10);
}

static void a_difference_is_reported_by_name(void **state)
{
	struct layout l;
	struct callback cb;
	struct replay r;

	(void)state;
	fixture(&l, &cb, &r);
	cb.after.cwnd = 11;
	mainline_compare(&l, &cb, &r, report);
	assert_string_equal(reported, "cwnd");
}

/* Fields that only one side has cannot be compared: they must be reported. */
static void an_unknown_or_missing_field_is_refused(void **state)
{
	struct header h = header;
	struct layout l;

	(void)state;
	h.field[h.fields++] = (struct field){ "bbr2_something", 352, 4 };
	assert_string_equal(layout_init(&l, &h), "bbr2_something");
	h = header;
	strcpy(h.field[13].name, "mode"); /* its former name */
	strcpy(h.field[7].name, "unused");
	assert_null(layout_init(&l, &h));
	strcpy(h.field[13].name, "unused");
	assert_string_equal(layout_init(&l, &h), "mode");
}

/* The two parameters that the kernel counts in jiffies, at the usual values of HZ. */
static void clock_parameters_are_in_jiffies(void **state)
{
	(void)state;
	assert_int_equal(mainline_params(250).min_rtt_win[0], 2500);
	assert_int_equal(mainline_params(250).probe_rtt_duration[0], 50);
	assert_int_equal(mainline_params(1000).min_rtt_win[0], 10000);
	assert_int_equal(mainline_params(1000).probe_rtt_duration[0], 200);
	assert_int_equal(mainline_params(300).probe_rtt_duration[0], 60);
}

/*
 * The random number that mainline_load() derives gives the kernel's first phase in
 * bbr_enter_probe_bw().
 */
static void each_first_phase_of_probe_bw_is_met(void **state)
{
	static const u8 phases[] = { 0, 2, 3, 4, 5, 6, 7 };
	const struct bbr_params params = mainline_params(250);
	struct layout l;
	struct callback cb;
	struct replay r;

	(void)state;
	for (int i = 0; i < 7; i++) {
		fixture(&l, &cb, &r);
		cb.after.ca_priv[631 / 8] = (cb.after.ca_priv[631 / 8] & 0x7f) | phases[i] << 7;
		cb.after.ca_priv[632 / 8] = (cb.after.ca_priv[632 / 8] & 0xfc) | phases[i] >> 1;
		mainline_load(&l, &cb, 0, &r);
		r.sk.param = &params;
		bbr_enter_probe_bw(&r.b, &r.sk, BBR_R_DRAINED);
		assert_int_equal(r.b.cycle_idx, phases[i]);
	}
}

static void randomize(struct callback *cb)
{
	for (size_t i = 0; i < sizeof(*cb); i++)
		((u8 *)cb)[i] = random() % 3 ? 0 : random();
	cb->kind %= CALLBACK_KINDS;
	if (cb->kind != CB_CONG_CONTROL) {
		cb->rs_interval_us = cb->rs_rtt_us = 0;
		cb->rs_delivered = cb->rs_losses = 0;
		cb->rs_prior_delivered = cb->rs_prior_in_flight = cb->rs_acked_sacked = 0;
		memset(&cb->rs_is_app_limited, 0, 4);
	}
}

/* What is written is read back, for several sockets and any contents. */
static void a_recording_keeps_every_bit(void **state)
{
	enum {
		COUNT = 3000
	};
	static struct callback written[COUNT];
	unsigned int sockets[COUNT], socket;
	__u64 calls[CALLBACK_KINDS] = {}, found[CALLBACK_KINDS];
	char path[] = "/tmp/test_replay.XXXXXX";
	struct callback cb;
	struct stream s;
	struct header h;

	(void)state;
	close(mkstemp(path));
	srandom(1);
	stream_create(&s, path, &header, 1);
	for (int i = 0; i < COUNT; i++) {
		sockets[i] = 1 + random() % 40;
		randomize(&written[i]);
		calls[written[i].kind]++;
		stream_write(&s, sockets[i], &written[i]);
	}
	stream_finish(&s, calls);

	stream_open(&s, path, &h);
	unlink(path);
	assert_memory_equal(&h, &header, sizeof(h));
	for (int i = 0; i < COUNT; i++) {
		assert_true(stream_read(&s, &socket, &cb));
		assert_int_equal(socket, sockets[i]);
		assert_memory_equal(&cb, &written[i], sizeof(cb));
	}
	assert_false(stream_read(&s, &socket, &cb));
	stream_calls(&s, found);
	assert_memory_equal(found, calls, sizeof(calls));
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_of_the_state_is_compared),
		cmocka_unit_test(every_output_is_compared),
		cmocka_unit_test(a_difference_is_reported_by_name),
		cmocka_unit_test(an_unknown_or_missing_field_is_refused),
		cmocka_unit_test(clock_parameters_are_in_jiffies),
		cmocka_unit_test(each_first_phase_of_probe_bw_is_met),
		cmocka_unit_test(a_recording_keeps_every_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
