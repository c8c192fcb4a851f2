// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "machine/machine.h"

/* Makes room for one more of size bytes, all zeros. */
static void *grow(void *array, size_t *n, size_t size)
{
	char **list = array;

	*list = mem_grow(*list, *n, size);
	return memset(*list + (*n)++ * size, 0, size);
}

static void set_name(char to[BBR_NAME_LEN], const char *name)
{
	strncpy(to, name, BBR_NAME_LEN - 1);
}

struct machine_instance *machine_add_instance(struct machine *m, const char *name)
{
	struct machine_instance *inst = grow(&m->instance, &m->n_instances, sizeof(*m->instance));

	set_name(inst->name, name);
	return inst;
}

void machine_add_default(struct machine *m, const char *netns, __u32 inode, const char *name)
{
	struct machine_default *def = grow(&m->def, &m->n_defaults, sizeof(*m->def));

	def->netns = mem_copy(netns);
	def->inode = inode;
	set_name(def->name, name);
}

void machine_add_note(struct machine *m, const struct machine_note *note)
{
	*(struct machine_note *)grow(&m->note, &m->n_notes, sizeof(*note)) = *note;
}

struct attachment *machine_add_attachment(struct machine *m, const char *path, const char *name)
{
	struct attachment *at = grow(&m->attached, &m->n_attached, sizeof(*m->attached));

	at->path = mem_copy(path);
	at->place = mem_copy(path);
	set_name(at->name, name);
	return at;
}

struct machine_route *machine_add_route(struct machine *m, const char *netns, __u32 inode)
{
	struct machine_route *r = grow(&m->route, &m->n_routes, sizeof(*m->route));

	r->netns = mem_copy(netns);
	r->inode = inode;
	return r;
}

struct machine_pods *machine_add_pods(struct machine *m, const char *which, const char *name)
{
	struct machine_pods *p = grow(&m->pods, &m->n_pods, sizeof(*m->pods));

	p->which = mem_copy(which);
	set_name(p->name, name);
	return p;
}

static void free_route(struct machine_route *r)
{
	free(r->netns);
	route_free(&r->is);
}

static void free_instance(struct machine_instance *inst)
{
	profile_definitions_free(&inst->profiles);
	rule_list_free(&inst->rules);
	profile_map_close(&inst->map);
}

void machine_free(struct machine *m)
{
	for (size_t i = 0; i < m->n_instances; i++)
		free_instance(&m->instance[i]);
	free(m->instance);
	for (size_t i = 0; i < m->n_defaults; i++)
		free(m->def[i].netns);
	free(m->def);
	free(m->note);
	attachments_free(m->attached, m->n_attached);
	for (size_t i = 0; i < m->n_routes; i++)
		free_route(&m->route[i]);
	free(m->route);
	for (size_t i = 0; i < m->n_pods; i++)
		free(m->pods[i].which);
	free(m->pods);
	*m = (struct machine){};
}

struct machine_instance *machine_instance(const struct machine *m, const char *name)
{
	for (size_t i = 0; i < m->n_instances; i++)
		if (!strcmp(m->instance[i].name, name))
			return &m->instance[i];
	return NULL;
}

const struct machine_default *machine_default(const struct machine *m, __u32 inode)
{
	for (size_t i = 0; i < m->n_defaults; i++)
		if (m->def[i].inode == inode)
			return &m->def[i];
	return NULL;
}

const struct attachment *machine_attachment(const struct machine *m, const char *path)
{
	for (size_t i = 0; i < m->n_attached; i++)
		if (!strcmp(m->attached[i].path, path))
			return &m->attached[i];
	return NULL;
}

const struct machine_note *machine_note(const struct machine *m, const char *name, __u32 inode)
{
	for (size_t i = 0; i < m->n_notes; i++)
		if (m->note[i].inode == inode && !strcmp(m->note[i].name, name))
			return &m->note[i];
	return NULL;
}

const struct machine_route *machine_route(const struct machine *m, __u32 inode,
					  const struct route_prefix *to)
{
	for (size_t i = 0; i < m->n_routes; i++)
		if (m->route[i].inode == inode && route_prefix_equal(&m->route[i].is.to, to))
			return &m->route[i];
	return NULL;
}

void machine_narrow(struct machine *m, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_instances; i++)
		if (strcmp(m->instance[i].name, name))
			free_instance(&m->instance[i]);
		else
			m->instance[n++] = m->instance[i];
	m->n_instances = n;
	n = 0;
	for (size_t i = 0; i < m->n_defaults; i++)
		if (strcmp(m->def[i].name, name))
			free(m->def[i].netns);
		else
			m->def[n++] = m->def[i];
	m->n_defaults = n;
	n = 0;
	for (size_t i = 0; i < m->n_attached; i++)
		if (strcmp(m->attached[i].name, name))
			attachment_free(&m->attached[i]);
		else
			m->attached[n++] = m->attached[i];
	m->n_attached = n;
	n = 0;
	for (size_t i = 0; i < m->n_routes; i++)
		if (strcmp(m->route[i].name, name))
			free_route(&m->route[i]);
		else
			m->route[n++] = m->route[i];
	m->n_routes = n;
	n = 0;
	for (size_t i = 0; i < m->n_pods; i++)
		if (strcmp(m->pods[i].name, name))
			free(m->pods[i].which);
		else
			m->pods[n++] = m->pods[i];
	m->n_pods = n;
}

const char *machine_rule_profile(const struct machine_instance *inst, const struct bbr_rule *rule)
{
	return inst->profiles.def[rule->profile].name;
}

/* By the id that it has now, as rule add has it. */
static struct bbr_rule with_id(const struct bbr_rule *rule)
{
	struct bbr_rule same = *rule;
	__u64 id = rule->path ? cgroup_id_now(rule->path) : 0;

	if (!id)
		return same;
	same.path = NULL;
	same.fields |= BBR_RULE_CGROUP;
	same.cgroup = id;
	same.n_more--; /* it is the last one */
	return same;
}

bool machine_same_rule(const struct machine_instance *a, __u32 i, const struct machine_instance *b,
		       __u32 k)
{
	struct bbr_rule x = with_id(&a->rules.rule[i]), y = with_id(&b->rules.rule[k]);
	const struct rule_list one = { &y, 1 };

	return !rule_list_find(&one, &x) &&
	       !strcmp(machine_rule_profile(a, &x), machine_rule_profile(b, &y));
}

bool machine_same_rules(const struct machine_instance *a, const struct machine_instance *b)
{
	if (a->rules.n != b->rules.n)
		return false;
	for (__u32 i = 0; i < a->rules.n; i++)
		if (!machine_same_rule(a, i, b, i))
			return false;
	return true;
}
