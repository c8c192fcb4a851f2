/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The values of an event, by the table of its algorithm's fields (lib/descriptor.h) and by that of
 * the fields that every event has.
 */
#ifndef TOOLS_FIELD_H
#define TOOLS_FIELD_H

#include "descriptor.h"

/* Fields of the rate sample and the socket, in the order of JSON, after the algorithm's. */
extern const struct field common_fields[];
extern const size_t n_common_fields;

/* One of the algorithm's fields, or a common one; NULL: there is none of this key. */
const struct field *field_find(const struct algorithm *a, const char *key);

/* The same, looked up only if the algorithm is another one than the last time. */
struct field_of {
	const char *key;
	const struct algorithm *algorithm;
	unsigned int forgotten; /* when it was looked up */
	const struct field *field;
};

const struct field *field_of(struct field_of *f, const struct algorithm *a);

/* For tests that free algorithms: their addresses may become those of others. */
void field_forget(void);
void text_plan_forget(void); /* how event_print_text() shows them */

/*
 * The value in the unit that is shown: bandwidths and rates in bits per second, a flag as 0 or 1, a
 * name as its index, everything else as the event has it. False: not known. If the event is too
 * short to have the field, it is not known.
 */
bool field_value(const struct field *f, const struct bbr_event *e, __u64 *value);

/* True if both events have the same value, or it is not known in both. */
bool field_is_same(const struct field *f, const struct bbr_event *a, const struct bbr_event *b);

/* True if it is in the algorithm's own part of an event, not in the model that every BBR has. */
bool field_is_own(const struct field *f);

/* The algorithm's i-th field that has a finding, from 0; NULL: it has no more of them. */
const struct field *finding_field(const struct algorithm *a, unsigned int i);

/* True if the connection is in the state that is this field's finding. */
bool finding_is_made(const struct field *f, const struct bbr_event *e);

/* True if the value is a rate in bits per second. */
bool field_is_rate(const struct field *f);

/* The name of a FIELD_NAME's value; "unknown" for what a later minor may have added. */
const char *field_name_of(const struct field *f, __u64 value);

/*
 * Formats a known value as text shows it: "94.5Mbps", "1.5ms", "2.885", "sampling". A flag is "0"
 * or "1".
 */
void field_text(char *buf, size_t size, const struct field *f, __u64 value);

struct json;

/* Adds the field as a member; null if it is not known. */
void field_add_json(struct json *j, const struct field *f, const struct bbr_event *e);

/*
 * What a user can name: the fields and modes of the algorithms that were compiled in and, with a
 * recording, of those that it describes.
 */
struct known {
	const char *recording; /* NULL: none */
	/* The i-th algorithm that only the recording describes; NULL: it has no more. */
	const struct algorithm *(*described)(const char *recording, size_t i);
};

/*
 * The i-th of all these algorithms, those compiled in first; NULL: there are no more. Without a
 * struct known there is no recording.
 */
const struct algorithm *known_algorithm(const struct known *k, size_t i);

/* A field of any of them, or one that every event has; NULL: there is none of this key. */
const struct field *known_field(const struct known *k, const char *key);

/* Names that would have been right, for a message. */
struct name_list {
	char text[4096];
	size_t len;
};

/* Adds a name if it is not in the list yet: algorithms have some in common. */
void name_list_add(struct name_list *list, const char *name);
void name_list_add_fields(struct name_list *list, const struct known *k);
/* Prints the list as what to do about an error. */
void name_list_print(const struct name_list *list);
/*
 * The same for a word that is none of them: asks before whether the first name that begins with it
 * was meant. Returns false.
 */
bool name_list_refuse(const struct name_list *list, const char *word, const char *what_to_do);

#endif
