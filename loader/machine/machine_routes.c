// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routes whose congctl is an instance. A route that is there gets it; what it had before is noted with
 * the instance. For a prefix without a route of its own, one is made that leads as its packets do now.
 */
#include <errno.h>

#include "address.h"
#include "cli/json.h"
#include "kernel/netns.h"
#include "machine/plan.h"

/* ---- the line of a file */

static int add_wanted(struct machine *m, const char *name, const struct route *to,
		      const char *netns, const char *value)
{
	const struct machine_route *other;
	struct machine_route *new;
	__u32 inode;
	int ret = netns_inode("route: --netns", netns, &inode);

	if (ret)
		return ret;
	other = machine_route(m, inode, &to->to);
	if (other)
		return err_usage("route %s: this prefix already has %s\n"
				 "name each prefix of a network namespace in only one line route",
				 value, other->name);
	new = machine_add_route(m, netns, inode);
	strcpy(new->name, name);
	new->is = *to;
	return EXIT_DONE;
}

int machine_take_route(struct machine *m, const char *name, const char *value)
{
	char *line AUTO_FREE = mem_copy(value), *rest = line, *word, *netns = NULL, *prefix = NULL;
	const char *wrong = NULL;
	struct route to = {};
	__u32 mask[4];

	while (!netns && (word = strtok_r(rest, " \t", &rest))) {
		if (!strcmp(word, "--lock"))
			to.is_locked = true;
		else if (!strcmp(word, "--netns"))
			netns = rest + strspn(rest, " \t");
		else if (prefix || !strncmp(word, "--", 2))
			wrong = "not one prefix, --lock, and --netns last";
		else
			prefix = word;
	}
	if (netns && !wrong)
		wrong = text_unquote(netns);
	if (!wrong && !prefix)
		wrong = "a prefix is missing";
	if (wrong)
		return err_usage("route %s: %s\n"
				 "write: route = PREFIX [--lock] [--netns N]",
				 value, wrong);
	if (!parse_prefix("route", prefix, to.to.addr, mask))
		return EXIT_USAGE;
	to.to.len = prefix_bits(mask);
	return add_wanted(m, name, &to, netns ? netns : NETNS_OWN, value);
}

/* ---- what the kernel has */

struct looking {
	const struct machine *wanted; /* NULL: nothing */
	struct machine *m;
	const struct netns *ns;
	__u32 own; /* inode */
};

/* True if the route is one that a machine has, as machine.h says. */
static bool is_of_interest(const struct route *r, void *data)
{
	const struct looking *l = data;

	return r->protocol == ROUTE_PROTOCOL ||
	       (r->congctl[0] && machine_instance(l->m, r->congctl)) ||
	       (l->wanted && machine_leads_to(l->wanted, l->ns->inode, &r->to));
}

static int judge_found(const struct machine *m, struct machine_route *r)
{
	const struct machine_instance *inst = machine_instance(m, r->name);
	int ret = inst ? route_note_read(&inst->loaded, r->inode, &r->is, &r->note) : 0;

	if (ret < 0)
		return err_bpf(ret, "cannot read which routes an apply set");
	r->is_applied = ret || r->is.protocol == ROUTE_PROTOCOL;
	return EXIT_DONE;
}

static int look_at(const struct netns *ns, void *data)
{
	struct looking *l = data;
	struct route *list AUTO_FREE = NULL;
	size_t first = l->m->n_routes;
	int n, ret = EXIT_DONE;

	l->ns = ns;
	n = routes_list(is_of_interest, l, &list);
	if (n < 0)
		return err_refused("cannot read the routes of network namespace %s: %s", ns->name,
				   strerror(-n));
	for (int i = 0; i < n; i++) {
		struct machine_route *r = machine_add_route(
			l->m, ns->inode == l->own ? NETNS_OWN : ns->name, ns->inode);

		r->is = list[i];
		strcpy(r->name, list[i].congctl);
		for (size_t k = first; k + 1 < l->m->n_routes; k++)
			if (route_prefix_equal(&l->m->route[k].is.to, &r->is.to) &&
			    l->m->route[k].is.metric == r->is.metric)
				r->is_twin = l->m->route[k].is_twin = true;
		if (!ret)
			ret = judge_found(l->m, r);
	}
	return ret;
}

