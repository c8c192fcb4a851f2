// SPDX-License-Identifier: GPL-2.0-only
/* Sockets: what each group should use, and why it does not. */
#include "address.h"
#include "check.h"

/* An attachment to a name that is not loaded has no effect, unless the file loads it. */
static bool is_meant(const struct check *c, const struct meant_at *at)
{
	return check_loaded(c, at->name) || machine_instance(&c->wanted, at->name);
}

static bool asks_for_device(const struct attachment *at)
{
	for_each (term, at->term, at->n)
		if (term->kind == BBR_TERM_DEV)
			return true;
	return false;
}

/*
 * True if it is not known whether an attachment means a socket: a listener has no other end, and a
 * connection without a route at present has no device.
 */
static bool is_vague(const struct meant_at *at, const struct use *u)
{
	return at->is->n && (at->condition == USES_CONDITIONS || u->key.flags & USES_LISTENER ||
			     (u->key.flags & USES_NO_ROUTE && asks_for_device(at->is)));
}

static bool holds(const struct meant_at *at, const struct use *u)
{
	return !at->is->n || is_vague(at, u) || u->key.held & 1ull << at->condition;
}

/* The innermost attachment of a socket's cgroup, one with conditions first; NULL: none. */
static const struct meant_at *attachment_of(const struct check *c, const struct use *u)
{
	const struct meant_at *found = NULL;

	for_each (at, c->meant, c->n_meant) {
		size_t len = strlen(at->cgroup), best = found ? strlen(found->cgroup) : 0;

		if (u->cgroup[0] && is_meant(c, at) && cgroup_is_within(u->cgroup, at->cgroup) &&
		    holds(at, u) && (!found || len > best || (len == best && at->is->n)))
			found = at;
	}
	return found;
}

/* True if the machine has the route as the file says. */
static bool is_routed(const struct check *c, const struct machine_route *wanted)
{
	bool has = false;

	for_each (r, c->found.route, c->found.n_routes) {
		if (r->inode != wanted->inode || !route_prefix_equal(&r->is.to, &wanted->is.to))
			continue;
		if (strcmp(r->name, wanted->name))
			return false;
		has = true;
	}
	return has;
}

const char *default_meant(const struct check *c, const struct checked_netns *ns)
{
	const struct default_of *def = machine_default(&c->wanted, ns->inode);

	if (def)
		return def->name;
	return check_loaded(c, ns->def) ? ns->def : NULL;
}

static bool is_in_experiment(const struct check *c, const struct use *u)
{
	for_each (cgroup, c->experiment, c->n_experiments)
		if (u->cgroup[0] && cgroup_is_within(u->cgroup, *cgroup))
			return true;
	return false;
}

/* What sockets should use: by a route, an attachment, or the namespace's default. */
struct meant {
	const char *name; /* NULL: anything */
	const struct machine_route *route;
	const struct meant_at *at;
	enum use_cause cause; /* why they do not, unless there is another reason */
};

/*
 * An attachment decides after a route, unless the route is locked. If the socket's own cgroup has
 * none, that of its process counts.
 */
static struct meant meant_for(const struct check *c, const struct checked_netns *ns,
			      const struct use *u)
{
	struct meant m = { .at = attachment_of(c, u), .cause = USE_OLD };
	const struct meant_at *of_process = NULL;

	if (u->key.route && u->key.route <= c->wanted.n_routes)
		m.route = &c->wanted.route[u->key.route - 1];
	if (u->key.attachment && u->key.attachment <= c->n_meant)
		of_process = &c->meant[u->key.attachment - 1];
	if (m.route && m.at && !m.route->is.is_locked)
		m.route = NULL;
	if (m.route)
		m.at = NULL;
	if (!m.route && !m.at && of_process && is_meant(c, of_process) && holds(of_process, u)) {
		m.at = of_process;
		m.cause = USE_OTHER_CGROUP;
	}
	m.name = m.route ? m.route->name : m.at ? m.at->name : default_meant(c, ns);
	return m;
}

/* Why they do not use it, though their code is loaded. */
static enum use_cause cause_of(const struct check *c, const struct checked_netns *ns,
			       const struct use *u, const struct meant *m)
{
	if (u->key.flags & USES_CHOSEN)
		return USE_CHOSEN;
	if (m->cause == USE_OTHER_CGROUP)
		return m->cause;
	if (u->key.flags & USES_ROUTE && !(m->route && is_routed(c, m->route)))
		return USE_BY_ROUTE;
	if (!check_loaded(c, m->name))
		return USE_NOT_LOADED;
	if (m->route)
		return is_routed(c, m->route) ? USE_OLD : USE_NOT_ROUTED;
	if (m->at && !m->at->is_attached)
		return USE_NOT_ATTACHED;
	if (!m->at && strcmp(m->name, ns->def))
		return USE_NOT_DEFAULT;
	return u->key.flags & USES_NO_ROUTE ? USE_OLD_OR_ROUTE : m->cause;
}

