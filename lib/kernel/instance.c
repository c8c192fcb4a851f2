// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include <bpf/btf.h>

#include "bpf_bbr/profiles.h"
#include "bpf_bbr/snapshot.h"
#include "kernel_types.h"
#include "descriptor.h"
#include "bpf_calls.h"
#include "cli/err.h"
#include "cli/text.h"
#include "instance.h"

#define MAX_MAPS 64 /* maps of one program that are looked at */

/* value_type is 0 until it is known. */
static struct bbr_ops_layout known_layout;

void instance_know_layout(const struct bbr_ops_layout *layout)
{
	known_layout = *layout;
}

static int find_layout(const struct btf *btf, struct bbr_ops_layout *l)
{
	int id = btf__find_by_name_kind(btf, TCP_OPS_VALUE, BTF_KIND_STRUCT);

	/* 6.9 wrapped the header of the value into a struct `common`. */
	if (id < 0 ||
	    (btf_member_offset(btf, id, "common.state", &l->state) &&
	     btf_member_offset(btf, id, "state", &l->state)) ||
	    (btf_member_offset(btf, id, "common.refcnt", &l->refcnt) &&
	     btf_member_offset(btf, id, "refcnt", &l->refcnt)) ||
	    btf_member_offset(btf, id, "data.name", &l->name) ||
	    btf_member_offset(btf, id, "data.cong_control", &l->cong_control) ||
	    btf_member_offset(btf, id, "data.init", &l->init))
		return -ENOTSUP;
	l->value_type = id;
	return 0;
}

int instance_map(__u32 id)
{
	int fd = bpf_map_get_fd_by_id(id);

	return fd < 0 ? -errno : fd;
}

bool abi_read(const void *record, size_t size, struct bbr_abi *abi)
{
	memset(abi, 0, sizeof(*abi));
	if (size < sizeof(*abi))
		return false;
	memcpy(abi, record, sizeof(*abi));
	text_tame(abi->version, sizeof(abi->version), " \"\\");
	text_tame(abi->algorithm, sizeof(abi->algorithm), " \"\\");
	return abi->magic == BBR_ABI_MAGIC;
}

bool abi_is_sound(const struct bbr_abi *abi)
{
	return abi->params_size && abi->params_size % sizeof(__u32) == 0 &&
	       abi->watch_size == sizeof(struct bbr_watch) &&
	       abi->tail_size <= BBR_EVENT_TAIL_MAX &&
	       abi->event_size == BBR_EVENT_BASE + abi->tail_size;
}

static int read_abi(int fd, size_t size, struct bbr_abi *abi)
{
	static const __u32 key;
	void *record AUTO_FREE = malloc(size);

	if (!record)
		return -ENOMEM;
	if (bpf_map_lookup_elem(fd, &key, record))
		return -errno;
	abi_read(record, size, abi);
	return 0;
}

static int note_map(__u32 id, struct instance *inst)
{
	const struct {
		const char *name;
		__u32 *id;
	} known[] = {
		{ BBR_MAP_PARAMS, &inst->params_id },
		{ BBR_MAP_CLAMPED, &inst->clamped_id },
		{ BBR_MAP_RULES, &inst->rules_id },
		{ BBR_MAP_WATCH, &inst->watch_id },
		{ BBR_MAP_RINGS, &inst->rings_id },
		{ BBR_MAP_DEFAULTS, &inst->defaults_id },
		{ BBR_MAP_APPLIED, &inst->applied_id },
		{ BBR_MAP_ROUTES, &inst->routes_id },
		{ INSTANCE_MAP_ASSIGNED, &inst->assigned_id },
	};
	struct bpf_map_info info;
	int fd AUTO_CLOSE = instance_map(id), error = fd < 0 ? fd : map_info(fd, &info);

	if (error)
		return error;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(info.name, known[i].name))
			*known[i].id = id;
	return strcmp(info.name, BBR_MAP_ABI) ? 0 : read_abi(fd, info.value_size, &inst->abi);
}

static int note_maps(__u32 prog_id, struct instance *inst)
{
	__u32 ids[MAX_MAPS];
	struct bpf_prog_info info = {
		.map_ids = (__u64)(unsigned long)ids,
		.nr_map_ids = MAX_MAPS,
	};
	int fd AUTO_CLOSE = bpf_prog_get_fd_by_id(prog_id);
	int error = fd < 0 ? -errno : object_info(fd, &info);

	if (!error)
		inst->loaded_ns = info.load_time;
	for (__u32 i = 0; !error && i < info.nr_map_ids && i < MAX_MAPS; i++)
		error = note_map(ids[i], inst);
	return error;
}

