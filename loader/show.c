// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "instance.h"
#include "json_print.h"
#include "param.h"
#include "profile.h"
#include "verbs.h"

/* Was this parameter asked for? With no keys given all are. */
static bool is_wanted(const struct param *param, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], param->key))
			return true;
	return argc == 1;
}

static void show_text(const struct bbr_params *p, int argc, char **argv)
{
	char value[PARAM_TEXT_LEN], dflt[PARAM_TEXT_LEN], range[PARAM_TEXT_LEN];

	/* A changed one is marked in front, where a narrow terminal does not cut it off. */
	printf("  %-18s %-34s %-34s %-18s %-8s %s\n", "KEY", "VALUE", "DEFAULT", "RANGE", "UNIT",
	       "MEANING");
	for (size_t i = 0; i < nr_params; i++) {
		const struct param *param = &params[i];

		if (!is_wanted(param, argc, argv))
			continue;
		param_format(param, p, value, sizeof(value));
		param_format(param, &params_default, dflt, sizeof(dflt));
		param_format_range(param, range, sizeof(range));
		printf("%c %-18s %-34s %-34s %-18s %-8s %s\n",
		       param_equal(param, p, &params_default) ? ' ' : '*', param->key, value, dflt,
		       range, param_unit_name(param), param->help);
	}
}

static void show_json(const struct options *opt, const struct bbr_params *p, int argc, char **argv)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < nr_params; i++) {
		const struct param *param = &params[i];
		struct json_object *entry;

		if (!is_wanted(param, argc, argv))
			continue;
		entry = json_object_new_object();
		json_object_object_add(entry, "key", json_object_new_string(param->key));
		json_object_object_add(entry, "value", param_json(param, p));
		json_object_object_add(entry, "default", param_json(param, &params_default));
		json_object_object_add(entry, "range", param_range_json(param));
		json_object_object_add(entry, "unit",
				       json_object_new_string(param_unit_name(param)));
		json_object_object_add(
			entry, "changed",
			json_object_new_boolean(!param_equal(param, p, &params_default)));
		json_object_object_add(entry, "meaning", json_object_new_string(param->help));
		json_object_array_add(list, entry);
	}
	json_object_object_add(o, "name", json_object_new_string(opt->defaults ? "" : opt->name));
	json_object_object_add(o, "params", list);
	json_print(o);
}

static int read_params(const char *name, struct bbr_params *p)
{
	struct instance inst;
	int error, fd, ret;

	if (!have_caps("cannot look at an instance"))
		return EXIT_REFUSED;
	ret = instance_get(name, &inst);
	if (ret)
		return ret;
	fd = instance_map(inst.params_id);
	if (fd < 0)
		return err_bpf(fd, "cannot open the instance's parameters");
	error = profile_read(fd, p);
	close(fd);
	return error ? err_bpf(error, "cannot read the instance's parameters") : EXIT_DONE;
}

int verb_show(const struct options *opt, int argc, char **argv)
{
	struct bbr_params p = params_default;
	int ret;

	for (int i = 1; i < argc; i++) {
		if (!param_find(argv[i], strlen(argv[i]))) {
			err("show: no parameter has the key %s", argv[i]);
			remedy("bbrctl show --defaults lists all keys");
			return EXIT_USAGE;
		}
	}
	if (!opt->defaults) {
		ret = read_params(opt->name, &p);
		if (ret)
			return ret;
	}
	if (opt->json)
		show_json(opt, &p, argc, argv);
	else
		show_text(&p, argc, argv);
	return EXIT_DONE;
}
