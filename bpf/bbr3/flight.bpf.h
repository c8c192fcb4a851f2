/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Google's stack, which some distributions build into their kernels, knows the flight of each packet. There estimate.h
 * estimates nothing: what does not apply is dead code to the verifier, as all that differs between kernels (kernel.bpf.h).
 */
#ifndef BBR_FLIGHT_BPF_H
#define BBR_FLIGHT_BPF_H

#include "kernel.bpf.h"

struct rate_sample___v3 {
	u32 tx_in_flight;
	s32 lost;
	bool is_acking_tlp_retrans_seq;
	bool is_ece;
} __attribute__((preserve_access_index));

#define RS(rs, name) (((const struct rate_sample___v3 *)(rs))->name)
#define RS_EXISTS(name) bpf_core_field_exists(((struct rate_sample___v3 *)0)->name)

/* Set before the object is loaded: estimate also where the kernel knows, to compare. */
static const volatile bool estimate_always SEC(".rodata.estimate") = false;

INPUT(bool, has_flight,
      !estimate_always && RS_EXISTS(tx_in_flight) && RS_EXISTS(lost) &&
	      RS_EXISTS(is_acking_tlp_retrans_seq) && RS_EXISTS(is_ece))

#endif
