// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_bbr/experiment.h"
#include "cli/err.h"
#include "kernel/instance.h"
#include "instance/carry_settings.h"
#include "instance/object.h"
#include "tuning/param.h"
#include "tuning/profile_map.h"
#include "tuning/rule_list.h"

/* Each keeps its index, because rules refer to it. */
static int carry_profiles(const struct profile_map *from, struct profile_map *to)
{
	char name[BBR_PROFILE_NAME_LEN];
	struct param_set p;

	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(from, i, name);
		if (!name[0])
			continue;
		profile_read(from, i, &p);
		if (profile_check_known(to, &p))
			return EXIT_REFUSED;
		profile_init(to, i, name, &p);
	}
	return EXIT_DONE;
}

/* Passes on the trie itself. Nobody changes it from now on, because a change makes a new one. */
static int carry_rules(const struct instance *from, int to)
{
	static const __u32 place;
	int error, trie, outer = instance_map(from->rules_id);

	if (outer < 0)
		return outer;
	error = rule_trie_open(outer, &trie);
	close(outer);
	if (error || trie < 0)
		return error;
	error = bpf_map_update_elem(to, &place, &trie, BPF_ANY) ? -errno : 0;
	close(trie);
	return error;
}

static int prog_fd(const struct bpf_object *obj, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(obj, name));
}

/* The map lives as long as a program that it is bound to. */
static int bind(__u32 id, const struct bpf_object *to)
{
	int error, map = id ? instance_map(id) : -1;

	if (!id || map < 0)
		return id ? map : 0;
	error = bpf_prog_bind_map(prog_fd(to, "cong_control"), map, NULL) ? -errno : 0;
	close(map);
	return error;
}

int carry_defaults(const struct instance *from, const struct bpf_object *to)
{
	int error = bind(from->defaults_id, to);

	return error ? error : bind(from->applied_id, to);
}

int carry_assigned(const struct instance *from, const struct bpf_object *to)
{
	struct bpf_map *map = bpf_object__find_map_by_name(to, INSTANCE_MAP_ASSIGNED);
	int error, fd;

	if (!from->assigned_id || !map)
		return 0;
	fd = instance_map(from->assigned_id);
	if (fd < 0)
		return fd;
	error = bpf_map__reuse_fd(map, fd) ? -errno : 0;
	close(fd);
	return error;
}

int carry_settings(const struct instance *from, const struct bpf_object *to,
		   const struct bbr_abi *abi)
{
	struct profile_map old, new;
	int error, ret;

	ret = profile_map_open(from, &old);
	if (ret)
		return ret;
	ret = profile_map_open_maps(from->algorithm, object_map(to, BBR_MAP_PARAMS), -1,
				    abi->params_size, &new);
	if (!ret) {
		ret = carry_profiles(&old, &new);
		profile_map_close(&new);
	}
	profile_map_close(&old);
	if (ret)
		return ret;
	error = carry_rules(from, object_map(to, BBR_MAP_RULES));
	if (!error)
		error = carry_defaults(from, to);
	return error ? err_bpf(error, "cannot pass on the rules or the previous defaults") :
		       EXIT_DONE;
}
