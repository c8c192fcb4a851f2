// SPDX-License-Identifier: GPL-2.0-only
#include "address.h"
#include "check.h"
#include "cli/json.h"
#include "kernel/qdisc.h"

#define NETNS_SHOWN 20
#define FINDINGS_SHOWN 20
#define STEPS_SHOWN 10
#define NAMES_SHOWN 8 /* congestion controls of a namespace */

static void print_wrapped(const char *text, int indent, bool is_command)
{
	printf("%*s", indent, "");
	text_print_wrapped(stdout, text, indent, indent + 2, TEXT_WIDTH, is_command);
}

/* What the sockets of a namespace use, by name and code. */
struct name_count {
	const char *name;
	__u32 map_id;
	bool is_unloaded;
	__u64 connections, listeners;
};

/* Sums the uses of a namespace; the caller frees *list. Returns how many. */
static size_t count_names(const struct check *c, const struct checked_netns *ns,
			  struct name_count **list)
{
	size_t n = 0;

	*list = NULL;
	for_each (u, c->use, c->n_uses) {
		size_t k = 0;

		if (u->key.netns != ns->inode)
			continue;
		while (k < n &&
		       ((*list)[k].map_id != u->is.map_id || strcmp((*list)[k].name, u->is.name)))
			k++;
		if (k == n)
			MEM_ADD(*list, n) =
				(struct name_count){ u->is.name, u->is.map_id,
						     check_is_unloaded(c, u->is.map_id), 0, 0 };
		*(u->key.flags & USES_LISTENER ? &(*list)[k].listeners : &(*list)[k].connections) +=
			u->is.n;
	}
	return n;
}

static char *append_counts(char *text, const struct check *c, const struct checked_netns *ns)
{
	struct name_count *list AUTO_FREE = NULL;
	size_t n = count_names(c, ns, &list), shown = 0;
	char part[64];

	for_each (used, list, n) {
		if (!used->connections)
			continue;
		if (shown++ == NAMES_SHOWN)
			return mem_join(text, "", ", ...");
		snprintf(part, sizeof(part), "%s %s%s %llu", shown == 1 ? ":" : ",", used->name,
			 used->is_unloaded ? " (unloaded)" : "", used->connections);
		text = mem_join(text, "", part);
	}
	return text;
}

static char *netns_label(const struct check *c, const struct checked_netns *ns)
{
	char inode[32];

	if (ns->inode == c->own && !ns->container[0])
		return mem_copy("this namespace");
	snprintf(inode, sizeof(inode), "net:[%u]", ns->inode);
	return mem_format("%s%s%s%s", ns->container, ns->container[0] ? " (" : "",
			  ns->name ? text_shown(ns->name) : inode, ns->container[0] ? ")" : "");
}

static void print_netns(const struct check *c, const struct checked_netns *ns)
{
	char *label AUTO_FREE = netns_label(c, ns), *paced AUTO_FREE = NULL;
	char *text AUTO_FREE = mem_format("%s: default %s%s; %llu connection%s", label, ns->def,
					  check_is_unloaded(c, ns->def_map_id) ? " (unloaded)" : "",
					  ns->n, plural(ns->n));

	text = append_counts(text, c, ns);
	print_wrapped(text, 2, false);
	if (!ns->n)
		return;
	paced = mem_format("paced by fq %llu, by TCP %llu; most in a round trip: %llu kB sent, "
			   "%llu kB received; tcp_wmem %llu kB, tcp_rmem %llu kB",
			   ns->by_fq, ns->by_tcp, ns->bdp_sent / 1000, ns->bdp_received / 1000,
			   ns->wmem / 1000, ns->rmem / 1000);
	print_wrapped(paced, 4, false);
}

static void print_namespaces(const struct check *c)
{
	size_t shown = 0, idle = 0, more = 0, unseen = 0;

	puts("Network namespaces:");
	for_each (ns, c->ns, c->n_ns)
		if (!ns->name)
			unseen++;
		else if (!ns->n && ns->inode != c->own && ns->inode != c->initial)
			idle++;
		else if (shown++ < NETNS_SHOWN)
			print_netns(c, ns);
		else
			more++;
	if (more)
		printf("  %zu more with connections: -j lists them\n", more);
	if (idle)
		printf("  %zu without connections\n", idle);
	if (unseen)
		printf("  %zu that cannot be found from here\n", unseen);
	if (c->lost)
		printf("  %llu sockets were not counted: there are too many kinds\n", c->lost);
}

static void print_finding(const struct check *c, const struct finding *f)
{
	char *label AUTO_FREE = f->ns ? netns_label(c, f->ns) : NULL;
	char *text AUTO_FREE = mem_format("%s%s%s", label ? label : "", label ? ": " : "", f->text);

	print_wrapped(text, 2, false);
	for (size_t i = 0; f->kind == FINDING_PLAN && i < c->plan.n && i < STEPS_SHOWN; i++) {
		printf("    ");
		step_print(&c->plan.step[i], false);
	}
	for (size_t i = 0; f->kind == FINDING_PLAN && i < c->plan.n_waiting; i++)
		step_print_waiting(&c->plan.waiting[i], "    ");
	if (f->command)
		print_wrapped(f->command, 6, true);
}

static void print_findings(const struct check *c, const char *title, size_t from, size_t to)
{
	if (from == to)
		return;
	puts(title);
	for (size_t i = from; i < to && i < from + FINDINGS_SHOWN; i++)
		print_finding(c, &c->finding[i]);
	if (to - from > FINDINGS_SHOWN)
		printf("  %zu more: -j lists them\n", to - from - FINDINGS_SHOWN);
}

