/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compares a metric of an arm with the same metric of arm 0.
 *
 * Everything comes from one test: is the metric of arm 1 `factor` times that of arm 0, plus
 * `shift`? An interval holds the shifts that it does not reject.
 *
 * - For means (and ratios of sums) it compares the means. For quantiles it compares the shares of
 *   connections below the quantile of both arms together, like Mood's test of medians, so it needs
 *   no estimate of a density. Ties are spread over their cells (observation.h): the share is the
 *   mean of what is below of each connection, so it changes steadily with the shift, and it is the
 *   quantile's in both arms where the shift is the difference of both quantiles. So the interval
 *   contains the difference, however many values are tied.
 * - The variance is that of the linearised difference, summed by unit. So it covers what the
 *   connections of one unit have in common, even if a unit has connections in both arms. It is
 *   corrected for few and large units like CR2 of Bell and McCaffrey (Survey Methodology 28, 2002)
 *   for a mean.
 * - With few units this variance is itself uncertain, and small by chance in an arm where something
 *   rare never happened. So it is drawn towards the variance that the draw of the arms would cause
 *   if the arms were equal (Neyman 1923; the variance of the permutation test), the more so the
 *   fewer units there are, as Smyth (Statistical Applications in Genetics and Molecular Biology 3,
 *   2004) moderates variances.
 * - It is not below what one connection more or less in each arm makes: the values of each arm may all
 *   be equal, which is no proof that the next one is.
 * - If all connections of a unit have the same arm, and units are few or differ much in size, the
 *   test follows no known distribution. Its distribution is found by drawing the arms again (Chung
 *   and Romano, Annals of Statistics 41, 2013).
 */
#ifndef EXPERIMENT_CONTRAST_H
#define EXPERIMENT_CONTRAST_H

#include "observation.h"

/* An arm's sums over what was drawn: connections, or units. */
struct contrast_sums {
	double value2, value_of, of2;
};

struct contrast_arm {
	struct observations all;
	struct distribution distribution; /* of `all`, for a quantile */
	__u32 units;
	double estimate;
	double of; /* sum */
	double variance; /* for a mean only, by unit */
	struct contrast_sums sums;
	struct contrast_part *parts; /* by unit */
};

struct contrast {
	struct contrast_arm arm[2]; /* arm 0, and the one that is compared with it */
	const struct metric *metric;
	double least, most; /* of the values of both arms */
	enum rows_unit by;
	bool draws_units; /* all connections of a unit have the same arm */
	__u32 n_units;
	double covariance; /* of both means */
	double effective_units; /* this many units of equal size would tell as much */
	double effective_others; /* the units beside the largest; does not depend on the draw */
	double effective; /* the same for what was drawn: units, or connections */
};

/*
 * Prepares the comparison of an arm's rows with those of arm 0, of one size class or SIZE_ALL. If one
 * of the arms has no observation, nothing else is known.
 */
void contrast_init(struct contrast *c, const struct metric *metric, const struct rows *rows,
		   const struct rows_units *units, int arm, int size_class);
void contrast_free(struct contrast *c);

/*
 * The test: by how many standard errors the arm's metric is above factor * that of arm 0 + shift. 0
 * if nothing can be said, because both are the same in all connections.
 */
double contrast_test(const struct contrast *c, double factor, double shift);

/*
 * How many standard errors the test stays within, with a chance of `level`, if the arms are equal
 * and the units' arms are drawn again.
 */
double contrast_drawn_errors(const struct contrast *c, __u32 seed, double level);

/* 0 in place of what rounding makes of 0, beside values of this size. */
double without_rounding(double value, double size);

#define BISECTIONS 64 /* of what falls or rises steadily */

#endif
