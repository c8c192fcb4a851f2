// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "machine/machine.h"

/*
 * Only bbrctl freezes the map of an instance's clamped parameters. The kernel shows that only here.
 * Returns 1, 0, or -errno.
 */
static int is_ours(const struct instance *inst)
{
	int fd AUTO_CLOSE = instance_map(inst->clamped_id), frozen = 0;
	FILE *f AUTO_FCLOSE = NULL;
	char path[64], line[128];

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!frozen && fgets(line, sizeof(line), f))
		sscanf(line, "frozen: %d", &frozen);
	return frozen;
}

static int read_profiles(struct machine_instance *inst, int index[BBR_PROFILES])
{
	char name[BBR_PROFILE_NAME_LEN];
	int ret = EXIT_DONE;

	for (int i = 0; !ret && i < BBR_PROFILES; i++) {
		profile_name(&inst->map, i, name);
		index[i] = 0; /* as the program does: no profile means the default */
		if (!name[0])
			continue;
		ret = profile_definitions_begin(&inst->profiles, "", name);
		if (ret)
			return ret;
		index[i] = inst->profiles.n - 1;
		profile_read(&inst->map, i, &inst->profiles.def[index[i]].params);
	}
	return ret;
}

static int read_tuning(struct machine_instance *inst)
{
	int index[BBR_PROFILES], ret = profile_map_open(&inst->loaded, &inst->map);

	if (ret)
		return ret;
	inst->is_open = true;
	inst->profiles.algorithm = inst->algorithm;
	ret = read_profiles(inst, index);
	if (!ret)
		ret = rule_list_read(&inst->loaded, &inst->rules);
	for (__u32 i = 0; !ret && i < inst->rules.n; i++) {
		struct bbr_rule *rule = &inst->rules.rule[i];

		rule->profile = rule->profile < BBR_PROFILES ? index[rule->profile] : 0;
	}
	return ret;
}

static int read_instance(struct machine *m, const struct instance *loaded, bool with_tuning)
{
	struct machine_instance *inst = machine_add_instance(m, loaded->name);
	int ours;

	inst->loaded = *loaded;
	inst->algorithm = loaded->algorithm;
	memcpy(inst->version, loaded->abi.version, sizeof(inst->version));
	ours = loaded->clamped_id ? is_ours(loaded) : 0;
	if (ours < 0)
		return err_bpf(ours, loaded->name);
	inst->is_ours = ours;
	inst->is_applied = loaded->applied_id;
	return loaded->supported && with_tuning ? read_tuning(inst) : EXIT_DONE;
}

static int read_notes(struct machine *m, const struct instance *loaded)
{
	struct default_note *list AUTO_FREE = NULL;
	int n = default_notes(loaded, &list);

	if (n < 0)
		return err_bpf(n, "cannot read the previous defaults");
	for (int i = 0; i < n; i++) {
		struct machine_note note = { .inode = list[i].inode };
		int applied = applied_has_default(loaded, list[i].inode);

		if (applied < 0)
			return err_bpf(applied, "cannot read the defaults that an apply set");
		note.is_applied = applied;
		strcpy(note.name, loaded->name);
		strcpy(note.previous, list[i].previous);
		machine_add_note(m, &note);
	}
	return EXIT_DONE;
}

int machine_kernel_read(const char *only, const struct machine *wanted, struct machine *m)
{
	struct instance *list AUTO_FREE = NULL;
	int ret = EXIT_DONE, n = instance_list(&list);

	*m = (struct machine){ .is_found = true };
	if (n < 0)
		return err_bpf(n, "cannot list instances");
	for (int i = 0; !ret && i < n; i++) {
		ret = read_instance(m, &list[i], !only || !strcmp(only, list[i].name));
		if (!ret)
			ret = read_notes(m, &list[i]);
	}
	if (ret)
		return ret;
	ret = defaults_list(&m->def, &n);
	m->n_defaults = n;
	if (ret)
		return ret;
	n = attachments_list(&m->attached);
	if (n < 0)
		return err_bpf(n, "cannot look at the cgroups");
	m->n_attached = n;
	return machine_read_routes(wanted, m);
}
