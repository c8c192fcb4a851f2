/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A metric of an arm against the same metric of arm 0.
 *
 * All comes from one test: is the metric of arm 1 `factor` times that of arm 0, plus `shift`? An interval is what it does not
 * reject.
 *
 * - Of means (and ratios of sums) it compares the means, of quantiles the shares of connections below the quantile of both
 *   arms together, as Mood's test of medians does; so it needs no estimate of a density.
 * - The variance is that of the linearised difference, summed by unit, so that it covers what connections of one unit have in
 *   common, also if a unit has connections in both arms; corrected for few and large units as CR2 of Bell and McCaffrey
 *   (Survey Methodology 28, 2002) for a mean.
 * - With few units this is itself uncertain, and small by chance in an arm where something rare happened to nobody. So it is
 *   drawn towards what the draw of the arms would make if the arms were equal (Neyman 1923; the variance of the permutation
 *   test), the more the fewer units there are: as Smyth (Statistical Applications in Genetics and Molecular Biology 3,
 *   2004) moderates variances.
 * - If all connections of a unit have the same arm, and units are few or of very different size, no known distribution is that
 *   of the test. It is found by drawing the arms again (Chung and Romano, Annals of Statistics 41, 2013).
 */
#ifndef LIB_CONTRAST_H
#define LIB_CONTRAST_H

#include "observation.h"

/* An arm's sums over what was drawn: connections, or units. */
struct contrast_sums {
	double value2, value_of, of2;
};

struct contrast_arm {
	struct observations all; /* of a quantile sorted by value */
	__u32 units;
	double estimate;
	double of; /* sum */
	double variance; /* of a mean, by unit */
	struct contrast_sums sums;
};

struct contrast {
	struct contrast_arm arm[2]; /* arm 0, and the one that is compared with it */
	const struct metric *metric;
	enum rows_unit by;
	bool draws_units; /* all connections of a unit have the same arm */
	__u32 n_units;
	double covariance; /* of both means */
	double effective_units; /* so many of equal size would know as much */
	double effective; /* the same of draws: of units, or of connections */
	struct contrast_part *parts; /* n_units of arm 0, then those of the other */
};

/*
 * Of the rows of an arm and arm 0, of one size class or SIZE_ALL. false: no memory. Where one of the arms has no
 * observation, nothing else is known. To be freed in any case; until then the rows' units stay.
 */
bool contrast_init(struct contrast *c, const struct metric *metric, const struct rows *rows,
		   const struct rows_units *units, const struct experiment *e, int arm,
		   int size_class);
void contrast_free(struct contrast *c);

/*
 * The test: so many standard errors is the arm's metric above factor * that of arm 0 + shift. 0 if nothing can be said,
 * as both are the same in all connections.
 */
double contrast_test(const struct contrast *c, double factor, double shift);

/*
 * So many standard errors are not passed by the test with a chance of `level` if the arms of the units are drawn again, and the
 * arms are equal. Infinite: no memory.
 */
double contrast_drawn_errors(const struct contrast *c, __u32 seed, double level);

/* The shifts (of factor 1) that so many standard errors do not reject. false: too few connections for this quantile. */
bool contrast_interval(const struct contrast *c, double errors, double *low, double *high);

#endif
