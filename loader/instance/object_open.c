// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks files before the kernel gets them: each must be a BPF object whose ABI and maps bbrctl
 * knows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <elf.h>

#include "bpf_bbr/profiles.h"
#include "descriptor.h"
#include "self/embedded.h"
#include "cli/err.h"
#include "cli/privileges.h"
#include "kernel/instance.h"
#include "instance/object.h"

#ifndef EM_BPF
#define EM_BPF 247
#endif

#define FILE_MAX (64 << 20) /* ours have less than 1 MB */

static int refuse(const struct object *obj, const char *why)
{
	return err_usage(
		"%s: %s\n"
		"--object takes an object that a build of bpf-bbr made; without it bbrctl uses its "
		"own",
		obj->file, why);
}

/*
 * Reads all of the file once: bbrctl loads what the process without privileges checked, even if
 * somebody changes the file in the meantime.
 */
static int read_file(const struct object *obj, struct embedded *bytes)
{
	FILE *f AUTO_FCLOSE = fopen(obj->file, "re");
	char *begin;
	size_t n;

	if (!f)
		return err_usage("%s: cannot be opened: %s", obj->file, strerror(errno));
	begin = mem_need(malloc(FILE_MAX + 1));
	n = fread(begin, 1, FILE_MAX + 1, f);
	*bytes = (struct embedded){ begin, begin + n };
	if (n > FILE_MAX)
		return refuse(obj, "it is too large for a BPF object");
	if (ferror(f) && errno != EISDIR)
		return err_usage("%s: cannot be read: %s", obj->file, strerror(errno));
	return EXIT_DONE;
}

/* Prints what is wrong; libbpf would only report that something is. */
static int check_elf(const struct object *obj, const struct embedded *bytes)
{
	size_t n = bytes->end - bytes->begin;
	Elf64_Ehdr header = {};

	memcpy(&header, bytes->begin, n < sizeof(header) ? n : sizeof(header));
	if (n < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG))
		return refuse(obj, "it is not a BPF object: it is not even an ELF file");
	if (n >= sizeof(header) && header.e_machine != EM_BPF)
		return refuse(obj, "it is not a BPF object, but an ELF file of another kind");
	return EXIT_DONE;
}

static size_t value_size(const struct object *obj, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj->bpf, name);

	return map ? bpf_map__value_size(map) : 0;
}

static bool has_maps(const struct object *obj)
{
	return value_size(obj, BBR_MAP_PARAMS) ==
		       sizeof(struct bbr_profiles_head) +
			       2ul * BBR_PROFILES * obj->abi.params_size &&
	       value_size(obj, BBR_MAP_WATCH) == obj->abi.watch_size &&
	       value_size(obj, BBR_MAP_CLAMPED) && value_size(obj, BBR_MAP_RULES) &&
	       value_size(obj, BBR_MAP_RINGS);
}

static int check_abi(struct object *obj)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj->bpf, BBR_MAP_ABI);
	size_t size = 0;
	const void *record = map ? bpf_map__initial_value((struct bpf_map *)map, &size) : NULL;
	struct bpf_map *clamped;

	if (!record || !abi_read(record, size, &obj->abi))
		return refuse(obj, "it is not a bpf_bbr object: it has no ABI record");
	if (obj->abi.major != BBR_ABI_MAJOR)
		return err_usage(
			"%s: it is of another version (%s, ABI %u; this tool has %s, ABI %u)\n"
			"use the bbrctl of that version",
			obj->file, obj->abi.version, obj->abi.major, BBR_VERSION, BBR_ABI_MAJOR);
	if (!abi_is_sound(&obj->abi) || !has_maps(obj))
		return refuse(obj, "its ABI record does not match its maps");
	/*
	 * The kernel does not freeze a map that is mapped into memory, and libbpf from version 1.6
	 * on maps it if it can.
	 */
	clamped = bpf_object__find_map_by_name(obj->bpf, BBR_MAP_CLAMPED);
	bpf_map__set_map_flags(clamped, bpf_map__map_flags(clamped) & ~BPF_F_MMAPABLE);
	obj->algorithm = algorithm_find(obj->abi.algorithm);
	return EXIT_DONE;
}

static int open_bytes(const struct embedded *bytes, struct object *obj)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = BBR_NAME);
	int ret = EXIT_REFUSED;

	obj->bpf = bpf_object__open_mem(bytes->begin, bytes->end - bytes->begin, &opts);
	if (obj->bpf)
		ret = check_abi(obj);
	else if (errno == ENOMEM)
		err("%s: out of memory", obj->file);
	else
		ret = refuse(obj, "it is not a whole BPF object: libbpf cannot read it");
	if (ret)
		object_close(obj);
	return ret;
}

struct look {
	const struct embedded *bytes;
	const struct object *obj;
};

static int look(void *ctx)
{
	const struct look *look = ctx;
	struct object obj = *look->obj;
	int ret = open_bytes(look->bytes, &obj);

	if (!ret)
		object_close(&obj);
	return ret;
}

/* libbpf opens a descriptor for each map of an object that it only reads, since 1.5. */
#define PLACEHOLDERS 64

/*
 * libbpf 1.1 crashes on some damaged files. So a process without privileges opens the object first,
 * and prints what is wrong with it.
 */
static int open_file(struct object *obj)
{
	struct embedded bytes = {};
	int ret = read_file(obj, &bytes);

	if (!ret)
		ret = check_elf(obj, &bytes);
	if (!ret)
		ret = privileges_aside(obj->file, PLACEHOLDERS, look,
				       &(struct look){ &bytes, obj });
	if (!ret)
		ret = open_bytes(&bytes, obj);
	free((char *)bytes.begin);
	return ret;
}

int object_open(const char *file, const struct algorithm *built_in, struct object *obj)
{
	struct embedded in;

	*obj = (struct object){ .file = file ? file : "built-in object" };
	if (file)
		return open_file(obj);
	in = embedded_object(built_in);
	return open_bytes(&in, obj);
}

void object_close(struct object *obj)
{
	bpf_object__close(obj->bpf);
	obj->bpf = NULL;
}
