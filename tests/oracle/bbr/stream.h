/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording: a gzip file with a text header, the callbacks, and at the end how many there should
 * be.
 *
 * Header, ended by an empty line:
 *
 *	bpf-bbr recording 1
 *	release RELEASE		uname -r of the recorded kernel
 *	hz HZ			jiffies per second
 *	field NAME OFFSET BITS	a member of the kernel's struct bbr, from its BTF; for each
 *
 * A callback consists of the number of its socket (varint, from 1 on), a bitmap of the 32-bit words
 * that differ from the expectation after the last callback of the socket, and their differences
 * (zigzag varints). Number 0 ends the callbacks; then follow the counts of calls of each kind
 * (varints).
 */
#ifndef ORACLE_STREAM_H
#define ORACLE_STREAM_H

#include <stdbool.h>
#include <zlib.h>

#include "record.h"

#define MAX_FIELDS 64
#define WORDS (sizeof(struct callback) / 4)

/* A member of the kernel's struct bbr. */
struct field {
	char name[32];
	unsigned int offset, bits; /* both in bits */
};

struct header {
	char release[64];
	unsigned int hz;
	unsigned int fields;
	struct field field[MAX_FIELDS];
};

struct stream {
	gzFile file;
	const char *path;
	struct callback *last; /* of each socket */
	unsigned int sockets; /* for which there is room */
};

/*
 * All of these end the program with a message if the file cannot be read or written, or is damaged.
 */
void stream_create(struct stream *s, const char *path, const struct header *h, int level);
void stream_write(struct stream *s, unsigned int socket, const struct callback *cb);
void stream_finish(struct stream *s, const __u64 calls[CALLBACK_KINDS]);

void stream_open(struct stream *s, const char *path, struct header *h);
/*
 * Returns false at the end of the callbacks; then stream_calls() reads how many there should have
 * been.
 */
bool stream_read(struct stream *s, unsigned int *socket, struct callback *cb);
void stream_calls(struct stream *s, __u64 calls[CALLBACK_KINDS]);
void stream_close(struct stream *s);

#endif
