// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <json-c/json.h>

#include "err.h"
#include "instance.h"
#include "json_print.h"
#include "lock.h"
#include "object.h"
#include "param.h"
#include "profile.h"
#include "profile_defs.h"
#include "verbs.h"

/* EXIT_DONE: the name is free as far as our instances go. */
static int refuse_if_loaded(const char *name)
{
	struct instance *list;
	int n = instance_list(&list), ret = EXIT_DONE;

	if (n < 0)
		return err_bpf(n, "cannot look for instances");
	for (int i = 0; i < n; i++) {
		if (!strcmp(list[i].name, name)) {
			err("%s: is loaded already (map id %u)", name, list[i].map_id);
			remedy("change it with bbrctl set, or load another one with --name");
			ret = EXIT_NOTHING;
		}
	}
	free(list);
	return ret;
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
	int error;

	if (profiles_open_maps(params_fd, -1, sizeof(*p), &profiles))
		return -ENOMEM;
	error = profile_write(&profiles, 0, p);
	profiles_close(&profiles);
	return error;
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

static void print_loaded(const struct options *opt, unsigned int map_id)
{
	struct json_object *o;

	if (!opt->json) {
		printf("%s: loaded (map id %u)\n", opt->name, map_id);
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "name", json_object_new_string(opt->name));
	json_object_object_add(o, "map_id", json_object_new_int64(map_id));
	json_print(o);
}

int verb_load(const struct options *opt, int argc, char **argv)
{
	struct bpf_object *obj;
	struct bbr_params p;
	unsigned int map_id;
	int ret;

	(void)argc;
	(void)argv;
	ret = profile_params(opt->profile, opt->set.n, opt->set.arg, &p);
	if (ret)
		return ret;
	if (!have_caps("cannot load") || lock_instances())
		return EXIT_REFUSED;
	ret = refuse_if_loaded(opt->name);
	if (ret)
		return ret;
	ret = object_load(opt->object, &obj);
	if (ret)
		return ret;
	ret = register_as(obj, opt->name, &p, &map_id);
	bpf_object__close(obj);
	if (ret)
		return ret;
	print_loaded(opt, map_id);
	return EXIT_DONE;
}
