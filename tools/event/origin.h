/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an event comes from: an instance of bpf_bbr, or the kernel's own bbr.
 */
#ifndef TOOLS_ORIGIN_H
#define TOOLS_ORIGIN_H

#include <stdbool.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/events.h"
#include "bpf_bbr/profiles.h"

struct algorithm;
struct instance;

struct origin {
	char name[BBR_NAME_LEN]; /* of the congestion control */
	/* Unlike the name, never reused while a source is open: an upgrade gets another. */
	__u32 id;
	const struct algorithm *algorithm; /* what its events contain and mean; never NULL */
	bool is_kernel; /* the kernel's own bbr: its events have less, see BBR_F_KERNEL */
	/* Names of BBR_PROFILES profiles, which may change at any time; NULL: not known. */
	const char (*profiles)[BBR_PROFILE_NAME_LEN];
};

/* What the kernel's own bbr is called, whichever version it is. */
#define KERNEL_BBR "bbr"

/* Returns false to get no more events for now. */
typedef bool (*event_handler)(void *ctx, const struct origin *origin, const struct bbr_event *e);

/* The name of the event's profile; NULL if it is not known. Valid until the next call. */
const char *origin_profile(const struct origin *origin, const struct bbr_event *e);

/* Prints why an instance that is not supported can be no origin: "NAME: result: why". */
void origin_refuse(const struct instance *inst, const char *result);

#endif
