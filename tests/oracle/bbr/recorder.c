// SPDX-License-Identifier: GPL-2.0-only
/* Writes recordings of BBR version 1: stream.h. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>

#include "../recorder.h"
#include "stream.h"

#define SOCKETS (1 << 16) /* slots in the table of addresses */

static const char *const kinds[] = CALLBACK_NAMES;

static const struct callback_function functions[] = {
#define FUNCTION(function, kind, arg, returned) { #function, kind },
	CALLBACKS(FUNCTION)
#undef FUNCTION
};

static struct stream out;

/* Reads the members of the kernel's struct bbr from its BTF. */
static void read_layout(const struct btf *btf, struct header *h)
{
	int id = btf__find_by_name_kind(btf, "bbr", BTF_KIND_STRUCT);
	const struct btf_type *t = btf__type_by_id(btf, id);

	if (id < 0 || t->size != CA_PRIV_SIZE || btf_vlen(t) > MAX_FIELDS)
		record_die("struct bbr of the kernel");
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		struct field *f = &h->field[h->fields++];

		snprintf(f->name, sizeof(f->name), "%s", btf__name_by_offset(btf, m->name_off));
		f->offset = btf_member_bit_offset(t, i);
		f->bits = btf_member_bitfield_size(t, i);
		if (!f->bits)
			f->bits = 8 * btf__resolve_size(btf, m->type);
	}
}

static void create(const char *path, const struct recorded_kernel *kernel)
{
	struct header header = { .hz = kernel->hz };

	snprintf(header.release, sizeof(header.release), "%.63s", kernel->release);
	read_layout(kernel->btf, &header);
	stream_create(&out, path, &header, Z_BEST_SPEED);
}

/* The number of a socket, by its address, which a later socket may have again. */
static unsigned int number_of(__u64 address)
{
	static __u64 addresses[SOCKETS];
	static unsigned int numbers[SOCKETS], count;
	unsigned int slot = (address >> 6) * 0x9e3779b1u % SOCKETS;

	while (addresses[slot] && addresses[slot] != address)
		slot = (slot + 1) % SOCKETS;
	if (!addresses[slot]) {
		if (count == SOCKETS / 2) {
			errno = ENOSPC;
			record_die("table of sockets");
		}
		addresses[slot] = address;
		numbers[slot] = ++count;
	}
	return numbers[slot];
}

static void write_callback(__u64 socket, const void *record)
{
	stream_write(&out, number_of(socket), record);
}

static void finish(const struct totals *totals)
{
	stream_finish(&out, totals->calls);
}

const struct recorder recorder_bbr = {
	.name = "bbr",
	.kinds = kinds,
	.n_kinds = CALLBACK_KINDS,
	.functions = functions,
	.n_functions = sizeof(functions) / sizeof(functions[0]),
	.create = create,
	.write = write_callback,
	.finish = finish,
};
