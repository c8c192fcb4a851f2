// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks files before the kernel gets them: each must be a BPF object whose ABI and maps bbrctl
 * knows.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <elf.h>

#include "bpf_bbr/profiles.h"
#include "descriptor.h"
#include "self/embedded.h"
#include "cli/err.h"
#include "kernel/instance.h"
#include "instance/object.h"

#ifndef EM_BPF
#define EM_BPF 247
#endif

static int refuse(const struct object *obj, const char *why)
{
	err("%s: %s", obj->file, why);
	remedy("--object takes an object that a build of bpf-bbr made; without it bbrctl uses its "
	       "own");
	return EXIT_REFUSED;
}

/* Says what is wrong; libbpf would only say that something is. */
static int check_elf(const struct object *obj)
{
	Elf64_Ehdr header = {};
	FILE *f = fopen(obj->file, "re");
	size_t n;

	if (!f) {
		err("%s: cannot be opened: %s", obj->file, strerror(errno));
		return EXIT_REFUSED;
	}
	n = fread(&header, 1, sizeof(header), f);
	fclose(f);
	if (n < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG))
		return refuse(obj, "it is not a BPF object: it is not even an ELF file");
	if (n == sizeof(header) && header.e_machine != EM_BPF)
		return refuse(obj, "it is not a BPF object, but an ELF file of another kind");
	return EXIT_DONE;
}

static int open_object(const struct algorithm *built_in, struct object *obj)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = BBR_NAME);

	if (built_in) {
		struct embedded in = embedded_object(built_in);

		obj->bpf = bpf_object__open_mem(in.begin, in.end - in.begin, &opts);
	} else if (check_elf(obj)) {
		return EXIT_REFUSED;
	} else {
		obj->bpf = bpf_object__open_file(obj->file, &opts);
	}
	if (obj->bpf)
		return EXIT_DONE;
	if (errno == ENOMEM) {
		err("%s: out of memory", obj->file);
		return EXIT_REFUSED;
	}
	return refuse(obj, "it is not a whole BPF object: libbpf cannot read it");
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
	if (obj->abi.major != BBR_ABI_MAJOR) {
		err("%s: it is of another version (%s, ABI %u; this tool has %s, ABI %u)",
		    obj->file, obj->abi.version, obj->abi.major, BBR_VERSION, BBR_ABI_MAJOR);
		remedy("use the bbrctl of that version");
		return EXIT_REFUSED;
	}
	if (!abi_is_sound(&obj->abi) || !has_maps(obj))
		return refuse(obj, "its ABI record does not fit what is in it");
	/*
	 * The kernel does not freeze a map that is mapped into memory, and libbpf from version 1.6
	 * on maps it if it can.
	 */
	clamped = bpf_object__find_map_by_name(obj->bpf, BBR_MAP_CLAMPED);
	bpf_map__set_map_flags(clamped, bpf_map__map_flags(clamped) & ~BPF_F_MMAPABLE);
	obj->algorithm = algorithm_find(obj->abi.algorithm);
	return EXIT_DONE;
}

int object_open(const char *file, const struct algorithm *built_in, struct object *obj)
{
	int ret;

	*obj = (struct object){ .file = file ? file : "built-in object" };
	ret = open_object(file ? NULL : built_in, obj);
	if (!ret)
		ret = check_abi(obj);
	if (ret)
		object_close(obj);
	return ret;
}

void object_close(struct object *obj)
{
	bpf_object__close(obj->bpf);
	obj->bpf = NULL;
}