/*
 * Kernels that have such links (6.4 and later) begin this member with the id of the link's map. The
 * headers of 6.1 do not declare it.
 */
__u32 link_map_id(const struct bpf_link_info *info)
{
	return info->tracing.attach_type;
}

/* The id of the link that registers the map, 0 if there is none, or -errno. */
static int find_link(__u32 map_id)
{
	__u32 id = 0;

	while (!bpf_link_get_next_id(id, &id)) {
		struct bpf_link_info info = {};
		int fd AUTO_CLOSE = bpf_link_get_fd_by_id(id);

		if (fd < 0 && (errno == ENOENT || errno == EAGAIN))
			continue; /* it has ended since, or is just being made */
		if (fd < 0 || object_info(fd, &info))
			return -errno;
		if (info.type == BPF_LINK_TYPE_STRUCT_OPS && link_map_id(&info) == map_id)
			return id;
	}
	return errno == ENOENT ? 0 : -errno;
}

/* Finds the maps of its programs, and what they say. */
static int know_programs(__u32 cong_control, __u32 init, struct instance *inst)
{
	int error = note_maps(cong_control, inst);

	if (!error && init) /* init is what reads the rules */
		error = note_maps(init, inst);
	if (error)
		return error;
	inst->algorithm = algorithm_find(inst->abi.algorithm);
	inst->supported = inst->abi.major == BBR_ABI_MAJOR && inst->algorithm &&
			  abi_is_sound(&inst->abi) && inst->params_id && inst->clamped_id &&
			  inst->rules_id && inst->watch_id && inst->rings_id;
	return 0;
}

int instance_check(int cong_control_fd, int init_fd)
{
	struct bpf_prog_info cong_control = {}, init = {};
	struct instance inst = {};
	int error = object_info(cong_control_fd, &cong_control);

	if (!error)
		error = object_info(init_fd, &init);
	if (!error)
		error = know_programs(cong_control.id, init.id, &inst);
	if (error)
		return error;
	return inst.abi.magic == BBR_ABI_MAGIC &&
			       (inst.supported || inst.abi.major != BBR_ABI_MAJOR ||
				!inst.algorithm) ?
		       0 :
		       -EAGAIN;
}

/*
 * Returns 1 if the struct_ops map of this file descriptor is an instance, registered now or before,
 * 0 if not, or -errno.
 */
static int inspect(int fd, const struct bbr_ops_layout *l, struct instance *inst)
{
	enum {
		INIT,
		INUSE,
		TOBEFREE, /* unregistered, but there are users */
		READY
	}; /* enum bpf_struct_ops_state */
	static const __u32 key;
	struct bpf_map_info info;
	__u32 state, refcnt;
	__u64 prog_id, init_id;
	char *value;
	int error = map_info(fd, &info);

	if (error || info.type != BPF_MAP_TYPE_STRUCT_OPS ||
	    info.btf_vmlinux_value_type_id != l->value_type)
		return error;

	value = calloc(1, info.value_size);
	if (!value)
		return -ENOMEM;
	memset(inst, 0, sizeof(*inst));
	error = bpf_map_lookup_elem(fd, &key, value) ? -errno : 0;
	memcpy(&state, value + l->state, sizeof(state));
	memcpy(&refcnt, value + l->refcnt, sizeof(refcnt));
	memcpy(&prog_id, value + l->cong_control, sizeof(prog_id));
	memcpy(&init_id, value + l->init, sizeof(init_id));
	memcpy(inst->name, value + l->name, sizeof(inst->name) - 1);
	free(value);
	if (error || state == INIT || !prog_id)
		return error;
	inst->registered = state == INUSE;
	if (state == READY) { /* prepared for a link, which may or may not be there */
		int link = find_link(info.id);

		if (link < 0)
			return link;
		inst->link_id = link;
		inst->registered = link;
	}

	inst->map_id = info.id;
	inst->prog_id = prog_id;
	/* Its registration is one, while it lasts. */
	inst->users = refcnt - (refcnt && inst->registered);
	error = know_programs(prog_id, init_id, inst);
	return error ? error : inst->abi.magic == BBR_ABI_MAGIC;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct instance *)a)->name, ((const struct instance *)b)->name);
}

static bool is_listed(struct instance *list, int n, const struct instance *inst)
{
	for (int i = 0; i < n; i++) {
		if (!strcmp(list[i].name, inst->name)) {
			list[i] = *inst;
			return true;
		}
	}
	return false;
}

