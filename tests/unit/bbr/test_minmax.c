/* SPDX-License-Identifier: GPL-2.0-only */
/* The windowed maximum. All tests: a window of 10, so its quarter is 2 and its half 5. */
#include "fixture.h"

#define WIN 10

static struct minmax filter(u32 t0, u32 v0, u32 t1, u32 v1, u32 t2, u32 v2)
{
	return (struct minmax){ .s = { { t0, v0 }, { t1, v1 }, { t2, v2 } } };
}

static void assert_filter(const struct minmax *m, u32 t0, u32 v0, u32 t1, u32 v1, u32 t2, u32 v2)
{
	assert_int_equal(m->s[0].t, t0);
	assert_int_equal(m->s[0].v, v0);
	assert_int_equal(m->s[1].t, t1);
	assert_int_equal(m->s[1].v, v1);
	assert_int_equal(m->s[2].t, t2);
	assert_int_equal(m->s[2].v, v2);
	assert_int_equal(minmax_get(m), v0);
}

static void reset_fills_all_places(void **state)
{
	struct minmax m = filter(1, 2, 3, 4, 5, 6);

	(void)state;
	minmax_reset(&m, 7, 8);
	assert_filter(&m, 7, 8, 7, 8, 7, 8);
}

static void a_new_maximum_forgets_the_rest(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 103, 51);
	assert_filter(&m, 103, 51, 103, 51, 103, 51);
}

static void an_equal_maximum_is_a_new_one(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 103, 50);
	assert_filter(&m, 103, 50, 103, 50, 103, 50);
}

static void a_sample_above_the_second_takes_two_places(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 103, 49);
	assert_filter(&m, 100, 50, 103, 49, 103, 49);
}

static void a_sample_equal_to_the_second_takes_two_places(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 103, 40);
	assert_filter(&m, 100, 50, 103, 40, 103, 40);
}

static void a_sample_above_the_third_takes_its_place(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 103, 39);
	assert_filter(&m, 100, 50, 101, 40, 103, 39);
	m = filter(100, 50, 101, 40, 102, 30);
	minmax_running_max(&m, WIN, 103, 30);
	assert_filter(&m, 100, 50, 101, 40, 103, 30);
}

static void a_sample_below_all_changes_nothing(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 103, 29);
	assert_filter(&m, 100, 50, 101, 40, 102, 30);
}

static void the_maximum_holds_for_the_whole_window(void **state)
{
	struct minmax m = filter(100, 50, 104, 40, 107, 30);

	(void)state;
	minmax_running_max(&m, WIN, 110, 5);
	assert_filter(&m, 100, 50, 104, 40, 107, 30);
}

static void the_second_follows_when_the_window_has_passed(void **state)
{
	struct minmax m = filter(100, 50, 104, 40, 107, 30);

	(void)state;
	minmax_running_max(&m, WIN, 111, 5);
	assert_filter(&m, 104, 40, 107, 30, 111, 5);
}

static void the_third_follows_when_the_second_is_too_old_as_well(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 107, 30);

	(void)state;
	minmax_running_max(&m, WIN, 111, 5); /* the second is 10 old: still good */
	assert_filter(&m, 101, 40, 107, 30, 111, 5);
	m = filter(100, 50, 101, 40, 107, 30);
	minmax_running_max(&m, WIN, 112, 5);
	assert_filter(&m, 107, 30, 112, 5, 112, 5);
}

static void nothing_is_kept_of_an_empty_window(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 113, 5);
	assert_filter(&m, 113, 5, 113, 5, 113, 5);
}

/* The third is just inside the window, so it becomes the maximum. */
static void the_third_keeps_the_window_from_being_empty(void **state)
{
	struct minmax m = filter(100, 50, 101, 40, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 112, 5);
	assert_filter(&m, 102, 30, 112, 5, 112, 5);
}

static void after_a_quarter_the_second_is_renewed(void **state)
{
	struct minmax m = filter(100, 50, 100, 50, 100, 50);

	(void)state;
	minmax_running_max(&m, WIN, 102, 5);
	assert_filter(&m, 100, 50, 100, 50, 100, 50);
	minmax_running_max(&m, WIN, 103, 5);
	assert_filter(&m, 100, 50, 103, 5, 103, 5);
}

