// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes recordings of BBR version 3: v3r.h. The header describes the records and the state by the
 * types with which they were recorded: those of our programs, and the kernel's.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "../recorder.h"
#include "v3r.h"
#include "v3r_write.h"

static const char *const kinds[] = KIND_NAMES;

static const struct callback_function functions[] = {
#define FUNCTION(function, kind, arg, returned) { #function, kind },
	CALLBACKS(FUNCTION)
#undef FUNCTION
};

static struct v3r_writer out;
static struct json_object *header;

static void add_number(struct json_object *to, const char *key, __u64 number)
{
	json_object_object_add(to, key, json_object_new_int64(number));
}

static void add_text(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, json_object_new_string(text));
}

static void append_text(struct json_object *to, const char *text)
{
	json_object_array_add(to, json_object_new_string(text));
}

static void append_number(struct json_object *to, __u64 number)
{
	json_object_array_add(to, json_object_new_int64(number));
}

static const struct btf_type *find_struct(const struct btf *btf, const char *name, __u32 size)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	const struct btf_type *t = btf__type_by_id(btf, id);

	if (id > 0 && t->size == size)
		return t;
	errno = EPROTO;
	record_die(name);
}

/* The type without typedefs and qualifiers. */
static const struct btf_type *plain_type(const struct btf *btf, __u32 id)
{
	return btf__type_by_id(btf, btf__resolve_type(btf, id));
}

/* "unsigned", "signed", or "state" for bytes that are described separately. */
static const char *what_of(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = plain_type(btf, id);

	if (btf_is_array(t))
		return "state";
	return btf_is_int(t) && btf_int_encoding(t) & BTF_INT_SIGNED ? "signed" : "unsigned";
}

/* The members of a record: name, offset and bytes, what. */
static struct json_object *fields_of(const struct btf *btf)
{
	const struct btf_type *t = find_struct(btf, "record", sizeof(struct record));
	struct json_object *fields = json_object_new_array();

	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		struct json_object *field = json_object_new_array();

		append_text(field, btf__name_by_offset(btf, m->name_off));
		append_number(field, btf_member_bit_offset(t, i) / 8);
		append_number(field, btf__resolve_size(btf, m->type));
		append_text(field, what_of(btf, m->type));
		json_object_array_add(fields, field);
	}
	return fields;
}

static void add_member(struct json_object *to, const struct btf *btf, __u32 id, const char *name,
		       unsigned int at, unsigned int bits);

/* Adds the members of a structure. Within the state, its name precedes theirs. */
static void add_members(struct json_object *to, const struct btf *btf, const struct btf_type *t,
			const char *of, unsigned int at)
{
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		char name[128];

		snprintf(name, sizeof(name), "%s%s%s", of, *of ? "_" : "",
			 btf__name_by_offset(btf, m->name_off));
		add_member(to, btf, m->type, name, at + btf_member_bit_offset(t, i),
			   btf_member_bitfield_size(t, i));
	}
}

/* Adds the elements of an array. Each has its number after its name. */
static void add_elements(struct json_object *to, const struct btf *btf, const struct btf_array *a,
			 const char *of, unsigned int at)
{
	for (__u32 i = 0; i < a->nelems; i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s_%u", of, i);
		add_member(to, btf, a->type, name, at + i * 8 * btf__resolve_size(btf, a->type), 0);
	}
}

/* bits: 0 if it is not a bit field. */
static void add_member(struct json_object *to, const struct btf *btf, __u32 id, const char *name,
		       unsigned int at, unsigned int bits)
{
	const struct btf_type *t = plain_type(btf, id);
	struct json_object *member;

	if (btf_is_array(t)) {
		add_elements(to, btf, btf_array(t), name, at);
		return;
	}
	if (btf_is_struct(t)) {
		add_members(to, btf, t, name, at);
		return;
	}
	member = json_object_new_array();
	append_text(member, name);
	append_number(member, at);
	append_number(member, bits ? bits : 8 * t->size);
	json_object_array_add(to, member);
}

/* The members of the kernel's struct bbr: name, offset and width in bits. */
static struct json_object *state_of(const struct btf *btf)
{
	struct json_object *state = json_object_new_array();

	add_members(state, btf, find_struct(btf, "bbr", STATE_SIZE), "", 0);
	return state;
}

/* Adds what the caller says about the recording. */
static void add_about(struct json_object *to, const char *path)
{
	struct json_object *about = json_object_from_file(path);

	if (!about || !json_object_is_type(about, json_type_object)) {
		errno = EINVAL;
		record_die(path);
	}
	json_object_object_foreach(about, key, value)
		json_object_object_add(to, key, json_object_get(value));
	json_object_put(about);
}

static void create(const char *path, const struct recorded_kernel *kernel)
{
	header = json_object_new_object();
	add_text(header, "format", V3R_FORMAT);
	add_number(header, "record_size", sizeof(struct record));
	add_text(header, "kernel", kernel->release);
	add_number(header, "hz", kernel->hz);
	if (kernel->about)
		add_about(header, kernel->about);
	json_object_object_add(header, "fields", fields_of(kernel->programs));
	json_object_object_add(header, "state", state_of(kernel->btf));
	v3r_create(&out, path);
}

static void write_callback(__u64 socket, const void *record)
{
	(void)socket; /* a record has its cookie */
	v3r_write(&out, record);
}

static struct json_object *by_kind(const __u64 *numbers, bool with_zeros)
{
	struct json_object *object = json_object_new_object();

	for (int i = 0; i < KINDS; i++)
		if (numbers[i] || with_zeros)
			add_number(object, kinds[i], numbers[i]);
	return object;
}

static void finish(const struct totals *totals)
{
	struct json_object *names = json_object_new_array();
	__u64 records = 0;

	for (int i = 0; i < KINDS; i++) {
		append_text(names, kinds[i]);
		records += totals->recorded[i];
	}
	add_number(header, "records", records);
	json_object_object_add(header, "calls", by_kind(totals->calls, true));
	json_object_object_add(header, "recorded", by_kind(totals->recorded, true));
	json_object_object_add(header, "omitted", by_kind(totals->omitted, false));
	add_number(header, "dropped", totals->missing);
	add_number(header, "overlap", 0); /* such callbacks count as missing */
	json_object_object_add(header, "kinds", names);
	v3r_finish(&out, header);
	json_object_put(header);
}

const struct recorder recorder_bbr3 = {
	.name = "bbr3",
	.kinds = kinds,
	.n_kinds = KINDS,
	.functions = functions,
	.n_functions = sizeof(functions) / sizeof(functions[0]),
	.create = create,
	.write = write_callback,
	.finish = finish,
};