int machine_read_routes(const struct machine *wanted, struct machine *m)
{
	struct looking l = { .wanted = wanted, .m = m };

	if (netns_inode("routes:", NETNS_OWN, &l.own))
		return EXIT_REFUSED;
	return netns_for_each(look_at, &l);
}

/* ---- changes */

static int refuse_route(const struct step *s, const char *why)
{
	char *route AUTO_FREE = machine_route_name(STEP_OF(s, route));

	return err_refused("%s: route %s: %s", s->name, route, why);
}

static int ask_for_table(UNUSED const struct netns *ns, void *data)
{
	const struct step *s = data;
	char why[128];
	__u32 table;

	if (route_is_main(&s->route_wanted->is.to, &table))
		return EXIT_DONE;
	snprintf(why, sizeof(why), "packets to it do not take table main, but %s%.0u",
		 table ? "table " : "none", table);
	return refuse_route(s, why);
}

int route_prepare(const struct step *s)
{
	const struct machine_route *r = s->route_found ? s->route_found : s->route_as;
	int ret = EXIT_DONE;

	if (r->is.type != RTN_UNICAST)
		ret = refuse_route(s, "leads nowhere (blackhole, unreachable, ...)");
	else if (s->route_found && r->is_twin)
		ret = refuse_route(s, "the kernel cannot change one of two with the same metric");
	else if (s->route_found && r->is.is_dynamic)
		ret = refuse_route(s, "is of router advertisements, which could not renew it then");
	if (ret)
		remedy("default_in and attach need no route");
	else if (s->route_as)
		ret = netns_visit(s->route_wanted->netns, ask_for_table, (void *)s);
	return ret;
}

/* What is done to a route in its namespace. */
struct change {
	const struct route *is; /* what must be there, whole; NULL: does not matter */
	struct route to;
	int flags; /* 0: delete it */
	int error;
};

static bool is_the_one(const struct route *r, void *data)
{
	const struct change *c = data;

	return r->metric == c->to.metric && route_prefix_equal(&r->to, &c->to.to);
}

/* Returns -EAGAIN if somebody changed the route after we read it: our message has all of it. */
static int check_unchanged(struct change *c)
{
	struct route *list AUTO_FREE = NULL;
	int n = routes_list(is_the_one, c, &list), error = n < 0 ? n : -EAGAIN;

	for_each (r, list, n) {
		if (route_same(r, c->is))
			error = 0;
		route_free(r);
	}
	return error;
}

static int change_here(UNUSED const struct netns *ns, void *data)
{
	struct change *c = data;

	c->error = c->is ? check_unchanged(c) : 0;
	if (!c->error)
		c->error = c->flags ? route_write(&c->to, c->flags) : route_delete(&c->to);
	/* What it had before is gone. */
	if (c->error == -EINVAL && c->flags == NLM_F_REPLACE && c->to.congctl[0]) {
		c->to.congctl[0] = 0;
		c->error = route_write(&c->to, c->flags);
	}
	return EXIT_DONE;
}

static int change_route(const struct step *s, struct change *c)
{
	const struct machine_route *r = s->route_found ? s->route_found : s->route_wanted;
	int ret = netns_visit(r->netns, change_here, c);
	char why[128];

	if (ret)
		return EXIT_REFUSED;
	if (!c->error)
		return EXIT_DONE;
	snprintf(why, sizeof(why), "cannot be changed: %s",
		 c->error == -EAGAIN ? "somebody else has just changed it" : strerror(-c->error));
	return refuse_route(s, why);
}

/* Writes the note of an instance, which may be gone if there is nothing to note. */
static int write_note(const char *name, const struct machine_route *r,
		      const struct route_note *note)
{
	struct instance inst;
	int ret;

	if (!note && instance_id(name) <= 0)
		return EXIT_DONE;
	ret = instance_get(name, &inst);
	return ret ? ret :
		     err_bpf(route_note_write(&inst, r->inode, &r->is, note),
			     "cannot note that an apply set a route");
}

