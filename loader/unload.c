// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <json-c/json.h>

#include "err.h"
#include "instance.h"
#include "json_print.h"
#include "lock.h"
#include "verbs.h"

static void print_unloaded(const struct options *opt, const struct instance *inst)
{
	struct json_object *o;

	if (opt->json) {
		o = json_object_new_object();
		json_object_object_add(o, "name", json_object_new_string(inst->name));
		json_object_object_add(o, "map_id", json_object_new_int64(inst->map_id));
		json_object_object_add(o, "users", json_object_new_int64(inst->users));
		json_print(o);
	} else if (inst->users) {
		printf("%s: unloaded; %u that use it (sockets, namespace defaults) keep it until "
		       "they end\n",
		       inst->name, inst->users);
	} else {
		printf("%s: unloaded\n", inst->name);
	}
}

int verb_unload(const struct options *opt, int argc, char **argv)
{
	static const __u32 key;
	struct instance inst;
	int fd, ret;

	(void)argc;
	(void)argv;
	if (!have_caps("cannot unload") || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &inst);
	if (ret)
		return ret;
	fd = instance_map(inst.map_id);
	if (fd < 0)
		return err_bpf(fd, "cannot open the instance");
	if (bpf_map_delete_elem(fd, &key))
		ret = err_bpf(errno, "the kernel refused to unregister it");
	close(fd);
	if (ret)
		return ret;
	print_unloaded(opt, &inst);
	return EXIT_DONE;
}
