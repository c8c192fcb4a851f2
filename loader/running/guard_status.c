// SPDX-License-Identifier: GPL-2.0-only
#include "cli/err.h"
#include "experiment/outcome.h"
#include "experiment/row.h"
#include "running/guard_status.h"

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
static bool judge(const struct experiment *e, struct rows *rows, struct guard_status *status)
{
	struct rows_units units;

	if (!rows_find_units(rows, e, &units))
		return false;
	for (int i = 0; i < status->guards; i++)
		if (!guard_judge(&status->result[i], &status->guard[i], rows, &units, e,
				 e->arms - 1, guard_level(e)))
			return false;
	return true;
}

int guard_status_read(const struct experiment_handle *h, struct guard_status *status)
{
	const struct experiment *e = &h->config;
	struct rows rows = {};
	bool done;

	*status = (struct guard_status){};
	for (; status->guards < EXPERIMENT_GUARDS && e->guard[status->guards][0]; status->guards++)
		if (!guard_parse("--guard", e->guard[status->guards],
				 &status->guard[status->guards]))
			return EXIT_REFUSED;
	done = collect(h, &rows, &status->ended) && judge(e, &rows, status);
	rows_free(&rows);
	if (!done)
		err("%s: out of memory", e->name);
	return done ? EXIT_DONE : EXIT_REFUSED;
}

int guard_status_failed(const struct guard_status *status)
{
	for (int i = 0; i < status->guards; i++)
		if (status->result[i].verdict == GUARD_FAILED)
			return i;
	return -1;
}

void guard_status_format(const struct guard_status *status, int guard,
			 char buf[GUARD_STATUS_TEXT_LEN])
{
	guard_text(buf, GUARD_STATUS_TEXT_LEN, &status->guard[guard], &status->result[guard]);
}
