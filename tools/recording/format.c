// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "format.h"
#include "kernel/clock.h"

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

/* The bytes of a head, see format.h. */
struct head_bytes {
	char magic[8];
	__u8 major, minor;
	__u16 head_size;
	__u32 head_crc;
	__u32 size, raw_size, crc, records, events, sampling;
	__u64 interval_ns, first_ns, last_ns, epoch_ns, run;
	__u8 boot_id[16];
};
_Static_assert(sizeof(struct head_bytes) == RECORDING_HEAD, "head_bytes has no gaps");

static __u32 head_crc(const __u8 *head, size_t size)
{
	static const __u8 zeros[4];
	__u32 crc = crc32(0, head, 12);

	crc = crc32(crc, zeros, sizeof(zeros));
	return crc32(crc, head + 16, size - 16);
}

void recording_head_write(const struct recording_head *head, __u8 to[RECORDING_HEAD])
{
	struct head_bytes bytes = {
		.major = RECORDING_MAJOR,
		.minor = RECORDING_MINOR,
		.head_size = htole16(RECORDING_HEAD),
		.size = htole32(head->size),
		.raw_size = htole32(head->raw_size),
		.crc = htole32(head->crc),
		.records = htole32(head->records),
		.events = htole32(head->events),
		.sampling = htole32(head->run.sampling),
		.interval_ns = htole64(head->run.interval_ns),
		.first_ns = htole64(head->first_ns),
		.last_ns = htole64(head->last_ns),
		.epoch_ns = htole64(head->run.epoch_ns),
		.run = htole64(head->run.id),
	};

	memcpy(bytes.magic, RECORDING_MAGIC, sizeof(bytes.magic));
	memcpy(bytes.boot_id, head->run.boot_id, sizeof(bytes.boot_id));
	bytes.head_crc = htole32(head_crc((const __u8 *)&bytes, sizeof(bytes)));
	memcpy(to, &bytes, sizeof(bytes));
}

enum recording_head_error recording_head_read(struct recording_head *head, const __u8 *from,
					      size_t size)
{
	struct head_bytes bytes;

	if (memcmp(from, RECORDING_MAGIC, size < 8 ? size : 8))
		return RECORDING_HEAD_BAD;
	if (size < RECORDING_PREFIX)
		return RECORDING_HEAD_SHORT;
	memcpy(&bytes, from, size < sizeof(bytes) ? size : sizeof(bytes));
	head->major = bytes.major;
	head->head_size = le16toh(bytes.head_size);
	if (head->head_size < RECORDING_PREFIX || head->head_size > RECORDING_HEAD_MAX)
		return RECORDING_HEAD_BAD;
	if (size < head->head_size)
		return RECORDING_HEAD_SHORT;
	/* The CRC covers `major`: a damaged one does not pass for another major. */
	if (le32toh(bytes.head_crc) != head_crc(from, head->head_size))
		return RECORDING_HEAD_BAD;
	if (head->major != RECORDING_MAJOR)
		return RECORDING_HEAD_OTHER;
	if (head->head_size < RECORDING_HEAD)
		return RECORDING_HEAD_BAD;
	head->size = le32toh(bytes.size);
	head->raw_size = le32toh(bytes.raw_size);
	head->crc = le32toh(bytes.crc);
	head->records = le32toh(bytes.records);
	head->events = le32toh(bytes.events);
	head->first_ns = le64toh(bytes.first_ns);
	head->last_ns = le64toh(bytes.last_ns);
	head->run.sampling = le32toh(bytes.sampling);
	head->run.interval_ns = le64toh(bytes.interval_ns);
	head->run.epoch_ns = le64toh(bytes.epoch_ns);
	head->run.id = le64toh(bytes.run);
	memcpy(head->run.boot_id, bytes.boot_id, sizeof(bytes.boot_id));
	if (head->size > RECORDING_SIZE_MAX || head->raw_size > RECORDING_SIZE_MAX)
		return RECORDING_HEAD_BAD;
	if (head->run.epoch_ns > RECORDING_NS_MAX || head->run.epoch_ns < -RECORDING_NS_MAX)
		return RECORDING_HEAD_BAD;
	return RECORDING_HEAD_OK;
}
