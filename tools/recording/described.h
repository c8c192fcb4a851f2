/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The algorithms that a recording describes, and that these tools may not know.
 */
#ifndef TOOLS_RECORDING_DESCRIBED_H
#define TOOLS_RECORDING_DESCRIBED_H

#include "descriptor.h"

/*
 * For struct known. Reads the whole file when it is first asked for it: an algorithm may come late.
 * A pipe can be read only once, so of a pipe it has what was read so far.
 */
const struct algorithm *recording_described(const char *file, size_t i);

#endif
