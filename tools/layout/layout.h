/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The members that the events of one algorithm consist of, in the order of a recording.
 */
#ifndef TOOLS_LAYOUT_H
#define TOOLS_LAYOUT_H

#include <stdbool.h>

#include <linux/types.h>

#include "descriptor.h"

/*
 * Numbers of recordings: format.h says how they are coded.
 */
#define VARINT_MAX 10 /* bytes of one */

/* What is left to read. */
struct cursor {
	const __u8 *p, *end;
};

static inline __u8 *put_varint(__u8 *to, __u64 value)
{
	while (value >= 0x80) {
		*to++ = value | 0x80;
		value >>= 7;
	}
	*to++ = value;
	return to;
}

static inline bool get_varint(struct cursor *in, __u64 *value)
{
	*value = 0;
	for (int shift = 0; shift < 64 && in->p < in->end; shift += 7) {
		__u8 byte = *in->p++;

		*value |= (__u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static inline __u8 *put_difference(__u8 *to, __s64 value)
{
	return put_varint(to, (__u64)value << 1 ^ (value < 0 ? ~0ull : 0));
}

static inline bool get_difference(struct cursor *in, __u64 *value)
{
	__u64 coded;

	if (!get_varint(in, &coded))
		return false;
	*value = coded >> 1 ^ (coded & 1 ? ~0ull : 0);
	return true;
}

#define LAYOUT_MEMBERS 512 /* at most */
#define LAYOUT_ROOM 512 /* bytes of an event, with members that struct bbr_event has no place for */
#define DESCRIPTION_MAX (32 << 10) /* bytes */

struct member {
	const char *name; /* empty: bytes of the tail that no field of the algorithm has */
	__u16 offset; /* in struct bbr_event, or behind it */
	__u8 width; /* bytes: 1, 2, 4 or 8 */
	bool is_common; /* every event has it; the others are in the tail */
	bool is_net; /* in network byte order */
	__u64 words; /* 8-byte words of the event that it lies in, a bit each; not in the file */
};

struct layout {
	struct layout *next;
	const struct algorithm *algorithm;
	struct member *members;
	__u16 n_members;
	__u16 size; /* bytes of an event in use */
	__u8 *description; /* as in a file */
	size_t description_size;
	__u32 id; /* CRC-32 of the description */
	bool is_read; /* from a file */
	void *memory; /* of an algorithm that was read */
};

/*
 * An event, followed by members that struct bbr_event has no place for. event.size is the size of
 * its tail.
 */
union recording_event {
	struct bbr_event event;
	__u8 bytes[LAYOUT_ROOM];
	__u64 words[LAYOUT_ROOM / 8];
};

/* The number of the member that the field shows; n_members: there is none. */
unsigned int layout_member_of(const struct layout *l, const struct field *f);

/* The member of this name that every event has; NULL: there is none. */
const struct member *layout_common(const char *name);

/*
 * All layouts: one for each algorithm that the tools know, and one for each other description that
 * was read. They and their algorithms live as long as the process, as events that were read are
 * shown after their file was closed; only tests call layout_forget().
 */
/* The layout of an algorithm's events. NULL: it cannot be described. */
const struct layout *layout_of(const struct algorithm *algorithm);

/* The layout that has this id. NULL: there is none. */
const struct layout *layout_find(__u32 id);

/* The layout with this description. NULL: not a description, or there is no room for another one. */
#define LAYOUTS_READ_MAX 64
const struct layout *layout_read(const __u8 *description, size_t size);
bool layout_is_full(void);

/* The i-th algorithm that was read, the latest one first; NULL: there are no more. */
const struct algorithm *layout_described(size_t i);

/* Forgets all layouts that were read. */
void layout_forget(void);

/*
 * Converts an algorithm, and what its events consist of, to bytes and back.
 *
 * A string is a varint, its length, and that many bytes: letters, digits, blanks and the marks in
 * description.c. A list is a varint, the number of its elements, and then the elements. A
 * description is
 *
 *	string	name of the algorithm
 *	string	name that an instance gets if none is given
 *	string	title
 *	list	of members, the integers that an event consists of, in the order in which events
 *		are coded:
 *		byte	bits 0 to 3: width in bytes, 1, 2, 4 or 8; 4: every event has it, whatever
 *			the algorithm; 5: it is an address or a port
 *		string	its name; empty: bytes of the tail that no field shows
 *		varint	only of a member that not every event has: its offset in the tail
 *	list	of modes: string, its name; list of strings, its phases
 *	list	of strings, the reasons why a mode is entered
 *	list	of fields, the values that are shown, in the order of JSON:
 *		varint	size of what follows in bytes; a later minor may append more
 *		string	key
 *		varint	place of its member in the list above, from 0
 *		varint	unit, enum field_unit
 *		varint	mask
 *		varint	how many values mean "not known", 0 or 1
 *		varint	that value, if there is one
 *		varint	flags: in an event that has none of them it is not known; 0: always known
 *		list	of strings, the names of its values
 *		string	how text shows it; empty: it does not
 *		varint	its place there, enum text_order
 *		string	key of the field whose value decides if text shows it; empty: it always does
 *		varint	the least value with which it does
 *		varint	lane of a plot, enum field_lane
 *		string	its name there; empty: it has none
 */

/*
 * Writes at most DESCRIPTION_MAX bytes, and returns how many. 0: it needs more, or has what a
 * description cannot have.
 */
size_t description_write(struct layout *l, __u8 *to);

/*
 * Fills members, algorithm, size and memory; members has room for LAYOUT_MEMBERS. False: it is not
 * a description.
 */
bool description_read(struct layout *l, const __u8 *from, size_t size);

/* Frees the memory of an algorithm that was read. NULL: does nothing. */
void description_free(void *memory);

#endif
