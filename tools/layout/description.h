/* SPDX-License-Identifier: GPL-2.0-only */
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
#ifndef TOOLS_RECORDING_DESCRIPTION_H
#define TOOLS_RECORDING_DESCRIPTION_H

#include "layout.h"

/*
 * Writes at most DESCRIPTION_MAX bytes, and returns how many. 0: it needs more, or has what a
 * description cannot have.
 */
size_t description_write(const struct layout *l, __u8 *to);

/*
 * Fills members, algorithm, size and memory; members has room for LAYOUT_MEMBERS. False: it is not
 * a description, or there is no memory.
 */
bool description_read(struct layout *l, const __u8 *from, size_t size);

/* Frees the memory of an algorithm that was read. NULL: does nothing. */
void description_free(void *memory);

#endif
