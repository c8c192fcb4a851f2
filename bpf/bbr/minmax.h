/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windowed maximum of a stream of samples in constant space: Kathleen Nichols' algorithm, as in the
 * kernel's lib/win_minmax.c. It keeps the best sample of the window, the best one after that, and
 * the best one after both. When the first becomes older than the window, the next one takes its
 * place. The second and third are renewed in the second quarter and the second half of the window,
 * so that they do not all come from its beginning.
 */
#ifndef BBR_MINMAX_H
#define BBR_MINMAX_H

#include "base/types.h"

struct minmax_sample {
	u32 t; /* when it was measured; here: in which round */
	u32 v;
};

struct minmax {
	struct minmax_sample s[3]; /* the maximum first */
};

static inline u32 minmax_get(const struct minmax *m)
{
	return m->s[0].v;
}

static inline void minmax_reset(struct minmax *m, u32 t, u32 v)
{
	struct minmax_sample sample = { .t = t, .v = v };

	m->s[0] = m->s[1] = m->s[2] = sample;
}

/* The maximum left the window: the others move up, and the new sample takes the last place. */
static inline void minmax_promote(struct minmax *m, struct minmax_sample sample)
{
	m->s[0] = m->s[1];
	m->s[1] = m->s[2];
	m->s[2] = sample;
}

/*
 * True if a sample of time t that is below all three changes none of them. It changes one if the
 * first is older than the window (their times rise, so the others are younger), or if one is due
 * for renewal, which happens only while it is as old as the one before it.
 */
static inline bool minmax_is_settled(const struct minmax *m, u32 win, u32 t)
{
	u32 age = t - m->s[0].t;

	if (age <= win / 4)
		return true;
	return age <= win && m->s[1].t != m->s[0].t && (m->s[2].t != m->s[1].t || age <= win / 2);
}

/* Adds sample v of time t to a window of length win. */
static inline void minmax_running_max(struct minmax *m, u32 win, u32 t, u32 v)
{
	struct minmax_sample sample = { .t = t, .v = v };
	u32 age;

	/* A new maximum, or all samples have left the window: start again. */
	if (v >= m->s[0].v || t - m->s[2].t > win) {
		minmax_reset(m, t, v);
		return;
	}

	if (v >= m->s[1].v)
		m->s[2] = m->s[1] = sample;
	else if (v >= m->s[2].v)
		m->s[2] = sample;

	age = t - m->s[0].t;
	if (age > win) {
		/* The second place may be too old as well; the third was checked above. */
		minmax_promote(m, sample);
		if (t - m->s[0].t > win)
			minmax_promote(m, sample);
	} else if (m->s[1].t == m->s[0].t && age > win / 4) {
		m->s[2] = m->s[1] = sample;
	} else if (m->s[2].t == m->s[1].t && age > win / 2) {
		m->s[2] = sample;
	}
}

#endif
