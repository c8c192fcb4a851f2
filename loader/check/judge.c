// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli/err.h"
#include "cli/text.h"
#include "cli/units.h"
#include "kernel/netns.h"
#include "kernel/qdisc.h"

/* A buffer has to hold this many BDPs: BBR keeps up to two in flight. */
#define BDPS_SENT 2
#define BDPS_RECEIVED 4 /* half of a receive buffer is for overhead */
#define BUFFER_STEP (1ull << 20) /* what is proposed is a multiple of it */

#define FLOW_DROPS_SHARE 1000 /* of so many packets one is dropped: too many */
#define FLOW_LIMIT_TIMES 10
#define WAKE_UPS 1000 /* a busy program writes again within 1/1000 s */
#define MOSTLY 3 /* times as much */

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

const char *finding_name(enum finding_kind kind)
{
	static const char *const names[] = {
		[FINDING_FILE] = "file",
		[FINDING_PLAN] = "differs_from_file",
		[FINDING_DEFAULT] = "default_is_unloaded",
		[FINDING_NOT_LOADED] = "not_loaded",
		[FINDING_NOT_ALLOWED] = "not_allowed",
		[FINDING_USE] = "connections",
		[FINDING_FLOW_LIMIT] = "flow_limit",
		[FINDING_BUFFER] = "buffer",
		[FINDING_OTHER_DEFAULT] = "other_default",
		[FINDING_LOWAT] = "notsent_lowat",
		[FINDING_DOWNLOADS] = "downloads",
	};

	return names[kind];
}

static struct finding *add(struct check *c, enum finding_kind kind, const struct checked_netns *ns)
{
	struct finding *new;

	c->finding = mem_grow(c->finding, c->n_findings, sizeof(*c->finding));
	new = &c->finding[c->n_findings++];
	memset(new, 0, sizeof(*new));
	new->kind = kind;
	new->ns = ns;
	c->n_off += kind < FINDING_NOTES;
	return new;
}

/* The registered instance of this name; NULL: there is none. */
static const struct instance *loaded(const struct check *c, const char *name)
{
	for (int i = 0; i < c->n_alive; i++)
		if (c->alive[i].registered && !strcmp(c->alive[i].name, name))
			return &c->alive[i];
	return NULL;
}

/* True if a map is the code of an instance, and that has no name any more. */
static bool is_unloaded(const struct check *c, __s64 map_id)
{
	for (int i = 0; map_id > 0 && i < c->n_alive; i++)
		if (c->alive[i].map_id == map_id)
			return !c->alive[i].registered;
	return false;
}

bool use_is_unloaded(const struct check *c, const struct use *u)
{
	return is_unloaded(c, u->is.map_id);
}

bool default_is_unloaded(const struct check *c, const struct checked_netns *ns)
{
	return is_unloaded(c, ns->def_map_id);
}

/*
 * A word of a shell's command line. What a terminal should not get stays as text_shown() shows it.
 * Valid until the fourth call after this one.
 */
static const char *shell_word(const char *text)
{
	static char words[4][4200];
	static int next;
	char *word = words[next++ % 4];

	if (text_shown(text) != text || strchr(text, '\'') ||
	    !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			       "0123456789/._:@%+=,-")])
		return text_shown(text);
	snprintf(word, sizeof(words[0]), "'%s'", text);
	return word;
}

static const char *apply_command(const struct check *c)
{
	static char command[4200];
	bool is_usual = !strcmp(c->file, machine_file_default);

	snprintf(command, sizeof(command), "bbrctl apply%s%s", is_usual ? "" : " ",
		 is_usual ? "" : shell_word(c->file));
	return command;
}

/* " --netns N", or nothing for our own namespace. Valid until the next call. */
static const char *netns_option(const struct check *c, const struct checked_netns *ns)
{
	static char option[4200];

	snprintf(option, sizeof(option), " --netns %s", shell_word(ns->name));
	return ns->inode == c->own ? "" : option;
}

/* What runs a command in there: "nsenter --net=N ", or nothing. Valid until the next call. */
static const char *entering(const struct check *c, const struct checked_netns *ns)
{
	static char words[4200];

	snprintf(words, sizeof(words), "nsenter --net=%s%s ",
		 strchr(ns->name, '/') ? "" : NETNS_NAMED, shell_word(ns->name));
	return ns->inode == c->own ? "" : words;
}

static char *sysctl_command(const struct check *c, const struct checked_netns *ns, const char *key,
			    const char *value)
{
	return mem_format("%ssysctl -w net.ipv4.%s=%s", entering(c, ns), key, value);
}

/* ---- what is set up */