static void after_half_the_third_is_renewed(void **state)
{
	struct minmax m = filter(100, 50, 103, 40, 103, 40);

	(void)state;
	minmax_running_max(&m, WIN, 105, 5);
	assert_filter(&m, 100, 50, 103, 40, 103, 40);
	minmax_running_max(&m, WIN, 106, 5);
	assert_filter(&m, 100, 50, 103, 40, 106, 5);
}

static void places_of_different_times_are_not_renewed(void **state)
{
	struct minmax m = filter(100, 50, 103, 40, 104, 30);

	(void)state;
	minmax_running_max(&m, WIN, 108, 5);
	assert_filter(&m, 100, 50, 103, 40, 104, 30);
}

static void an_old_second_is_renewed_with_the_third(void **state)
{
	struct minmax m = filter(100, 50, 100, 45, 102, 30);

	(void)state;
	minmax_running_max(&m, WIN, 103, 5);
	assert_filter(&m, 100, 50, 103, 5, 103, 5);
}

static void a_quarter_and_a_half_are_of_the_window(void **state)
{
	struct minmax m = filter(100, 50, 100, 50, 100, 50);

	(void)state;
	minmax_running_max(&m, 20, 105, 5);
	assert_filter(&m, 100, 50, 100, 50, 100, 50);
	minmax_running_max(&m, 20, 106, 5);
	assert_filter(&m, 100, 50, 106, 5, 106, 5);
	minmax_running_max(&m, 20, 110, 4);
	assert_filter(&m, 100, 50, 106, 5, 106, 5);
	minmax_running_max(&m, 20, 111, 4);
	assert_filter(&m, 100, 50, 106, 5, 111, 4);
}

/* 0xfffffffb is 10 before 5. */
static void time_wraps_around(void **state)
{
	struct minmax m = filter(0xfffffffb, 50, 0xffffffff, 40, 2, 30);

	(void)state;
	minmax_running_max(&m, WIN, 5, 1);
	assert_filter(&m, 0xfffffffb, 50, 0xffffffff, 40, 2, 30);
	minmax_running_max(&m, WIN, 6, 1);
	assert_filter(&m, 0xffffffff, 40, 2, 30, 6, 1);
}

/*
 * All states of three rising times in a window, at all ages: a lower sample leaves a settled filter
 * unchanged, and only that.
 */
TEST(a_settled_filter_does_not_change)
{
	u32 count = 0;

	(void)state;

	for (u32 win = 2; win <= 12; win++)
		for (u32 t = 0; t < 2 * win + 3; t++)
			for (u32 t1 = 0; t1 <= t; t1++)
				for (u32 t2 = t1; t2 <= t; t2++) {
					struct minmax m = { { { ~0u - 3, 30 },
							      { ~0u - 3 + t1, 20 },
							      { ~0u - 3 + t2, 10 } } };
					struct minmax was = m;
					bool settled = minmax_is_settled(&m, win, ~0u - 3 + t);

					minmax_running_max(&m, win, ~0u - 3 + t, 9);
					assert_int_equal(settled, !memcmp(&m, &was, sizeof(m)));
					count += settled;
				}
	assert_true(count > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reset_fills_all_places),
		cmocka_unit_test(a_new_maximum_forgets_the_rest),
		cmocka_unit_test(an_equal_maximum_is_a_new_one),
		cmocka_unit_test(a_sample_above_the_second_takes_two_places),
		cmocka_unit_test(a_sample_equal_to_the_second_takes_two_places),
		cmocka_unit_test(a_sample_above_the_third_takes_its_place),
		cmocka_unit_test(a_sample_below_all_changes_nothing),
		cmocka_unit_test(the_maximum_holds_for_the_whole_window),
		cmocka_unit_test(the_second_follows_when_the_window_has_passed),
		cmocka_unit_test(the_third_follows_when_the_second_is_too_old_as_well),
		cmocka_unit_test(nothing_is_kept_of_an_empty_window),
		cmocka_unit_test(the_third_keeps_the_window_from_being_empty),
		cmocka_unit_test(after_a_quarter_the_second_is_renewed),
		cmocka_unit_test(after_half_the_third_is_renewed),
		cmocka_unit_test(places_of_different_times_are_not_renewed),
		cmocka_unit_test(time_wraps_around),
		cmocka_unit_test(an_old_second_is_renewed_with_the_third),
		cmocka_unit_test(a_quarter_and_a_half_are_of_the_window),
		cmocka_unit_test(a_settled_filter_does_not_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
