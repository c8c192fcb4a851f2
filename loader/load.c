// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <json-c/json.h>

#include "default.h"
#include "err.h"
#include "instance.h"
#include "json_print.h"
#include "lock.h"
#include "object.h"
#include "param.h"
#include "profile.h"
#include "profile_defs.h"
#include "verbs.h"

/* The map id of our instance of this name, 0 if there is none, or -errno. */
static int find_loaded(const char *name)
{
	struct instance *list;
	int n = instance_list(&list), ret = n < 0 ? n : 0;

	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			ret = list[i].map_id;
	free(list);
	return ret;
}

static int refuse_loaded(const char *name, unsigned int map_id)
{
	err("%s: is loaded already (map id %u)", name, map_id);
	remedy("change it with bbrctl set, or load another one with --name");
	return EXIT_NOTHING;
}

/* From here on only the program can write the map. */
static int freeze(const struct bpf_object *obj, const char *map)
{
	int fd = object_map(obj, map);

	if (fd < 0)
		return 0; /* --object may be one that has no such map */
	return bpf_map_freeze(fd) ? -errno : 0;
}

/* Of an object that is not used yet. */
static int write_params(int params_fd, const struct bbr_params *p)
{
	struct profiles profiles;

	if (profiles_open_maps(params_fd, -1, sizeof(*p), &profiles))
		return -ENOMEM;
	profile_init(&profiles, 0, BBR_PROFILE_DEFAULT, p);
	profiles_close(&profiles);
	return 0;
}

static int register_as(struct bpf_object *obj, const char *name, const struct bbr_params *p,
		       unsigned int *map_id)
{
	int error, fd = object_map(obj, BBR_MAP_PARAMS);

	/* Before it is registered: the first connection finds the parameters in place. */
	error = fd < 0 ? fd : write_params(fd, p);
	if (!error)
		error = freeze(obj, BBR_MAP_CLAMPED);
	if (error) {
		err("%s: cannot set its parameters: %s", name, strerror(-error));
		return EXIT_REFUSED;
	}
	error = object_register(obj, name, map_id);
	if (error == -EEXIST) {
		err("%s: the kernel has another congestion control of this name", name);
		remedy("choose another one with --name");
		return EXIT_REFUSED;
	}
	return error ? err_bpf(error, "the kernel refused to register it") : EXIT_DONE;
}

/* map_id 0: it was loaded before. */
static int report(const struct options *opt, unsigned int map_id)
{
	struct json_object *o = opt->json ? json_object_new_object() : NULL;
	int ret = EXIT_DONE;

	if (o) {
		json_object_object_add(o, "name", json_object_new_string(opt->name));
		if (map_id)
			json_object_object_add(o, "map_id", json_object_new_int64(map_id));
	} else if (map_id) {
		printf("%s: loaded (map id %u)\n", opt->name, map_id);
	}
	if (opt->make_default)
		ret = default_set(opt->name, opt->netns, o);
	if (o && (map_id || !ret))
		json_print(o);
	else
		json_object_put(o);
	return ret;
}

static int load(const struct options *opt, const struct bbr_params *p)
{
	struct bpf_object *obj;
	unsigned int map_id;
	int ret = object_load(opt->object, &obj);

	if (ret)
		return ret;
	ret = register_as(obj, opt->name, p, &map_id);
	bpf_object__close(obj);
	return ret ? ret : report(opt, map_id);
}

int verb_load(const struct options *opt, int argc, char **argv)
{
	struct bbr_params p;
	int loaded, ret;

	(void)argc;
	(void)argv;
	ret = profile_params(opt->profile, opt->set.n, opt->set.arg, &p);
	if (ret)
		return ret;
	if (opt->netns && !opt->make_default) {
		err("load: --netns is where it becomes the default: --default is missing");
		remedy("an instance itself is there for all network namespaces");
		return EXIT_USAGE;
	}
	if (!have_caps("cannot load") || lock_instances())
		return EXIT_REFUSED;
	if (opt->netns && (ret = default_check_netns(opt->netns)))
		return ret;
	loaded = find_loaded(opt->name);
	if (loaded < 0)
		return err_bpf(loaded, "cannot look for instances");
	if (!loaded)
		return load(opt, &p);
	if (opt->make_default && !opt->set.n && !opt->profile && !opt->object)
		return report(opt, 0);
	return refuse_loaded(opt->name, loaded);
}
