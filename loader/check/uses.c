// SPDX-License-Identifier: GPL-2.0-only
/* Sockets: what each group should use, and why it does not. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli/err.h"
#include "cli/text.h"
#include "cli/units.h"

const char *const use_cause_names[USE_CAUSES] = {
	[USE_UNLOADED] = "unloaded",
	[USE_CHOSEN] = "chosen",
	[USE_BY_ROUTE] = "route",
	[USE_OTHER_CGROUP] = "other_cgroup",
	[USE_NOT_LOADED] = "not_loaded",
	[USE_NOT_ATTACHED] = "not_attached",
	[USE_NOT_DEFAULT] = "not_default",
	[USE_OLD] = "opened_before",
	[USE_OLD_OR_ROUTE] = "opened_before_or_route",
};

/* An attachment to a name that is not loaded gives nothing, unless the file loads it. */
static bool is_meant(const struct check *c, const struct meant_at *at)
{
	return check_loaded(c, at->name) || machine_instance(&c->wanted, at->name);
}

/* The innermost attachment of a socket's cgroup, one with conditions first; NULL: none. */
static const struct meant_at *attachment_of(const struct check *c, const struct use *u)
{
	const struct meant_at *found = NULL;

	for (size_t i = 0; u->cgroup[0] && i < c->n_meant; i++) {
		const struct meant_at *at = &c->meant[i];
		size_t len = strlen(at->cgroup), best = found ? strlen(found->cgroup) : 0;

		if (is_meant(c, at) && cgroup_is_within(u->cgroup, at->cgroup) &&
		    (!found || len > best || (len == best && at->has_conditions)))
			found = at;
	}
	return found;
}

const char *default_meant(const struct check *c, const struct checked_netns *ns)
{
	const struct machine_default *def = machine_default(&c->wanted, ns->inode);

	if (def)
		return def->name;
	return check_loaded(c, ns->def) ? ns->def : NULL;
}

static bool is_in_experiment(const struct check *c, const struct use *u)
{
	for (size_t i = 0; u->cgroup[0] && i < c->n_experiments; i++)
		if (cgroup_is_within(u->cgroup, c->experiment[i]))
			return true;
	return false;
}

/* True if they have it from a route, and the file has such a route for it. */
static bool is_route_meant(const struct check *c, const struct use *u)
{
	for (size_t i = 0; u->key.flags & USES_ROUTE && i < c->wanted.n_routes; i++)
		if (c->wanted.route[i].inode == u->key.netns &&
		    !strcmp(c->wanted.route[i].name, u->is.name))
			return true;
	return false;
}

/* What sockets should use and why they do not. Returns NULL if they do, or may use anything. */
static const char *judge_use(const struct check *c, const struct checked_netns *ns,
			     const struct use *u, const struct meant_at **at, enum use_cause *cause)
{
	const char *wanted;

	*at = attachment_of(c, u);
	if (!*at && u->key.attachment && u->key.attachment <= c->n_meant &&
	    is_meant(c, &c->meant[u->key.attachment - 1])) {
		*at = &c->meant[u->key.attachment - 1];
		*cause = USE_OTHER_CGROUP;
	} else {
		*cause = USE_OLD;
	}
	wanted = *at ? (*at)->name : default_meant(c, ns);
	if (is_in_experiment(c, u))
		return NULL;
	if (use_is_unloaded(c, u)) {
		*cause = USE_UNLOADED;
		return wanted ? wanted : default_is_unloaded(c, ns) ? u->is.name : ns->def;
	}
	if (!wanted || !strcmp(wanted, u->is.name) || (*at && (*at)->has_conditions) ||
	    is_route_meant(c, u))
		return NULL;
	if (u->key.flags & USES_CHOSEN)
		*cause = USE_CHOSEN;
	else if (*cause == USE_OTHER_CGROUP)
		return wanted;
	else if (u->key.flags & USES_ROUTE)
		*cause = USE_BY_ROUTE;
	else if (!check_loaded(c, wanted))
		*cause = USE_NOT_LOADED;
	else if (*at && !(*at)->is_attached)
		*cause = USE_NOT_ATTACHED;
	else if (!*at && strcmp(wanted, ns->def))
		*cause = USE_NOT_DEFAULT;
	else if (u->key.flags & USES_NO_ROUTE)
		*cause = USE_OLD_OR_ROUTE;
	return wanted;
}

/* Attached sockets must not be moved along with those of the namespace that use the same. */
static bool is_attached_name(const struct check *c, const char *name)
{
	for (size_t i = 0; i < c->n_meant; i++)
		if (!strcmp(c->meant[i].name, name))
			return true;
	return false;
}

static struct finding *use_finding(struct check *c, const struct checked_netns *ns,
				   const struct use *u, const char *wanted, const char *cgroup,
				   enum use_cause cause)
{
	struct finding *f;

