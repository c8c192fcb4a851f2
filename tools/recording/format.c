// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "kernel/clock.h"
#include "format.h"

static void read_boot_id(__u8 id[16])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	unsigned int byte;

	for (int i = 0, c; f && i < 16; i++) {
		c = fgetc(f);
		if (c != '-')
			ungetc(c, f);
		if (fscanf(f, "%2x", &byte) != 1)
			break;
		id[i] = byte;
	}
	if (f)
		fclose(f);
}

void recording_run_init(struct recording_run *run, const struct watch_request *request)
{
	memset(run, 0, sizeof(*run));
	run->id = realtime_ns();
	run->epoch_ns = realtime_ns() - now_ns();
	run->sampling = request->sampling;
	run->interval_ns = request->interval_ns;
	read_boot_id(run->boot_id);
}

static void put16(__u8 *to, __u16 value)
{
	value = htole16(value);
	memcpy(to, &value, sizeof(value));
}

static void put32(__u8 *to, __u32 value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static void put64(__u8 *to, __u64 value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

static __u16 get16(const __u8 *from)
{
	__u16 value;

	memcpy(&value, from, sizeof(value));
	return le16toh(value);
}

static __u32 get32(const __u8 *from)
{
	__u32 value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

static __u64 get64(const __u8 *from)
{
	__u64 value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

static __u32 head_crc(const __u8 *head, size_t size)
{
	static const __u8 zeros[4];
	__u32 crc = crc32(0, head, 12);

	crc = crc32(crc, zeros, sizeof(zeros));
	return crc32(crc, head + 16, size - 16);
}

void recording_head_write(const struct recording_head *head, __u8 to[RECORDING_HEAD])
{
	memcpy(to, RECORDING_MAGIC, 8);
	to[8] = RECORDING_MAJOR;
	to[9] = RECORDING_MINOR;
	put16(to + 10, RECORDING_HEAD);
	put32(to + 16, head->size);
	put32(to + 20, head->raw_size);
	put32(to + 24, head->crc);
	put32(to + 28, head->records);
	put32(to + 32, head->events);
	put32(to + 36, head->run.sampling);
	put64(to + 40, head->run.interval_ns);
	put64(to + 48, head->first_ns);
	put64(to + 56, head->last_ns);
	put64(to + 64, head->run.epoch_ns);
	put64(to + 72, head->run.id);
	memcpy(to + 80, head->run.boot_id, 16);
	put32(to + 12, head_crc(to, RECORDING_HEAD));
}

static void read_members(struct recording_head *head, const __u8 *from)
{
	head->size = get32(from + 16);
	head->raw_size = get32(from + 20);
	head->crc = get32(from + 24);
	head->records = get32(from + 28);
	head->events = get32(from + 32);
	head->run.sampling = get32(from + 36);
	head->run.interval_ns = get64(from + 40);
	head->first_ns = get64(from + 48);
	head->last_ns = get64(from + 56);
	head->run.epoch_ns = get64(from + 64);
	head->run.id = get64(from + 72);
	memcpy(head->run.boot_id, from + 80, 16);
}

enum recording_head_error recording_head_read(struct recording_head *head, const __u8 *from,
					      size_t size)
{
	if (memcmp(from, RECORDING_MAGIC, size < 8 ? size : 8))
		return RECORDING_HEAD_BAD;
	if (size < RECORDING_PREFIX)
		return RECORDING_HEAD_SHORT;
	head->major = from[8];
	head->minor = from[9];
	head->head_size = get16(from + 10);
	if (head->head_size < RECORDING_PREFIX || head->head_size > RECORDING_HEAD_MAX)
		return RECORDING_HEAD_BAD;
	if (size < head->head_size)
		return RECORDING_HEAD_SHORT;
	/* The CRC covers `major`: a damaged one does not pass for another major. */
	if (get32(from + 12) != head_crc(from, head->head_size))
		return RECORDING_HEAD_BAD;
	if (head->major != RECORDING_MAJOR)
		return RECORDING_HEAD_OTHER;
	if (head->head_size < RECORDING_HEAD)
		return RECORDING_HEAD_BAD;
	read_members(head, from);
	if (head->size > RECORDING_SIZE_MAX || head->raw_size > RECORDING_SIZE_MAX)
		return RECORDING_HEAD_BAD;
	if (head->run.epoch_ns > RECORDING_NS_MAX || head->run.epoch_ns < -RECORDING_NS_MAX)
		return RECORDING_HEAD_BAD;
	return RECORDING_HEAD_OK;
}
