/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Formats values of metrics for people.
 */
#ifndef LIB_METRIC_TEXT_H
#define LIB_METRIC_TEXT_H

#include <stddef.h>

#include "metric.h"

#define METRIC_TEXT_LEN 32

/* "94.5Mbit/s", "12.3ms", "0.52%", "0.031". */
void metric_format(char *buf, size_t size, enum metric_unit unit, double value);

/* The same for a difference; a share is in "pp", percentage points. */
void metric_format_amount(char *buf, size_t size, enum metric_unit unit, double value);
/* With its sign. */
void metric_format_difference(char *buf, size_t size, enum metric_unit unit, double value);

#endif
