/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An algorithm and what its events consist of, as bytes and back.
 *
 * A string is a varint, its length, and so many bytes: letters, digits, blanks and the marks of description.c. A list
 * is a varint, the number of its elements, and these. A description is
 *
 *	string	name of the algorithm
 *	string	name that an instance gets if none is given
 *	string	title
 *	list	of members, the integers that an event consists of, in the order in which events are coded:
 *		byte	bits 0 to 3: width in bytes, 1, 2, 4 or 8; 4: every event has it, whatever the algorithm;
 *			5: it is an address or a port
 *		string	its name; empty: bytes of the tail that no field shows
 *		varint	only of those that not every event has: its offset in the tail
 *	list	of modes: string, list of strings, which are its phases
 *	list	of strings, the reasons why a mode is entered
 *	list	of fields, which are what is shown, in the order of JSON:
 *		varint	size of what follows in bytes; a later minor may have more behind it
 *		string	key
 *		varint	its member's place in the list above, from 0
 *		varint	unit, enum field_unit
 *		varint	mask
 *		varint	how many values mean "not known", 0 or 1
 *		varint	that value, if there is one
 *		varint	flags without any of which it is not known
 *		list	of strings, the names of its values
 *		string	how text shows it; empty: it does not
 *		varint	its place there, enum text_order
 *		string	key of the field on whose value it depends whether text shows it; empty: it always does
 *		varint	that value, or more
 *		varint	lane of a plot, enum field_lane
 *		string	its name there; empty: it has none
 */
#ifndef TOOLS_RECORDING_DESCRIPTION_H
#define TOOLS_RECORDING_DESCRIPTION_H

#include "layout.h"

/* Writes at most DESCRIPTION_MAX bytes, and says how many; 0: it needs more, or has what a description cannot have. */
size_t description_write(const struct layout *l, __u8 *to);

/* Fills members, algorithm, size and memory; there is room for LAYOUT_MEMBERS. False: it is no description. */
bool description_read(struct layout *l, const __u8 *from, size_t size);

/* The memory of an algorithm that was read; NULL: nothing. */
void description_free(void *memory);

#endif
