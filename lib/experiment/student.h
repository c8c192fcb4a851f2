/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Student's t distribution, with any real number of degrees of freedom.
 */
#ifndef LIB_STUDENT_H
#define LIB_STUDENT_H

/* The chance that t is below a value; df > 0. */
double student_cdf(double t, double df);

/* The value that t is below with chance p, 0 < p < 1. */
double student_quantile(double p, double df);

#endif
