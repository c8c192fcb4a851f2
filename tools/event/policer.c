// SPDX-License-Identifier: GPL-2.0-only
#include "derived.h"
#include "field.h"
#include "policer.h"

enum policer event_policer(const struct algorithm *a, const struct bbr_event *e)
{
	static struct field_of policer = { .key = "policer" };
	const struct field *f = field_of(&policer, a);
	__u64 value;

	return f && field_value(f, e, &value) && value <= POLICER_DETECTED ? value : POLICER_OFF;
}

bool event_is_policed(const struct algorithm *a, const struct bbr_event *e)
{
	return event_has_state(e) && event_policer(a, e) == POLICER_DETECTED;
}
