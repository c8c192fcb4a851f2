/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files embedded in bbrctl. build/carried.inc has the objects and profiles of each algorithm.
 */
#include "carry.inc"
#include "carried.inc"

	carry migrate_object, MIGRATE_OBJECT
	carry attach_object, ATTACH_OBJECT
	carry experiment_object, EXPERIMENT_OBJECT
