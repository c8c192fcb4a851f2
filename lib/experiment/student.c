// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "student.h"

#define ENOUGH 1e-15 /* of a step, relative to what it changes */
#define MAX_STEPS 10000
#define BISECTIONS 200

/*
 * The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated by Lentz's
 * method as modified by Thompson and Barnett (1986). Converges fast for x < (a + 1) / (a + b + 2).
 */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / d;
	f = d;
	for (int m = 1; m < MAX_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		f *= c * d;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		f *= c * d;
		if (fabs(c * d - 1) < ENOUGH)
			break;
	}
	return f;
}

/* The regularised incomplete beta function I_x(a, b); y is 1 - x, without its rounding. */
static double incomplete_beta(double a, double b, double x, double y)
{
	double front;

	if (x <= 0 || y <= 0)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, y) / b;
}

/* DLMF 8.17.20 with the transformation of Abramowitz and Stegun 26.7.1. */
double student_cdf(double t, double df)
{
	double sum = df + t * t;
	double tails = incomplete_beta(df / 2, 0.5, df / sum, t * t / sum);

	return t > 0 ? 1 - tails / 2 : tails / 2;
}

double student_quantile(double p, double df)
{
	double low, high = 1;

	if (p < 0.5)
		return -student_quantile(1 - p, df);
	while (student_cdf(high, df) < p)
		high *= 2;
	low = high == 1 ? 0 : high / 2;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (middle <= low || middle >= high)
			break;
		if (student_cdf(middle, df) < p)
			low = middle;
		else
			high = middle;
	}
	return high;
}
