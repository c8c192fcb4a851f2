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
#include "bpf_bbr/profiles.h"
#include "descriptor.h"

struct instance;

/* Where an event comes from: an instance of bpf_bbr, or the kernel's own bbr. */
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

#define EVENT_UNLIMITED (~0ull) /* pacing_rate: none set */
#define MODE_TEXT_LEN 64 /* room for mode and phase */

enum event_error {
	EVENT_OK,
	EVENT_SHORT, /* not a record of ours */
	EVENT_OTHER_MAJOR,
};

/*
 * Checks that we can read this record. Its tail may have any length: that of another algorithm, or
 * of a later minor.
 */
enum event_error event_check(const void *record, size_t size);

/* The size that a record says it has, in bytes. The record may be at any address. */
size_t event_size_of(const void *record);

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

/* Appends as much of the text as there is room for to the n bytes in buf. Returns the new n. */
size_t text_append(char *buf, size_t size, size_t n, const char *text);

/* The mode and, if it has phases, the phase: "PROBE_BW/3". */
void mode_text(char *buf, size_t size, const struct algorithm *a, const struct bbr_event *e);

#define N_CA_STATES 5
extern const char *const ca_state_names[N_CA_STATES]; /* enum tcp_ca_state of linux/tcp.h */

/* True if an event of this kind has `from` and `to`. */
bool event_has_steps(const struct bbr_event *e);
/* True if it has `reason`, why the connection entered the mode. */
bool event_has_reason(const struct bbr_event *e);
/* The name of event->to or ->from, and its phase if the event tells: "PROBE_BW/CRUISE". */
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

/*
 * Adds the members of an event. With the connection's event of the line before, it has of the members
 * that every event has only those that differ, and the first five; NULL: it has all.
 */
void event_add_json(struct json *j, const struct origin *origin, const struct bbr_event *before,
		    const struct bbr_event *e);

/* Both print one line. */
void event_print_text(FILE *out, const struct text_style *style, const struct origin *origin,
		      const struct bbr_event *e);
void event_print_json(FILE *out, const struct origin *origin, const struct bbr_event *before,
		      const struct bbr_event *e);

/*
 * Values that follow from an event. Nothing else computes them.
 */
/*
 * True if there is BBR state. The stack reports losses of the SYN before that: gains are 0 then,
 * and never later.
 */
bool event_has_state(const struct bbr_event *e);

/* One of the event's bandwidths, in bits per second. */
__u64 event_bps(const struct bbr_event *e, __u32 bw);

/* The same in bytes per second, and not rounded. */
double event_bytes_per_s(const struct bbr_event *e, __u32 bw);

bool event_has_rate(const struct bbr_event *e);
/* The delivery rate sample in bits per second, if there is one. */
__u64 event_delivery_bps(const struct bbr_event *e);

/* In bits per second; NAN: there is none. */
double event_pacing_bps(const struct bbr_event *e);

/* The rate in bits per second since since_ns, when event.delivered was `since`. */
double event_delivered_bps(const struct bbr_event *e, __u32 since, __u64 since_ns);

/* Bandwidth-delay product in packets, and in thousandths of them; 0: not known. */
__u32 event_bdp(const struct bbr_event *e);
__u64 event_bdp_milli(const struct bbr_event *e);

/* Packets in flight before or after the ACK, whichever is more. */
__u32 event_inflight(const struct bbr_event *e);

#endif
