/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The members that the events of one algorithm consist of, in the order of a recording.
 */
#ifndef TOOLS_LAYOUT_H
#define TOOLS_LAYOUT_H

#include "descriptor.h"

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

/* The member of this name that every event has; NULL: there is none. */
const struct member *layout_common(const char *name);

/*
 * Sets the members and the size for the layout's algorithm. False: there is no memory, or no room
 * in a layout.
 */
bool layout_fill(struct layout *l);

/*
 * All layouts: one for each algorithm that the tools know, and one for each other description that
 * was read. They and their algorithms live as long as the process, as events that were read are
 * shown after their file was closed; only tests call layout_forget().
 */
/* The layout of an algorithm's events. NULL: no memory, or it cannot be described. */
const struct layout *layout_of(const struct algorithm *algorithm);

/* The layout that has this id. NULL: there is none. */
const struct layout *layout_find(__u32 id);

/* The layout with this description. NULL: no memory, not a description, or too many were read. */
const struct layout *layout_read(const __u8 *description, size_t size);

/* The i-th algorithm that was read, the latest one first; NULL: there are no more. */
const struct algorithm *layout_described(size_t i);

/* Forgets all layouts that were read. */
void layout_forget(void);

#endif