/* What sockets should use and why they do not. The name is NULL if they do, or may use anything. */
static struct meant judge_use(const struct check *c, const struct checked_netns *ns,
			      const struct use *u)
{
	struct meant m = meant_for(c, ns, u);

	if (is_in_experiment(c, u)) {
		m.name = NULL;
	} else if (check_is_unloaded(c, u->is.map_id)) {
		m.cause = USE_UNLOADED;
		m.name = m.name				      ? m.name :
			 check_is_unloaded(c, ns->def_map_id) ? u->is.name :
								ns->def;
	} else if (!m.name || !strcmp(m.name, u->is.name) || (m.at && is_vague(m.at, u))) {
		m.name = NULL;
	} else {
		m.cause = cause_of(c, ns, u, &m);
	}
	return m;
}

/* Attached sockets must not be moved along with those of the namespace that use the same. */
static bool is_attached_name(const struct check *c, const char *name)
{
	for_each (at, c->meant, c->n_meant)
		if (!strcmp(at->name, name))
			return true;
	return false;
}

static struct finding *use_finding(struct check *c, const struct checked_netns *ns,
				   const struct use *u, const struct meant *m)
{
	const struct meant_at *at = m->cause != USE_OTHER_CGROUP ? m->at : NULL;
	const char *cgroup = at ? at->cgroup : is_attached_name(c, u->is.name) ? u->cgroup : NULL;
	struct finding *f;

	for_each (known, c->finding, c->n_findings)
		if (known->kind == FINDING_USE && known->ns == ns && known->cause == m->cause &&
		    known->route == m->route && known->at == at &&
		    !strcmp(known->used, u->is.name) && !strcmp(known->wanted, m->name) &&
		    (cgroup ? known->cgroup && !strcmp(known->cgroup, cgroup) : !known->cgroup))
			return known;
	f = finding_add(c, FINDING_USE, ns, NULL, NULL);
	f->cause = m->cause;
	f->first = u;
	f->route = m->route;
	f->at = at;
	f->cgroup = cgroup;
	strcpy(f->used, u->is.name);
	snprintf(f->wanted, sizeof(f->wanted), "%s", m->name);
	return f;
}

static struct checked_netns *netns_of(const struct check *c, const struct use *u)
{
	for_each (ns, c->ns, c->n_ns)
		if (ns->inode == u->key.netns && ns->name)
			return ns;
	return NULL;
}

#define MAX(a, b) ((a) > (b) ? (a) : (b))

static void add_use(struct checked_netns *ns, const struct use *u)
{
	const struct uses_group *is = &u->is;

	if (!ns->container[0])
		cgroup_container(u->cgroup, CGROUP_PODS, ns->container, sizeof(ns->container));
	if (u->key.flags & USES_LISTENER)
		return;
	ns->n += is->n;
	ns->by_fq += is->by_fq;
	ns->by_tcp += is->by_tcp;
	ns->bytes_acked += is->bytes_acked;
	ns->bytes_received += is->bytes_received;
	ns->bdp_sent = MAX(ns->bdp_sent, is->bdp_sent);
	ns->bdp_received = MAX(ns->bdp_received, is->bdp_received);
	ns->rate = MAX(ns->rate, is->rate);
}

static void judge_each(struct check *c)
{
	for_each (u, c->use, c->n_uses) {
		struct checked_netns *ns = netns_of(c, u);
		struct finding *f;
		struct meant m;

		if (!ns)
			continue;
		add_use(ns, u);
		m = judge_use(c, ns, u);
		if (!m.name)
			continue;
		f = use_finding(c, ns, u, &m);
		*(u->key.flags & USES_LISTENER ? &f->listeners : &f->connections) += u->is.n;
	}
}

/* "/system.slice/x.service", "route 203.0.113.0/24", for which something is meant; until the next call. */
static const char *meant_place(const struct finding *f)
{
	static char route[sizeof("route ") + ADDRESS_TEXT_LEN];
	size_t n = strlen("route ");

	if (!f->route)
		return f->cgroup ? text_shown(f->cgroup) : "the namespace";
	memcpy(route, "route ", n);
	format_prefix(route + n, sizeof(route) - n, f->route->is.to.addr, f->route->is.to.len);
	return route;
}

