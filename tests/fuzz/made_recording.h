/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recordings from a fuzzer's input. A chunk of them gets a correct head and correct checksums, which
 * chance would never find.
 */
#ifndef FUZZ_MADE_RECORDING_H
#define FUZZ_MADE_RECORDING_H

#include <endian.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>

#include "fuzz.h"
#include "recording/format.h"

#define MAX_FILE (64 << 10)

/* A file with these bytes. */
static inline int file_of(const void *data, size_t size)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(write(fd, data, size) == (ssize_t)size);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* Gives descriptions of algorithms the right checksum. */
static inline void mend_checksums(__u8 *records, size_t size)
{
	size_t at = 0, record;
	bool bad;

	while ((record = recording_record_size(records + at, size - at, &bad))) {
		__u8 *type = records + at, *end = records + at + record;

		while (*type++ & 0x80)
			;
		if (*type == RECORDING_ALGORITHM && end - type > 5) {
			__u32 crc = htole32(crc32(0, type + 5, end - type - 5));

			memcpy(type + 1, &crc, sizeof(crc));
		}
		at += record;
	}
}

/* Writes a chunk with these records, which it changes. Returns its size. */
static inline size_t write_chunk(struct recording_head *head, __u8 *records, size_t size, __u8 *to,
				 size_t room)
{
	z_stream z = {};

	CHECK(!deflateInit2(&z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY));
	mend_checksums(records, size);
	z.next_in = records;
	z.avail_in = size;
	z.next_out = to + RECORDING_HEAD;
	z.avail_out = room - RECORDING_HEAD;
	CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	head->size = z.total_out;
	head->raw_size = size;
	head->crc = crc32(0, to + RECORDING_HEAD, head->size);
	recording_head_write(head, to);
	deflateEnd(&z);
	return RECORDING_HEAD + head->size;
}

#endif
