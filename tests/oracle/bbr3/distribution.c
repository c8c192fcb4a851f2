// SPDX-License-Identifier: GPL-2.0-only
#include "distribution.h"

#include <stdio.h>
#include <stdlib.h>

#define NEAR_PERCENT 2

void distribution_add(struct distribution *d, __u32 estimate, __u32 truth)
{
	long long error = (long long)(__s32)(estimate - truth), size = llabs(error);

	d->n++;
	d->exact += !error;
	d->within += 100 * size <= NEAR_PERCENT * (long long)truth;
	if (d->in_permille && size)
		size = truth ? (1000 * size + truth - 1) / truth : ERROR_MAX; /* away from 0 */
	if (size > ERROR_MAX)
		size = ERROR_MAX;
	d->by[ERROR_MAX + (error < 0 ? -size : size)]++;
}

/* This many of 1000 errors are at most the returned value. 1000: all of them. */
static int quantile(const struct distribution *d, unsigned int permille)
{
	__u64 sum = 0, most = (d->n * permille + 999) / 1000;
	int i = 0;

	for (; i < 2 * ERROR_MAX; i++) {
		sum += d->by[i];
		if (sum && sum >= most)
			break;
	}
	return i - ERROR_MAX;
}

static double percent(__u64 part, __u64 of)
{
	return of ? 100.0 * part / of : 100;
}

void distribution_print(const struct distribution *d, bool as_json)
{
	double unit = d->in_permille ? 10 : 1; /* unit of the output: percent, packets */

	if (as_json)
		printf("\"%s\":{\"samples\":%llu,\"exact_percent\":%.3f,\"within_2_percent\":%.3f,"
		       "\"least\":%g,\"p0.5\":%g,\"p99.5\":%g,\"most\":%g}",
		       d->name, d->n, percent(d->exact, d->n), percent(d->within, d->n),
		       quantile(d, 0) / unit, quantile(d, 5) / unit, quantile(d, 995) / unit,
		       quantile(d, 1000) / unit);
	else
		printf("%-26s%8llu %8.2f %8.2f %8g %8g %8g %8g %s\n", d->name, d->n,
		       percent(d->exact, d->n), percent(d->within, d->n), quantile(d, 0) / unit,
		       quantile(d, 5) / unit, quantile(d, 995) / unit, quantile(d, 1000) / unit,
		       d->in_permille ? "%" : "packets");
}

void decision_add(struct decision *d, bool estimate, bool truth)
{
	d->n++;
	d->yes += truth;
	d->missed += truth && !estimate;
	d->wrong += estimate && !truth;
}

void decision_print(const struct decision *d, bool as_json)
{
	if (as_json)
		printf("\"%s\":{\"asked\":%llu,\"yes\":%llu,\"missed\":%llu,\"wrong\":%llu}",
		       d->name, d->n, d->yes, d->missed, d->wrong);
	else
		printf("%-26s%8llu %8llu %8llu %8llu %8.3f\n", d->name, d->n, d->yes, d->missed,
		       d->wrong, percent(d->missed + d->wrong, d->n));
}
