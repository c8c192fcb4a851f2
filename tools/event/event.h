/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events as they come out of a ring: checked, named, and printed.
 */
#ifndef TOOLS_EVENT_H
#define TOOLS_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/events.h"
#include "descriptor.h"
#include "origin.h"

#define EVENT_UNLIMITED (~0ull) /* pacing_rate: none set */
#define MODE_TEXT_LEN 64 /* room for mode and phase */

enum event_error {
	EVENT_OK,
	EVENT_SHORT, /* not a record of ours */
	EVENT_OTHER_MAJOR,
};

/*
 * Can we read this record? Its tail may have any length: that of another algorithm, or of a later
 * minor.
 */
enum event_error event_check(const void *record, size_t size);

/*
 * Copies a checked record into a whole event: zeros follow a shorter tail, and what a longer record
 * has beyond the event is cut off.
 */
void event_copy(struct bbr_event *e, const void *record);

/* Names; "unknown" for what a later minor may have added. */
const char *event_kind_name(unsigned int kind);
const char *event_ca_name(unsigned int ca_state);
const char *mode_name(const struct algorithm *a, unsigned int mode);
const char *reason_name(const struct algorithm *a, unsigned int reason);

/* The mode and, if it has phases, the phase: "PROBE_BW/3". */
void mode_text(char *buf, size_t size, const struct algorithm *a, const struct bbr_event *e);

#define N_CA_STATES 5
extern const char *const ca_state_names[N_CA_STATES]; /* enum tcp_ca_state of linux/tcp.h */

/* Does an event of this kind have `from` and `to`? */
bool event_has_steps(const struct bbr_event *e);
/* Does it have `reason`, why a mode was entered? */
bool event_has_reason(const struct bbr_event *e);
/* The name of event->to or ->from, which are modes or congestion states. */
const char *event_step_name(const struct algorithm *a, const struct bbr_event *e, bool to);
/* The phase of that mode; NULL if it has none, or the event does not tell. */
const char *event_step_phase(const struct algorithm *a, const struct bbr_event *e, bool to);
/* Both: "PROBE_BW/CRUISE". */
void event_step_text(char *buf, size_t size, const struct algorithm *a, const struct bbr_event *e,
		     bool to);

struct text_style {
	__u64 start_ns; /* times are printed from there */
	bool colour;
};

/* Prints the state, as a part of a line that begins as in ss(8). */
void event_print_state(FILE *out, bool colour, const struct algorithm *a,
		       const struct bbr_event *e);

struct json;

/* Adds the members of an event. */
void event_add_json(struct json *j, const struct origin *origin, const struct bbr_event *e);

/* Both print one line. */
void event_print_text(FILE *out, const struct text_style *style, const struct origin *origin,
		      const struct bbr_event *e);
void event_print_json(FILE *out, const struct origin *origin, const struct bbr_event *e);

#endif