static int list_instances(struct instance **list, bool registered)
{
	const struct btf *btf;
	__u32 id = 0;
	int ret, n = 0;

	*list = NULL;
	if (!known_layout.value_type) { /* it is the kernel's: once is enough */
		btf = kernel_types();
		ret = btf ? find_layout(btf, &known_layout) : -errno;
		if (ret) /* -ENOTSUP: this kernel cannot have any */
			return ret == -ENOTSUP ? 0 : ret;
	}
	while (!bpf_map_get_next_id(id, &id)) {
		struct instance inst, *grown;
		int fd AUTO_CLOSE = instance_map(id);

		ret = fd < 0 ? fd : inspect(fd, &known_layout, &inst);
		/* BPF objects come and go while we look: it is no error if one vanishes meanwhile. */
		if (ret < 0 && ret != -ENOENT)
			goto out;
		if (ret != 1)
			continue;
		/* If it is replaced while we look, the newer one has the name. */
		if (registered && (!inst.registered || is_listed(*list, n, &inst)))
			continue;
		grown = realloc(*list, (n + 1) * sizeof(inst));
		if (!grown) {
			ret = -ENOMEM;
			goto out;
		}
		*list = grown;
		(*list)[n++] = inst;
	}
	ret = errno == ENOENT ? 0 : -errno;
	if (n)
		qsort(*list, n, sizeof(**list), by_name);
out:
	if (ret < 0) {
		free(*list);
		*list = NULL;
		return ret;
	}
	return n;
}

int instance_list(struct instance **list)
{
	return list_instances(list, true);
}

int instance_list_alive(struct instance **list)
{
	return list_instances(list, false);
}

int instance_id(const char *name)
{
	struct instance *list AUTO_FREE = NULL;
	int id = 0, n = instance_list(&list);

	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			id = list[i].map_id;
	return n < 0 ? n : id;
}

bool congestion_control_exists(const char *name)
{
	char word[64];
	FILE *f AUTO_FCLOSE = fopen(CONGESTION_CONTROLS, "re");
	bool found = false;

	while (f && !found && fscanf(f, "%63s", word) == 1)
		found = !strcmp(word, name);
	return found;
}

static void say_not_loaded(const char *name, const struct instance *list, int n)
{
	err("%s: no instance with this name is loaded", name);
	if (!n && !instance_name_is_valid(name))
		return;
	if (!n) {
		remedy("load it: bbrctl load%s%s",
		       strcmp(name, algorithms[0]->instance) ? " --name " : "",
		       strcmp(name, algorithms[0]->instance) ? name : "");
		return;
	}
	fputs("  loaded:", stderr);
	for (int i = 0; i < n; i++)
		fprintf(stderr, " %s", list[i].name);
	fputc('\n', stderr);
}

int instance_find(const char *name, struct instance *inst)
{
	struct instance *list AUTO_FREE = NULL;
	int n = instance_list(&list);

	if (n < 0)
		return err_bpf(n, "cannot list instances");
	for (int i = 0; i < n; i++) {
		if (!strcmp(list[i].name, name)) {
			*inst = list[i];
			return EXIT_DONE;
		}
	}
	say_not_loaded(name, list, n);
	return EXIT_NOTHING;
}

int instance_get(const char *name, struct instance *inst)
{
	int ret = instance_find(name, inst);

	if (ret || inst->supported)
		return ret;
	if (inst->abi.major == BBR_ABI_MAJOR && !inst->algorithm)
		return err_refused("%s: these tools do not know its algorithm, %s\n"
				   "use the tools that loaded it",
				   name, inst->abi.algorithm);
	return err_refused(
		"%s: was loaded by another version (%.20s, ABI %u; this tool has %s, ABI %u)\n"
		"use the tools of that version, or unload it and load it again",
		name, inst->abi.version, inst->abi.major, BBR_VERSION, BBR_ABI_MAJOR);
}

static void *map_by_id(__u32 id, size_t size, int protection)
{
	int fd AUTO_CLOSE = instance_map(id);
	void *p;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	p = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct bbr_watch *instance_watch_map(const struct instance *inst)
{
	return map_by_id(inst->watch_id, sizeof(struct bbr_watch), PROT_READ | PROT_WRITE);
}

void instance_watch_unmap(struct bbr_watch *watch)
{
	munmap(watch, sizeof(*watch));
}

/* The part before the banks; a later minor changes the size of the banks. */
#define NAMES_SIZE sizeof(struct bbr_profiles_head)

const char (*instance_profile_names_map(const struct instance *inst))[BBR_PROFILE_NAME_LEN]
{
	struct bbr_profiles_head *p = map_by_id(inst->params_id, NAMES_SIZE, PROT_READ);

	return p ? p->name : NULL;
}

void instance_profile_names_unmap(const char (*names)[BBR_PROFILE_NAME_LEN])
{
	if (names)
		munmap((char *)names - offsetof(struct bbr_profiles_head, name), NAMES_SIZE);
}
