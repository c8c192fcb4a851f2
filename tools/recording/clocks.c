// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "clocks.h"

struct run_clock {
	__u64 id;
	__u8 boot_id[16];
	__s64 epoch_ns;
};

static bool is_of_same_boot(const struct run_clock *clock, const struct recording_run *run)
{
	static const __u8 unknown[sizeof(run->boot_id)];

	return !memcmp(clock->boot_id, run->boot_id, sizeof(clock->boot_id)) &&
	       memcmp(run->boot_id, unknown, sizeof(unknown));
}

/*
 * The run's offset, or that of an earlier run of the same boot if it is higher. The offset rises,
 * and is used, if the machine slept or the clock was set forward; it falls if the clock was set
 * back.
 */
static __s64 epoch_of(const struct run_clocks *c, const struct recording_run *run)
{
	__s64 epoch_ns = run->epoch_ns;

	for (unsigned int i = 0; i < c->n; i++)
		if (is_of_same_boot(&c->all[i], run) && c->all[i].epoch_ns > epoch_ns)
			epoch_ns = c->all[i].epoch_ns;
	return epoch_ns;
}

static const struct run_clock *find_or_add(struct run_clocks *c, const struct recording_run *run)
{
	struct run_clock *grown, *added;

	for (unsigned int i = c->n; i-- > 0;)
		if (c->all[i].id == run->id)
			return &c->all[i];
	grown = realloc(c->all, (c->n + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	c->all = grown;
	added = &c->all[c->n];
	added->id = run->id;
	memcpy(added->boot_id, run->boot_id, sizeof(added->boot_id));
	added->epoch_ns = epoch_of(c, run);
	c->n++;
	return added;
}

bool run_clocks_date(struct run_clocks *c, const struct recording_run *run, __u64 *time_ns)
{
	const struct run_clock *clock = find_or_add(c, run);

	if (clock)
		*time_ns += clock->epoch_ns;
	return clock;
}

void run_clocks_free(struct run_clocks *c)
{
	free(c->all);
}
