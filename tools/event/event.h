/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events as they come out of a ring: checked, named, and in the units that people use.
 */
#ifndef TOOLS_EVENT_H
#define TOOLS_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/events.h"
#include "origin.h"

#define EVENT_ADDR_LEN 46 /* INET6_ADDRSTRLEN */
#define EVENT_UNLIMITED (~0ull) /* pacing_rate: none set */

enum event_error {
	EVENT_OK,
	EVENT_SHORT, /* no record of ours */
	EVENT_OTHER_MAJOR,
};

/* Is this record one that we can read? Longer ones of our major are: a later minor wrote them. */
enum event_error event_check(const void *record, size_t size);

/* Names; "unknown" for what a later minor may have added. */
const char *event_kind_name(unsigned int kind);
const char *event_mode_name(unsigned int mode);
const char *event_reason_name(unsigned int reason);
const char *event_ca_name(unsigned int ca_state);
const char *event_policer_name(const struct bbr_event *e);

/* Does the kind say from what to what? */
bool event_has_steps(const struct bbr_event *e);
/* Names of event->from or ->to, which are modes or congestion states. */
const char *event_step_name(const struct bbr_event *e, unsigned int state);

/* IPv4 without its prefix ::ffff:. */
void event_addr(char buf[EVENT_ADDR_LEN], const __u32 addr[4]);

/* Is there BBR state? The stack tells of losses of the SYN before there is: gains are 0 then, and never later. */
bool event_has_state(const struct bbr_event *e);

/* One of its bandwidths in bits per second. */
__u64 event_bps(const struct bbr_event *e, __u32 bw);
bool event_has_rate(const struct bbr_event *e);
/* The delivery rate sample in bits per second, if there is one. */
__u64 event_delivery_bps(const struct bbr_event *e);

struct text_style {
	__u64 start_ns; /* times are printed from there */
	bool colour;
};

/* What the state is, beginning as in ss(8): a part of a line. */
void event_print_state(FILE *out, bool colour, const struct bbr_event *e);

struct json_line;

/* The members of an event. */
void event_add_json(struct json_line *j, const struct origin *origin, const struct bbr_event *e);

/* One line. */
void event_print_text(FILE *out, const struct text_style *style, const struct origin *origin,
		      const struct bbr_event *e);
void event_print_json(FILE *out, const struct origin *origin, const struct bbr_event *e);

#endif
