// SPDX-License-Identifier: GPL-2.0-only
#include "derived.h"
#include "field.h"
#include "policer.h"

enum policer event_policer(const struct algorithm *a, const struct bbr_event *e)
{
	/* Events of one algorithm come in sequence: the field is looked up once for these. */
	static const struct algorithm *last;
	static const struct field *policer;
	__u64 value;

	if (a != last) {
		policer = field_find(a, "policer");
		last = a;
	}
	return policer && field_value(policer, e, &value) && value <= POLICER_DETECTED ?
		       value :
		       POLICER_OFF;
}

bool event_is_policed(const struct algorithm *a, const struct bbr_event *e)
{
	return event_has_state(e) && event_policer(a, e) == POLICER_DETECTED;
}