static char *why(const struct check *c, const struct finding *f)
{
	switch (f->cause) {
	case USE_UNLOADED:
		return mem_copy("this code was unloaded or replaced");
	case USE_CHOSEN:
		return mem_copy("the application or another program chose it (setsockopt)");
	case USE_BY_ROUTE:
		return mem_format("their route has congctl %s", f->used);
	case USE_OTHER_CGROUP:
		return mem_format(
			"their socket was created in the cgroup %s, before the process entered %s",
			f->first->cgroup[0] ? text_shown(f->first->cgroup) : "that is gone",
			text_shown(c->meant[f->first->key.attachment - 1].cgroup));
	case USE_NOT_LOADED:
		return mem_format("%s is not loaded", f->wanted);
	case USE_NOT_ROUTED:
		return mem_format("%s is not the congctl of %s", f->wanted, meant_place(f));
	case USE_NOT_ATTACHED:
		return mem_format("%s is not attached to %s", f->wanted, meant_place(f));
	case USE_NOT_DEFAULT:
		return mem_format("the default here is %s", f->ns->def);
	case USE_OLD_OR_ROUTE:
		return mem_format("opened before %s was set for %s, or by a route's congctl",
				  f->wanted, meant_place(f));
	default:
		return mem_format("opened before %s was set for %s", f->wanted, meant_place(f));
	}
}

/* A route's congctl is changed in the route as it is shown. */
static char *route_command(const struct check *c, const struct finding *f)
{
	const __u32 *addr = f->first->is.raddr;
	const char *enter = netns_entering(c, f->ns), *six = address_is_v4(addr) ? "" : "-6 ";
	char to[ADDRESS_TEXT_LEN];

	format_address(to, sizeof(to), addr);
	return mem_format("%sip %sroute change $(%sip %sroute show match %s | grep congctl | "
			  "tail -1 | sed -E 's/congctl (lock )?[^ ]+/congctl %s/')",
			  enter, six, enter, six, to, f->wanted);
}

/* The conditions of an attachment as migrate takes them; NULL: it does not have such options. */
static char *migrate_conditions(const struct attachment *at)
{
	char options[BBR_ATTACH_TERMS * 2 * ADDRESS_TEXT_LEN];

	for_each (term, at->term, at->n)
		if (term->is_not || term->kind == BBR_TERM_SRC || term->kind == BBR_TERM_DEV)
			return NULL;
	terms_format(at->term, at->n, options, sizeof(options));
	return mem_copy(options);
}

/* A service that restarts opens its connections again; NULL: it is no service. */
static char *restart_command(const char *cgroup)
{
	static const char end[] = ".service";
	const char *name = strrchr(cgroup, '/');
	size_t len = name ? strlen(name) : 0;

	if (len < sizeof(end) || strcmp(name + len + 1 - sizeof(end), end))
		return NULL;
	return mem_format("systemctl restart %s", text_shell_word(name + 1));
}

static char *migrate_command(const struct check *c, const struct finding *f)
{
	char *conditions AUTO_FREE = f->at ? migrate_conditions(f->at->is) : mem_copy("");
	char to[ADDRESS_TEXT_LEN] = "";

	if (!conditions)
		return restart_command(f->cgroup);
	if (f->route)
		format_prefix(to, sizeof(to), f->route->is.to.addr, f->route->is.to.len);
	return mem_format("bbrctl migrate --from %s --to %s%s%s%s%s%s%s%s", f->used, f->wanted,
			  netns_option(c, f->ns), to[0] ? " --dst " : "", to, conditions,
			  f->cgroup ? " --cgroup " : "",
			  f->cgroup ? text_shell_word(f->cgroup) : "",
			  f->listeners ? " --listeners" : "");
}

static char *use_command(const struct check *c, const struct finding *f)
{
	if (f->cause == USE_BY_ROUTE)
		return route_command(c, f);
	if (check_loaded(c, f->wanted))
		return migrate_command(c, f);
	if (machine_instance(&c->wanted, f->wanted))
		return apply_command(c);
	if (is_attached_name(c, f->wanted) || !strcmp(f->used, f->wanted))
		return mem_format("bbrctl load --name %s", f->wanted);
	return migrate_command(c, f);
}

void judge_uses(struct check *c)
{
	judge_each(c);
	for_each (f, c->finding, c->n_findings) {
		char connections[64] = "", listeners[64] = "", *reason AUTO_FREE = NULL;

		if (f->kind != FINDING_USE)
			continue;
		if (f->connections)
			snprintf(connections, sizeof(connections), "%llu connection%s",
				 f->connections, plural(f->connections));
		if (f->listeners)
			snprintf(listeners, sizeof(listeners), "%s%llu listener%s",
				 connections[0] ? " and " : "", f->listeners, plural(f->listeners));
		reason = why(c, f);
		f->text = mem_format("%s%s use%s %s%s%s: %s", connections, listeners,
				     f->connections + f->listeners == 1 ? "s" : "", f->used,
				     strcmp(f->used, f->wanted) ? ", not " : "",
				     strcmp(f->used, f->wanted) ? f->wanted : "", reason);
		f->command = use_command(c, f);
	}
}