	for (size_t i = 0; i < c->n_findings; i++) {
		f = &c->finding[i];
		if (f->kind == FINDING_USE && f->ns == ns && f->cause == cause &&
		    !strcmp(f->used, u->is.name) && !strcmp(f->wanted, wanted) &&
		    (cgroup ? f->cgroup && !strcmp(f->cgroup, cgroup) : !f->cgroup))
			return f;
	}
	f = finding_add(c, FINDING_USE, ns);
	f->cause = cause;
	f->first = u;
	f->cgroup = cgroup;
	strcpy(f->used, u->is.name);
	snprintf(f->wanted, sizeof(f->wanted), "%s", wanted);
	return f;
}

static struct checked_netns *netns_of(const struct check *c, const struct use *u)
{
	for (size_t i = 0; i < c->n_ns; i++)
		if (c->ns[i].inode == u->key.netns && c->ns[i].name)
			return &c->ns[i];
	return NULL;
}

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
	ns->bdp_sent = is->bdp_sent > ns->bdp_sent ? is->bdp_sent : ns->bdp_sent;
	ns->bdp_received =
		is->bdp_received > ns->bdp_received ? is->bdp_received : ns->bdp_received;
	ns->rate = is->rate > ns->rate ? is->rate : ns->rate;
}

static void judge_each(struct check *c)
{
	for (size_t i = 0; i < c->n_uses; i++) {
		const struct use *u = &c->use[i];
		struct checked_netns *ns = netns_of(c, u);
		const struct meant_at *at;
		enum use_cause cause;
		const char *wanted;
		struct finding *f;

		if (!ns)
			continue;
		add_use(ns, u);
		wanted = judge_use(c, ns, u, &at, &cause);
		if (!wanted)
			continue;
		f = use_finding(c, ns, u, wanted,
				at && cause != USE_OTHER_CGROUP ? at->cgroup :
				is_attached_name(c, u->is.name) ? u->cgroup :
								  NULL,
				cause);
		*(u->key.flags & USES_LISTENER ? &f->listeners : &f->connections) += u->is.n;
	}
}

static char *why(const struct check *c, const struct finding *f)
{
	const char *in = f->cgroup ? text_shown(f->cgroup) : "the namespace";

	switch (f->cause) {
	case USE_UNLOADED:
		return mem_format("this code was unloaded or replaced");
	case USE_CHOSEN:
		return mem_format("their program chose it, or another that may (setsockopt)");
	case USE_BY_ROUTE:
		return mem_format("their route has congctl %s", f->used);
	case USE_OTHER_CGROUP:
		return mem_format("made in the cgroup %s, before their process entered %s",
				  f->first->cgroup[0] ? text_shown(f->first->cgroup) : "of another",
				  text_shown(c->meant[f->first->key.attachment - 1].cgroup));
	case USE_NOT_LOADED:
		return mem_format("%s is not loaded", f->wanted);
	case USE_NOT_ATTACHED:
		return mem_format("%s is not attached to %s", f->wanted, in);
	case USE_NOT_DEFAULT:
		return mem_format("the default here is %s", f->ns->def);
	case USE_OLD_OR_ROUTE:
		return mem_format("opened before %s was set for %s, or by a route's congctl",
				  f->wanted, in);
	default:
		return mem_format("opened before %s was set for %s", f->wanted, in);
	}
}

/* A route's congctl is changed in the route as it is shown. */
static char *route_command(const struct check *c, const struct finding *f)
{
	const __u32 *addr = f->first->is.raddr;
	bool is_v4 = !addr[0] && !addr[1] && addr[2] == htonl(0xffff);
	const char *enter = netns_entering(c, f->ns), *six = is_v4 ? "" : "-6 ";
	char to[INET6_ADDRSTRLEN] = "";

	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? &addr[3] : addr, to, sizeof(to));
	return mem_format("%sip %sroute change $(%sip %sroute show match %s | grep congctl | "
			  "tail -1 | sed -E 's/congctl (lock )?[^ ]+/congctl %s/')",
			  enter, six, enter, six, to, f->wanted);
}

static char *use_command(const struct check *c, const struct finding *f)
{
	if (f->cause == USE_BY_ROUTE)
		return route_command(c, f);
	if (!check_loaded(c, f->wanted) &&
	    (machine_instance(&c->wanted, f->wanted) || is_attached_name(c, f->wanted) ||
	     !strcmp(f->used, f->wanted)))
		return machine_instance(&c->wanted, f->wanted) ?
			       mem_format("%s", apply_command(c)) :
			       mem_format("bbrctl load --name %s", f->wanted);
	return mem_format("bbrctl migrate --from %s --to %s%s%s%s%s", f->used, f->wanted,
			  netns_option(c, f->ns), f->cgroup ? " --cgroup " : "",
			  f->cgroup ? text_shown(f->cgroup) : "",
			  f->listeners ? " --listeners" : "");
}

static void say_uses(struct check *c)
{
	for (size_t i = 0; i < c->n_findings; i++) {
		struct finding *f = &c->finding[i];
		char connections[64] = "", listeners[64] = "", *reason;

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
		free(reason);
	}
}

void judge_uses(struct check *c)
{
	judge_each(c);
	say_uses(c);
}
