/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ORACLE_BATCH_H
#define ORACLE_BATCH_H

#define BATCH 1024 /* callbacks passed to the BPF program at once */

#endif