static bool is_made(const struct machine_route *r)
{
	return r && r->is.protocol == ROUTE_PROTOCOL;
}

/* What a route had before the first of our instances. If it has this one, the file takes it over. */
static struct route_note note_before(const struct machine_route *r, const char *name)
{
	struct route_note note = r->note;

	if (!r->is_applied && strcmp(r->name, name)) {
		strcpy(note.previous, r->is.congctl);
		note.was_locked = r->is.is_locked;
	}
	return note;
}

int route_carry_out(const struct step *s)
{
	const struct machine_route *found = s->route_found;
	struct change c = { .is = found ? &found->is : NULL,
			    .flags = found ? NLM_F_REPLACE : NLM_F_CREATE | NLM_F_EXCL };
	struct route_note note;
	int ret = EXIT_DONE;

	c.to = s->route_as ? route_made(&s->route_as->is, &s->route_wanted->is.to) : found->is;
	strcpy(c.to.congctl, s->name);
	c.to.is_locked = s->route_wanted->is.is_locked;
	/* Note it first: if we are killed here, it can be undone. */
	if (found && !is_made(found)) {
		note = note_before(found, s->name);
		ret = write_note(s->name, found, &note);
	}
	if (!ret)
		ret = change_route(s, &c);
	if (!ret && found && found->is_applied && strcmp(found->name, s->name))
		ret = write_note(found->name, found, NULL);
	return ret;
}

int route_back(const struct step *s)
{
	const struct machine_route *found = s->route_found;
	struct change c = { .is = &found->is,
			    .to = found->is,
			    .flags = is_made(found) ? 0 : NLM_F_REPLACE };
	int ret;

	memcpy(c.to.congctl, found->note.previous, sizeof(c.to.congctl));
	c.to.is_locked = found->note.was_locked;
	ret = change_route(s, &c);
	return ret || is_made(found) ? ret : write_note(s->name, found, NULL);
}

int route_undo(const struct step *s)
{
	const struct machine_route *found = s->route_found;
	struct change c = { .flags = NLM_F_CREATE | NLM_F_REPLACE };
	int ret;

	if (found) {
		c.to = found->is;
	} else {
		c.to = route_made(&s->route_as->is, &s->route_wanted->is.to);
		c.flags = 0;
	}
	ret = change_route(s, &c);
	if (ret || !found || is_made(found))
		return ret;
	if (!found->is_applied || strcmp(found->name, s->name))
		ret = write_note(s->name, found, NULL);
	if (!ret && found->is_applied)
		ret = write_note(found->name, found, &found->note);
	return ret;
}

int routes_take_over(const struct machine *wanted, const struct machine *found)
{
	static const struct route_note none;
	int ret = EXIT_DONE;

	for_each (r, found->route, found->n_routes) {
		const struct machine_route *same = machine_route(wanted, r->inode, &r->is.to);

		if (!ret && !r->is_applied && same && !strcmp(same->name, r->name))
			ret = write_note(r->name, r, &none);
	}
	return ret;
}

int machine_routes_back(const struct instance *inst, struct json *j)
{
	struct machine m AUTO(machine_free) = { .is_found = true };
	int ret;

	machine_add_instance(&m, inst->name)->loaded = *inst;
	/* Only an apply gives routes, and not each unload can look through all namespaces. */
	ret = inst->applied_id ? machine_read_routes(NULL, &m) : EXIT_DONE;
	if (j)
		json_open_array(j, "routes");
	for_each (r, m.route, m.n_routes) {
		const struct step s = { .kind = STEP_ROUTE_BACK,
					.name = inst->name,
					.route_found = r };

		if (ret || !r->is_applied || strcmp(r->name, inst->name))
			continue;
		ret = route_back(&s);
		if (!ret && j)
			machine_add_route_json(j, r);
		else if (!ret)
			step_print(&s, true);
	}
	if (j)
		json_close(j);
	return ret;
}
