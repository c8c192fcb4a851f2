// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "err.h"
#include "instance.h"
#include "json_print.h"
#include "lock.h"
#include "param.h"
#include "profile.h"
#include "verbs.h"

/* Reads the parameters of the instance that opt names; *fd is of their map. */
static int read_instance(const struct options *opt, struct bbr_params *p, int *fd)
{
	struct instance inst;
	int error, ret;

	if (!have_caps("cannot change parameters") || lock_instances())
		return EXIT_REFUSED;
	ret = instance_get(opt->name, &inst);
	if (ret)
		return ret;
	*fd = instance_map(inst.params_id);
	if (*fd < 0)
		return err_bpf(*fd, "cannot open the instance's parameters");
	error = profile_read(*fd, p);
	if (error) {
		close(*fd);
		return err_bpf(error, "cannot read the instance's parameters");
	}
	return EXIT_DONE;
}

static void print_changes_json(const struct options *opt, const struct bbr_params *old,
			       const struct bbr_params *new)
{
	struct json_object *o = json_object_new_object(), *changed = json_object_new_object();

	for (size_t i = 0; i < nr_params; i++) {
		struct json_object *change;

		if (param_equal(&params[i], old, new))
			continue;
		change = json_object_new_object();
		json_object_object_add(change, "old", param_json(&params[i], old));
		json_object_object_add(change, "new", param_json(&params[i], new));
		json_object_object_add(change, "unit",
				       json_object_new_string(param_unit_name(&params[i])));
		json_object_object_add(changed, params[i].key, change);
	}
	json_object_object_add(o, "name", json_object_new_string(opt->name));
	json_object_object_add(o, "changed", changed);
	json_print(o);
}

static void print_changes(const struct options *opt, const struct bbr_params *old,
			  const struct bbr_params *new)
{
	char was[PARAM_TEXT_LEN], is[PARAM_TEXT_LEN];

	for (size_t i = 0; i < nr_params; i++) {
		if (param_equal(&params[i], old, new))
			continue;
		param_format(&params[i], old, was, sizeof(was));
		param_format(&params[i], new, is, sizeof(is));
		printf("%s: %s=%s (was %s)\n", opt->name, params[i].key, is, was);
	}
}

static int change(const struct options *opt, const struct bbr_params *old,
		  const struct bbr_params *new, int fd)
{
	int error = 0;

	if (!memcmp(old, new, sizeof(*old))) {
		err("%s: has these values already", opt->name);
		close(fd);
		return EXIT_NOTHING;
	}
	error = profile_write(fd, new);
	close(fd);
	if (error)
		return err_bpf(error, "cannot write the instance's parameters");
	if (opt->json)
		print_changes_json(opt, old, new);
	else
		print_changes(opt, old, new);
	return EXIT_DONE;
}

int verb_set(const struct options *opt, int argc, char **argv)
{
	struct bbr_params old, new = params_default;
	int fd, ret;

	if (argc < 2) {
		err("set: nothing to set");
		remedy("usage: bbrctl set [--name NAME] KEY=VALUE...");
		return EXIT_USAGE;
	}
	/* All of the command line first: a mistake at its end must not leave half of it done. */
	for (int i = 1; i < argc; i++)
		if ((ret = param_assign(argv[i], &new)))
			return ret;
	ret = read_instance(opt, &old, &fd);
	if (ret)
		return ret;
	new = old;
	for (int i = 1; i < argc; i++)
		param_assign(argv[i], &new);
	return change(opt, &old, &new, fd);
}

int verb_reset(const struct options *opt, int argc, char **argv)
{
	struct bbr_params old, new;
	int fd, ret;

	ret = params_check_keys(argc, argv);
	if (ret)
		return ret;
	ret = read_instance(opt, &old, &fd);
	if (ret)
		return ret;
	new = argc > 1 ? old : params_default;
	for (int i = 1; i < argc; i++) {
		const struct param *param = param_find(argv[i], strlen(argv[i]));

		memcpy(param_values(param, &new), param_values_const(param, &params_default),
		       param->n * sizeof(__u32));
	}
	return change(opt, &old, &new, fd);
}
