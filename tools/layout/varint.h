/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of recordings: format.h says how they are coded.
 */
#ifndef TOOLS_RECORDING_VARINT_H
#define TOOLS_RECORDING_VARINT_H

#include <stdbool.h>

#include <linux/types.h>

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

#endif
