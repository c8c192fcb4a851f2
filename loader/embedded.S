/* SPDX-License-Identifier: GPL-2.0-only */
/* What bbrctl carries along. */
#include "carry.inc"

	carry bbr_object, BBR_OBJECT
	carry migrate_object, MIGRATE_OBJECT
	carry attach_object, ATTACH_OBJECT
	carry bbr_profiles, "loader/profiles.ini"
