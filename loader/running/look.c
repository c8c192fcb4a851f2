// SPDX-License-Identifier: GPL-2.0-only
#include "cli/err.h"
#include "experiment/outcome.h"
#include "experiment/row.h"
#include "running/look.h"

/* false: no memory */
static bool collect(const struct experiment_handle *h, struct rows *rows, __u64 *ended)
{
	const struct experiment *e = &h->config;
	__u64 n = h->control->outcomes, number = n > e->outcomes ? n - e->outcomes : 0;
	struct experiment_outcome o;
	struct row row;

	while (++number <= n) {
		if (outcome_read(h->outcomes, e->outcomes, number, &o) != OUTCOME_READ ||
		    o.end == EXPERIMENT_OPEN || o.arm >= e->arms ||
		    o.begin < h->control->step_since)
			continue;
		*ended += o.arm == e->arms - 1;
		row_from_outcome(&row, e, &o);
		if (!rows_add(rows, &row))
			return false;
	}
	return true;
}

/* false: no memory */
static bool judge(const struct experiment *e, struct rows *rows, struct look *look)
{
	struct rows_units units;

	if (!rows_find_units(rows, e, &units))
		return false;
	for (int i = 0; i < look->guards; i++)
		if (!guard_judge(&look->result[i], &look->guard[i], rows, &units, e, e->arms - 1,
				 guard_level(e)))
			return false;
	return true;
}

int look_take(const struct experiment_handle *h, struct look *look)
{
	const struct experiment *e = &h->config;
	struct rows rows = {};
	bool done;

	*look = (struct look){};
	for (; look->guards < EXPERIMENT_GUARDS && e->guard[look->guards][0]; look->guards++)
		if (!guard_parse("--guard", e->guard[look->guards], &look->guard[look->guards]))
			return EXIT_REFUSED;
	done = collect(h, &rows, &look->ended) && judge(e, &rows, look);
	rows_free(&rows);
	if (!done)
		err("%s: out of memory", e->name);
	return done ? EXIT_DONE : EXIT_REFUSED;
}

int look_failed(const struct look *look)
{
	for (int i = 0; i < look->guards; i++)
		if (look->result[i].verdict == GUARD_FAILED)
			return i;
	return -1;
}

void look_format(const struct look *look, int guard, char buf[LOOK_TEXT_LEN])
{
	guard_text(buf, LOOK_TEXT_LEN, &look->guard[guard], &look->result[guard]);
}
