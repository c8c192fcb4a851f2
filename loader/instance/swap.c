// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_bbr/profiles.h"
#include "cli/err.h"
#include "instance/struct_ops.h"
#include "instance/object.h"
#include "instance/swap.h"
#include "kernel/clock.h"
#include "kernel/instance.h"
#include "tuning/param.h"
#include "tuning/profile_map.h"
#include "tuning/rule_list.h"

/* Replaces the code that a link has registered. The name is never missing. */
static int replace(const struct instance *old, int new_map)
{
	int fd AUTO_CLOSE = bpf_link_get_fd_by_id(old->link_id);

	return fd < 0 || bpf_link_update(fd, new_map, NULL) ? -errno : 0;
}

struct unregistering {
	const struct instance *inst;
	int ret;
	atomic_bool done;
};

static void *run_unregister(void *arg)
{
	struct unregistering *u = arg;

	u->ret = unregister(u->inst);
	atomic_store(&u->done, true);
	return NULL;
}

/*
 * The kernel removes the name, then waits for an RCU grace period before it returns. So another
 * thread unregisters the old code while this one tries to register the new code, which succeeds as
 * soon as the name is free. -EEXIST: the name is still taken.
 */
static int register_behind(const struct instance *old, struct ops *new, __u64 *gap_ns)
{
	struct unregistering u = { .inst = old };
	__u64 begin = now_ns(), try = begin;
	pthread_t thread;
	bool done;
	int error = pthread_create(&thread, NULL, run_unregister, &u);

	if (error)
		return -error;
	do {
		done = atomic_load(&u.done);
		begin = try; /* when the name was last there */
		try = now_ns();
		error = ops_register(new);
		if (error)
			sched_yield();
	} while (error == -EEXIST && !done);
	*gap_ns = now_ns() - begin;
	pthread_join(thread, NULL);
	return error;
}

static void put_back(const struct instance *old, struct ops *again)
{
	int error = ops_register(again);

	if (!error)
		err("%s: the old code is registered again (map id %u)", old->name, again->map_id);
	else
		err("%s: the old code could not be registered again: %s", old->name,
		    strerror(-error));
	if (error)
		remedy("load it: bbrctl load --name %s", old->name);
}

/* Without a link, the old code must give up the name before the new code can take it. */
static int swap_with_gap(const struct instance *old, struct ops *new, struct ops *again,
			 struct swap *swap)
{
	sigset_t all, before;
	int error = ops_register(new);

	/* The kernel has now checked all but the name, and nothing has changed yet. */
	if (error != -EEXIST)
		return error ? error : -ESTALE; /* somebody has just unregistered the old code */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	error = register_behind(old, new, &swap->gap_ns);
	if (!error && new->by_link)
		error = pin_link(old->name, new->link_fd);
	if (error && new->link_fd >= 0) {
		auto_close(&new->link_fd);
		new->link_fd = -1;
	}
	if (error && error != -EEXIST)
		put_back(old, again);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

int swap_code(const struct instance *old, struct bpf_object *obj, struct swap *swap)
{
	struct ops new, again = { .fd = -1, .link_fd = -1 };
	int error;

	memset(swap, 0, sizeof(*swap));
	swap->atomic = old->link_id;
	if (object_check_found(obj))
		return EXIT_REFUSED;
	if (!old->link_id && pin_prepare(old->name, &swap->why_plain))
		return EXIT_REFUSED;
	error = ops_make(&new, obj, old->name, !swap->why_plain);
	swap->map_id = new.map_id;
	if (!error && !swap->atomic)
		error = ops_remake(&again, old, bpf_object__btf_fd(obj));
	if (!error)
		error = swap->atomic ? replace(old, new.fd) :
				       swap_with_gap(old, &new, &again, swap);
	ops_free(&new);
	ops_free(&again);
	if (error && !old->link_id)
		pin_remove(old->name, 0); /* what was made for it */
	return error ? err_bpf(error, "the kernel refused to register the new code") : EXIT_DONE;
}

int swap_back(const struct instance *old, int old_fd)
{
	int error = old->link_id ? replace(old, old_fd) : -EOPNOTSUPP;

	return error ? err_bpf(error, "the old code cannot be registered again") : EXIT_DONE;
}

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
	int outer AUTO_CLOSE = instance_map(from->rules_id), trie AUTO_CLOSE = -1;
	int error = outer < 0 ? outer : rule_trie_open(outer, &trie);

	if (error || trie < 0)
		return error;
	return bpf_map_update_elem(to, &place, &trie, BPF_ANY) ? -errno : 0;
}

/* The map lives as long as a program that it is bound to. */
static int bind(__u32 id, const struct bpf_object *to)
{
	int map AUTO_CLOSE = id ? instance_map(id) : -1;

	if (!id || map < 0)
		return id ? map : 0;
	return bpf_prog_bind_map(object_program(to, "cong_control"), map, NULL) ? -errno : 0;
}

int carry_defaults(const struct instance *from, const struct bpf_object *to)
{
	int error = bind(from->defaults_id, to);

	if (!error)
		error = bind(from->routes_id, to);
	return error ? error : bind(from->applied_id, to);
}

int carry_assigned(const struct instance *from, const struct bpf_object *to)
{
	struct bpf_map *map = bpf_object__find_map_by_name(to, INSTANCE_MAP_ASSIGNED);
	int fd AUTO_CLOSE = -1;

	if (!from->assigned_id || !map)
		return 0;
	fd = instance_map(from->assigned_id);
	if (fd < 0)
		return fd;
	return bpf_map__reuse_fd(map, fd) ? -errno : 0;
}

int carry_settings(const struct instance *from, const struct bpf_object *to,
		   const struct bbr_abi *abi)
{
	struct profile_map old AUTO(profile_map_close), new AUTO(profile_map_close) = {};
	int error, ret = profile_map_open(from, &old);

	if (!ret)
		ret = profile_map_open_maps(from->algorithm, object_map(to, BBR_MAP_PARAMS), -1,
					    abi->params_size, &new);
	if (!ret)
		ret = carry_profiles(&old, &new);
	if (ret)
		return ret;
	error = carry_rules(from, object_map(to, BBR_MAP_RULES));
	if (!error)
		error = carry_defaults(from, to);
	return error ? err_bpf(error, "cannot pass on the rules or the previous defaults") :
		       EXIT_DONE;
}
