// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "machine/plan.h"

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
	int ret;

	for (int i = 0; i < BBR_PROFILES; i++) {
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
	return EXIT_DONE;
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
	for_each (rule, inst->rules.rule, inst->rules.n)
		rule->profile = rule->profile < BBR_PROFILES ? index[rule->profile] : 0;
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
	for_each (of, list, n) {
		struct machine_note note = { .inode = of->inode };
		int applied = applied_has_default(loaded, of->inode);

		if (applied < 0)
			return err_bpf(applied, "cannot read the defaults that an apply set");
		note.is_applied = applied;
		strcpy(note.name, loaded->name);
		strcpy(note.previous, of->previous);
		MEM_ADD(m->note, m->n_notes) = note;
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
	for_each (inst, list, n) {
		if (!ret)
			ret = read_instance(m, inst, !only || !strcmp(only, inst->name));
		if (!ret)
			ret = read_notes(m, inst);
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

int plan_read(const struct machine *wanted, const char *only, bool prune, struct machine *found,
	      struct plan *plan)
{
	int ret = machine_kernel_read(only, wanted, found);

	if (!ret)
		plan_make(wanted, found, only, prune, plan);
	return ret;
}