static void judge_file(struct check *c)
{
	struct finding *f;

	if (c->is_broken) {
		f = add(c, FINDING_FILE, NULL);
		f->text = mem_format("%s cannot be applied", text_shown(c->file));
		f->command = mem_format("%s", apply_command(c));
	} else if (c->plan.n) {
		f = add(c, FINDING_PLAN, NULL);
		f->text = mem_format("the machine differs from %s in %zu point%s",
				     text_shown(c->file), c->plan.n, plural(c->plan.n));
		f->command = mem_format("%s", apply_command(c));
	}
}

static bool is_word_of(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

static void judge_default(struct check *c, const struct checked_netns *ns)
{
	struct finding *f;

	if (!default_is_unloaded(c, ns))
		return;
	f = add(c, FINDING_DEFAULT, ns);
	f->text = mem_format("its default is code of %s that was unloaded", ns->def);
	if (ns->name && loaded(c, ns->def))
		f->command = mem_format("bbrctl load --name %s --default%s", ns->def,
					netns_option(c, ns));
	else if (ns->name)
		f->command = sysctl_command(
			c, ns, "tcp_congestion_control",
			c->allowed && is_word_of(c->allowed, "cubic") ? "cubic" : "reno");
}

static void judge_attachments(struct check *c)
{
	for (size_t i = 0; i < c->n_meant; i++) {
		const struct meant_at *at = &c->meant[i];
		struct finding *f;

		/* What a file has is loaded by apply. */
		if (!at->is_attached || loaded(c, at->name) ||
		    machine_instance(&c->wanted, at->name))
			continue;
		f = add(c, FINDING_NOT_LOADED, NULL);
		f->text = mem_format("%s is attached to %s, but not loaded", at->name,
				     text_shown(at->cgroup));
		f->command = mem_format("bbrctl load --name %s", at->name);
	}
}

static void judge_allowed(struct check *c)
{
	for (int i = 0; c->allowed && i < c->n_alive; i++) {
		struct finding *f;

		if (!c->alive[i].registered || is_word_of(c->allowed, c->alive[i].name))
			continue;
		f = add(c, FINDING_NOT_ALLOWED, NULL);
		f->text = mem_format("programs without privileges cannot choose %s",
				     c->alive[i].name);
		f->command = mem_format("sysctl -w net.ipv4.tcp_allowed_congestion_control='%s %s'",
					c->allowed, c->alive[i].name);
	}
}

/* ---- what sockets use */

static bool is_within(const char *cgroup, const char *top)
{
	size_t len = strlen(top);

	return !strcmp(top, "/") ||
	       (!strncmp(cgroup, top, len) && (!cgroup[len] || cgroup[len] == '/'));
}

/* An attachment to a name that is not loaded gives nothing, unless the file loads it. */
static bool is_meant(const struct check *c, const struct meant_at *at)
{
	return loaded(c, at->name) || machine_instance(&c->wanted, at->name);
}

/* The innermost attachment of a socket's cgroup; NULL: none. */
static const struct meant_at *attachment_of(const struct check *c, const struct use *u)
{
	const struct meant_at *found = NULL;

	for (size_t i = 0; u->cgroup[0] && i < c->n_meant; i++)
		if (is_meant(c, &c->meant[i]) && is_within(u->cgroup, c->meant[i].cgroup) &&
		    (!found || strlen(c->meant[i].cgroup) >= strlen(found->cgroup)))
			found = &c->meant[i];
	return found;
}

/* What a namespace's default is meant to be; NULL: whatever it is. */
static const char *default_meant(const struct check *c, const struct checked_netns *ns)
{
	const struct machine_default *def = machine_default(&c->wanted, ns->inode);

	if (def)
		return def->name;
	return loaded(c, ns->def) ? ns->def : NULL;
}

static bool is_in_experiment(const struct check *c, const struct use *u)
{
	for (size_t i = 0; u->cgroup[0] && i < c->n_experiments; i++)
		if (is_within(u->cgroup, c->experiment[i]))
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
	if (!wanted || !strcmp(wanted, u->is.name))
		return NULL;
	if (u->key.flags & USES_CHOSEN)
		*cause = USE_CHOSEN;
	else if (*cause == USE_OTHER_CGROUP)
		return wanted;
	else if (u->key.flags & USES_ROUTE)
		*cause = USE_BY_ROUTE;
	else if (!loaded(c, wanted))
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
	f = add(c, FINDING_USE, ns);
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
		cgroup_container(u->cgroup, ns->container, sizeof(ns->container));
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

static void judge_uses(struct check *c)
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
	const char *enter = entering(c, f->ns), *six = is_v4 ? "" : "-6 ";
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
	if (!loaded(c, f->wanted) &&
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

/* ---- paths */

static void judge_queue(struct check *c, const struct checked_netns *ns,
			const struct device_qdisc *q)
{
	const struct fq_counts *fq = &q->fq;
	struct finding *f;

	if (!fq->n || fq->flow_drops * FLOW_DROPS_SHARE <= fq->packets)
		return;
	f = add(c, FINDING_FLOW_LIMIT, ns);
	f->text =
		mem_format("fq on %s dropped %llu of %llu packets: more than its flow_limit of %u "
			   "waited in one flow",
			   q->device, fq->flow_drops, fq->packets + fq->drops, fq->flow_limit);
	f->command = qdisc_flow_limit_advice(q, fq->flow_limit * FLOW_LIMIT_TIMES);
}

static void judge_buffer(struct check *c, const struct checked_netns *ns, const char *key,
			 __u64 has, __u64 bdp, __u64 bdps, const char *what)
{
	__u64 needed = (bdps * bdp + BUFFER_STEP - 1) / BUFFER_STEP * BUFFER_STEP;
	struct finding *f;
	char value[64];

	if (!has || bdps * bdp <= has)
		return;
	f = add(c, FINDING_BUFFER, ns);
	f->text = mem_format("a connection %s %llu bytes in a round trip, and %s has room for %llu "
			     "bytes: %llu are needed",
			     what, bdp, key, has, bdps * bdp);
	snprintf(value, sizeof(value), "'4096 %u %llu'", !strcmp(key, "tcp_wmem") ? 16384 : 131072,
		 needed);
	f->command = sysctl_command(c, ns, key, value);
}

static void judge_path(struct check *c, const struct checked_netns *ns)
{
	struct finding *f;

	if (!ns->name || !ns->n)
		return;
	for (int i = 0; i < ns->n_devices; i++)
		judge_queue(c, ns, &ns->device[i]);
	judge_buffer(c, ns, "tcp_wmem", ns->wmem, ns->bdp_sent, BDPS_SENT, "sends");
	judge_buffer(c, ns, "tcp_rmem", ns->rmem, ns->bdp_received, BDPS_RECEIVED, "receives");
	if (!ns->lowat || ns->lowat >= ns->rate / WAKE_UPS)
		return;
	f = add(c, FINDING_LOWAT, ns);
	f->text = mem_format("tcp_notsent_lowat, %llu bytes, lasts less than 1 ms at the rate of a "
			     "connection: a program that writes too late slows it down",
			     ns->lowat);
}

/* The default of containers that ran when the machine got its own. */
static void judge_other_default(struct check *c)
{
	const struct checked_netns *initial = NULL;
	struct finding *f;

	for (size_t i = 0; i < c->n_ns; i++)
		if (c->ns[i].inode == c->initial)
			initial = &c->ns[i];
	if (!initial || !loaded(c, initial->def))
		return;
	for (size_t i = 0; i < c->n_ns; i++) {
		const struct checked_netns *ns = &c->ns[i];

		if (!ns->name || !strcmp(ns->def, initial->def) || default_meant(c, ns))
			continue;
		f = add(c, FINDING_OTHER_DEFAULT, ns);
		f->text =
			mem_format("the default is %s: it was set here, or this is older than the "
				   "machine's default, %s",
				   ns->def, initial->def);
		f->command = mem_format("bbrctl load --name %s --default%s", initial->def,
					netns_option(c, ns));
	}
}

static void judge_downloads(struct check *c)
{
	__u64 sent = 0, received = 0;
	struct finding *f;

	for (size_t i = 0; i < c->n_ns; i++) {
		sent += c->ns[i].bytes_acked;
		received += c->ns[i].bytes_received;
	}
	if (!received || received / MOSTLY < sent)
		return;
	f = add(c, FINDING_DOWNLOADS, NULL);
	f->text = mem_format("Downloads: their sender is the other side (%llu MB received, %llu MB "
			     "sent); its congestion control decides",
			     received / 1000000, sent / 1000000);
}

static int by_kind(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->connections > y->connections ? -1 : x->connections < y->connections;
}

void check_judge(struct check *c)
{
	judge_file(c);
	judge_attachments(c);
	judge_allowed(c);
	judge_uses(c);
	say_uses(c);
	for (size_t i = 0; i < c->n_ns; i++) {
		judge_default(c, &c->ns[i]);
		judge_path(c, &c->ns[i]);
	}
	judge_other_default(c);
	judge_downloads(c);
	if (c->n_findings)
		qsort(c->finding, c->n_findings, sizeof(*c->finding), by_kind);
}
