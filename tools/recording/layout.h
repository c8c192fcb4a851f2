/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the events of one algorithm consist of, in the order in which a recording has it, and how a recording says so.
 * There is one layout for each algorithm that the tools know, and one for each other description that was read. They
 * and their algorithms live as long as the process: what was read is shown after its file was closed.
 */
#ifndef TOOLS_RECORDING_LAYOUT_H
#define TOOLS_RECORDING_LAYOUT_H

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
	__u64 words; /* which 8 bytes of the event it lies in, a bit each; not in the file */
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

/* The member of every event of this name; NULL: there is none. */
const struct member *layout_common(const char *name);

/* The layout of an algorithm's events. NULL: there is no memory. */
const struct layout *layout_of(const struct algorithm *algorithm);

/* The layout that has this id. NULL: there is none. */
const struct layout *layout_find(__u32 id);

/* The layout that is described so. NULL: it is no description, or there were too many. */
const struct layout *layout_read(const __u8 *description, size_t size);

/* Forgets all layouts that were read. */
void layout_forget(void);

#endif