void check_print(const struct check *c)
{
	print_namespaces(c);
	print_findings(c, "Off:", 0, c->n_off);
	if (c->n_off || c->is_partial)
		; /* what is off was printed, or not all of it is known */
	else if (c->file)
		printf("Nothing is off: the machine matches %s%s.\n", text_shown(c->file),
		       c->is_undone ? ",\nas it was before the apply that was undone" : "");
	else if (c->n_alive)
		puts("Nothing is off.");
	else
		puts("Nothing is set up: bbrctl load --default makes bpf_bbr the default here.");
	print_findings(c, "Also:", c->n_off, c->n_findings);
}

/* ---- JSON */

static const char *const finding_names[] = {
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

static const char *const use_cause_names[USE_CAUSES] = {
	[USE_UNLOADED] = "unloaded",	 [USE_CHOSEN] = "chosen",
	[USE_BY_ROUTE] = "route",	 [USE_OTHER_CGROUP] = "other_cgroup",
	[USE_NOT_LOADED] = "not_loaded", [USE_NOT_ATTACHED] = "not_attached",
	[USE_NOT_ROUTED] = "not_routed", [USE_NOT_DEFAULT] = "not_default",
	[USE_OLD] = "opened_before",	 [USE_OLD_OR_ROUTE] = "opened_before_or_route",
};

void check_add_devices(struct json *j, const struct device_qdisc *list, int n)
{
	json_objects (j, "devices", q, list, n) {
		char *advice AUTO_FREE = qdisc_advice(q);

		json_add_string(j, "device", q->device);
		json_add_string(j, "qdisc", q->kind);
		json_add_string(j, "root", q->multi[0] ? q->multi : q->kind);
		json_add_string(j, "advice", advice);
		if (q->fq.n) {
			json_open_object(j, "fq");
			json_add_int(j, "limit_packets", q->fq.limit);
			json_add_int(j, "flow_limit_packets", q->fq.flow_limit);
			json_add_int(j, "sent_packets", q->fq.packets);
			json_add_int(j, "dropped_packets", q->fq.drops);
			json_add_int(j, "dropped_flow_limit_packets", q->fq.flow_drops);
			json_close(j);
		} else {
			json_add_null(j, "fq");
		}
	}
}

static void add_netns(struct json *j, const struct check *c, const struct checked_netns *ns)
{
	struct name_count *list AUTO_FREE = NULL;
	size_t n = count_names(c, ns, &list);

	json_add_string(j, "netns", ns->name); /* null: it cannot be found from here */
	json_add_int(j, "inode", ns->inode);
	json_add_string(j, "container", ns->container[0] ? ns->container : NULL);
	json_add_string(j, "default", ns->def);
	json_add_bool(j, "default_unloaded", check_is_unloaded(c, ns->def_map_id));
	json_add_int_if(j, "connections", ns->name, ns->n);
	json_objects (j, "uses", used, list, n) {
		json_add_string(j, "name", used->name);
		json_add_int_if(j, "map_id", used->map_id, used->map_id);
		json_add_bool(j, "unloaded", used->is_unloaded);
		json_add_int(j, "connections", used->connections);
		json_add_int(j, "listeners", used->listeners);
	}
	json_add_int(j, "paced_by_fq", ns->by_fq);
	json_add_int(j, "paced_by_tcp", ns->by_tcp);
	json_add_int(j, "acked_bytes", ns->bytes_acked);
	json_add_int(j, "received_bytes", ns->bytes_received);
	json_add_int(j, "bdp_sent_bytes", ns->bdp_sent);
	json_add_int(j, "bdp_received_bytes", ns->bdp_received);
	json_add_int_if(j, "tcp_wmem_bytes", ns->wmem, ns->wmem);
	json_add_int_if(j, "tcp_rmem_bytes", ns->rmem, ns->rmem);
	json_add_int_if(j, "tcp_notsent_lowat_bytes", ns->lowat, ns->lowat);
	check_add_devices(j, ns->device, ns->n_devices);
}

static void add_finding(struct json *j, const struct finding *f)
{
	char prefix[ADDRESS_TEXT_LEN];

	if (f->route)
		format_prefix(prefix, sizeof(prefix), f->route->is.to.addr, f->route->is.to.len);
	json_add_string(j, "kind", finding_names[f->kind]);
	json_add_string(j, "netns", f->ns ? f->ns->name : NULL);
	json_add_int_if(j, "inode", f->ns, f->ns ? f->ns->inode : 0);
	if (f->kind == FINDING_USE) {
		json_add_string(j, "why", use_cause_names[f->cause]);
		json_add_string(j, "uses", f->used);
		json_add_string(j, "meant", f->wanted);
		json_add_string(j, "cgroup", f->cgroup);
		json_add_string(j, "route", f->route ? prefix : NULL);
		json_add_int(j, "connections", f->connections);
		json_add_int(j, "listeners", f->listeners);
	}
	json_add_string(j, "text", f->text);
	json_add_string(j, "command", f->command);
}

void check_add_json(struct json *j, const struct check *c)
{
	json_add_string(j, "file", c->file);
	json_objects (j, "in_namespaces", ns, c->ns, c->n_ns)
		add_netns(j, c, ns);
	json_add_int(j, "sockets_not_counted", c->lost);
	json_add_bool(j, "complete", !c->is_partial);
	json_objects (j, "off", f, c->finding, c->n_off)
		add_finding(j, f);
	json_objects (j, "also", f, c->finding + c->n_off, c->n_findings - c->n_off)
		add_finding(j, f);
	if (c->file && !c->is_broken)
		plan_add_json(j, &c->plan);
}
