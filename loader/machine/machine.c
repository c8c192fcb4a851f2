// SPDX-License-Identifier: GPL-2.0-only
#include "machine/machine.h"

/* One more element of a list, all zeros. */
#define ADD(list, n) (MEM_ADD(list, n) = (__typeof__(*(list))){}, &(list)[(n) - 1])

static void set_name(char to[BBR_NAME_LEN], const char *name)
{
	strncpy(to, name, BBR_NAME_LEN - 1);
}

struct machine_instance *machine_add_instance(struct machine *m, const char *name)
{
	struct machine_instance *inst = ADD(m->instance, m->n_instances);

	set_name(inst->name, name);
	return inst;
}

void machine_add_default(struct machine *m, const char *netns, __u32 inode, const char *name)
{
	struct default_of *def = ADD(m->def, m->n_defaults);

	def->netns = mem_copy(netns);
	def->inode = inode;
	set_name(def->name, name);
}

struct attachment *machine_add_attachment(struct machine *m, const char *path, const char *name)
{
	struct attachment *at = ADD(m->attached, m->n_attached);

	at->path = mem_copy(path);
	at->place = mem_copy(path);
	set_name(at->name, name);
	return at;
}

struct machine_route *machine_add_route(struct machine *m, const char *netns, __u32 inode)
{
	struct machine_route *r = ADD(m->route, m->n_routes);

	r->netns = mem_copy(netns);
	r->inode = inode;
	return r;
}

static void free_instance(struct machine_instance *inst)
{
	profile_definitions_free(&inst->profiles);
	rule_list_free(&inst->rules);
	profile_map_close(&inst->map);
}

static void free_default(struct default_of *def)
{
	free(def->netns);
}

static void free_route(struct machine_route *r)
{
	free(r->netns);
	route_free(&r->is);
}

static void free_pods(struct machine_pods *p)
{
	free(p->which);
}

/* Keeps what belongs to the instance `only` in a list of the machine; NULL: nothing. */
#define KEEP(list, n, only, free_one)                         \
	do {                                                  \
		size_t kept = 0;                              \
                                                              \
		for_each (one, list, n)                       \
			if (only && !strcmp(one->name, only)) \
				(list)[kept++] = *one;        \
			else                                  \
				free_one(one);                \
		n = kept;                                     \
	} while (0)

void machine_narrow(struct machine *m, const char *name)
{
	KEEP(m->instance, m->n_instances, name, free_instance);
	KEEP(m->def, m->n_defaults, name, free_default);
	KEEP(m->attached, m->n_attached, name, attachment_free);
	KEEP(m->route, m->n_routes, name, free_route);
	KEEP(m->pods, m->n_pods, name, free_pods);
}

void machine_free(struct machine *m)
{
	machine_narrow(m, NULL);
	free(m->instance);
	free(m->def);
	free(m->note);
	free(m->attached);
	free(m->route);
	free(m->pods);
	*m = (struct machine){};
}

struct machine_instance *machine_instance(const struct machine *m, const char *name)
{
	for_each (inst, m->instance, m->n_instances)
		if (!strcmp(inst->name, name))
			return inst;
	return NULL;
}

const struct default_of *machine_default(const struct machine *m, __u32 inode)
{
	for_each (def, m->def, m->n_defaults)
		if (def->inode == inode)
			return def;
	return NULL;
}

const struct attachment *machine_attachment(const struct machine *m, const char *path)
{
	for_each (at, m->attached, m->n_attached)
		if (!strcmp(at->path, path))
			return at;
	return NULL;
}

const struct machine_note *machine_note(const struct machine *m, const char *name, __u32 inode)
{
	for_each (note, m->note, m->n_notes)
		if (note->inode == inode && !strcmp(note->name, name))
			return note;
	return NULL;
}

const struct machine_route *machine_route(const struct machine *m, __u32 inode,
					  const struct route_prefix *to)
{
	for_each (r, m->route, m->n_routes)
		if (r->inode == inode && route_prefix_equal(&r->is.to, to))
			return r;
	return NULL;
}

bool machine_leads_to(const struct machine *m, __u32 inode, const struct route_prefix *to)
{
	for_each (r, m->route, m->n_routes)
		if (r->inode == inode && route_prefix_has(to, &r->is.to))
			return true;
	return false;
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
