// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/utsname.h>

#include <bpf/btf.h>

#include "check/check.h"
#include "descriptor.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/units.h"
#include "instance/link_pin.h"
#include "instance/object.h"
#include "kernel/kernel_types.h"
#include "kernel/netns.h"
#include "kernel/qdisc.h"
#include "verbs/verbs.h"

#define WIDTH 80
#define NETNS_SHOWN 20
#define FINDINGS_SHOWN 20
#define STEPS_SHOWN 10
#define NAMES_SHOWN 8 /* congestion controls of a namespace */

/* How the running kernel differs from the newest, for information only. */
struct traits {
	bool ack_args; /* 6.10: cong_control has four arguments */
	bool tx_start; /* 7.1: TX_START has a callback of its own, which we do without */
	bool app_limited; /* 6.4: app_limited can be written */
	bool link; /* 6.4: what is registered can be replaced */
};

/* The number of arguments of tcp_congestion_ops.cong_control, or 0. */
static int cong_control_args(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "tcp_congestion_ops", BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;

		if (strcmp(btf__name_by_offset(btf, m->name_off), "cong_control"))
			continue;
		t = btf__type_by_id(btf, btf__resolve_type(btf, m->type));
		t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : t;
		return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
	}
	return 0;
}

static void read_traits(struct traits *t)
{
	const struct btf *btf = kernel_types();

	t->ack_args = btf && cong_control_args(btf) == 4;
	t->tx_start = kernel_has_member("tcp_congestion_ops", "cwnd_event_tx_start");
	t->app_limited = kernel_has_member("bpf_struct_ops", "validate");
	t->link = kernel_has_member("bpf_struct_ops", "update");
}

#define SYSCTL "/proc/sys/net/ipv4/tcp_congestion_control"

/* What this machine has or lacks for what bbrctl does besides loading. */
struct surroundings {
	const char *pins; /* why a link cannot be pinned; NULL: it can */
	bool can_set_default;
	char lockdown[32]; /* "" if the kernel does not tell */
	struct device_qdisc *qdisc;
	int n_qdiscs; /* -errno: not known */
	int n_netns,
		unseen_netns; /* of the machine, and without a way to them; -errno: not known */
};

/* "none [integrity] confidentiality" */
static void read_lockdown(char *mode, size_t size)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "", *begin;

	*mode = 0;
	if (f && fgets(line, sizeof(line), f) && (begin = strchr(line, '[')))
		snprintf(mode, size, "%.*s", (int)strcspn(begin + 1, "]"), begin + 1);
	if (f)
		fclose(f);
}

/* After check_look(), which looks for namespaces. */
static void read_surroundings(struct surroundings *s)
{
	const struct netns_known *list;

	s->pins = pin_problem();
	s->can_set_default = !access(SYSCTL, W_OK);
	read_lockdown(s->lockdown, sizeof(s->lockdown));
	s->n_qdiscs = qdiscs_list(&s->qdisc);
	s->n_netns = netns_list(&list);
	s->unseen_netns = netns_unseen();
}

/*
 * Prints text in lines of WIDTH columns, as far as its words allow. A command's lines end in a
 * backslash, and none ends within its quotes.
 */
static void print_wrapped(int indent, const char *text, bool is_command)
{
	int at = printf("%*s", indent, ""), more = 0;
	char quote = 0;

	for (const char *word = text; *word;) {
		size_t len = 0;

		for (; word[len] && (quote || word[len] != ' '); len++)
			if (word[len] == '\'')
				quote = quote ? 0 : '\'';
		if (more && at + 1 + (int)len + (is_command ? 2 : 0) > WIDTH) {
			printf("%s\n", is_command ? " \\" : "");
			at = printf("%*s", indent + 2, "");
			more = 0;
		}
		at += printf("%s%.*s", more ? " " : "", (int)len, word);
		more = 1;
		word += len + (word[len] == ' ');
	}
	putchar('\n');
}

static void print_device(const struct device_qdisc *q)
{
	char *advice = qdisc_advice(q);

	if (!strcmp(q->kind, "fq")) {
		printf("  pacing on %s: by fq (flow_limit %u, %llu of %llu packets dropped)\n",
		       q->device, q->fq.flow_limit, q->fq.drops, q->fq.packets + q->fq.drops);
		return;
	}
	printf("  pacing on %s: by TCP, a timer for each connection (its queue is %s%s%s)\n",
	       q->device, q->kind, q->multi[0] ? " below " : "", q->multi);
	if (advice)
		printf("    fq costs less: %s\n", advice);
	else
		printf("    fq costs less, but would take %s away\n", q->kind);
	free(advice);
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
	for (size_t i = 0; i < c->n_uses; i++) {
		const struct use *u = &c->use[i];
		size_t k = 0;

		if (u->key.netns != ns->inode)
			continue;
		while (k < n &&
		       ((*list)[k].map_id != u->is.map_id || strcmp((*list)[k].name, u->is.name)))
			k++;
		if (k == n) {
			*list = mem_grow(*list, n, sizeof(**list));
			(*list)[n++] = (struct name_count){ u->is.name, u->is.map_id,
							    use_is_unloaded(c, u), 0, 0 };
		}
		*(u->key.flags & USES_LISTENER ? &(*list)[k].listeners : &(*list)[k].connections) +=
			u->is.n;
	}
	return n;
}

static char *append(char *text, const char *more)
{
	char *longer = mem_format("%s%s", text, more);

	free(text);
	return longer;
}

static char *append_counts(char *text, const struct check *c, const struct checked_netns *ns)
{
	struct name_count *list;
	size_t n = count_names(c, ns, &list), shown = 0;
	char part[64];

	for (size_t i = 0; i < n; i++) {
		if (!list[i].connections)
			continue;
		if (shown++ == NAMES_SHOWN) {
			text = append(text, ", ...");
			break;
		}
		snprintf(part, sizeof(part), "%s %s%s %llu", shown == 1 ? ":" : ",", list[i].name,
			 list[i].is_unloaded ? " (unloaded)" : "", list[i].connections);
		text = append(text, part);
	}
	free(list);
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
	char *label = netns_label(c, ns);
	char *text =
		mem_format("%s: default %s%s; %llu connection%s", label, ns->def,
			   default_is_unloaded(c, ns) ? " (unloaded)" : "", ns->n, plural(ns->n));

	text = append_counts(text, c, ns);
	print_wrapped(2, text, false);
	free(text);
	free(label);
	if (!ns->n)
		return;
	text = mem_format("paced by fq %llu, by TCP %llu; most in a round trip: %llu kB sent, "
			  "%llu kB received; tcp_wmem %llu kB, tcp_rmem %llu kB",
			  ns->by_fq, ns->by_tcp, ns->bdp_sent / 1000, ns->bdp_received / 1000,
			  ns->wmem / 1000, ns->rmem / 1000);
	print_wrapped(4, text, false);
	free(text);
}

static void print_namespaces(const struct check *c)
{
	size_t shown = 0, idle = 0, more = 0;

	puts("Network namespaces:");
	for (size_t i = 0; i < c->n_ns; i++) {
		const struct checked_netns *ns = &c->ns[i];

		if (!ns->n && ns->inode != c->own && ns->inode != c->initial)
			idle++;
		else if (shown++ < NETNS_SHOWN)
			print_netns(c, ns);
		else
			more++;
	}
	if (more)
		printf("  %zu more with connections: -j lists them\n", more);
	if (idle)
		printf("  %zu without connections\n", idle);
	if (c->lost)
		printf("  %llu sockets were not counted: there are too many kinds\n", c->lost);
}

static void print_finding(const struct check *c, const struct finding *f)
{
	char *label = f->ns ? netns_label(c, f->ns) : NULL;
	char *text = mem_format("%s%s%s", label ? label : "", label ? ": " : "", f->text);

	print_wrapped(2, text, false);
	for (size_t i = 0; f->kind == FINDING_PLAN && i < c->plan.n && i < STEPS_SHOWN; i++) {
		printf("    ");
		step_print(&c->plan.step[i], false);
	}
	if (f->command)
		print_wrapped(6, f->command, true);
	free(text);
	free(label);
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

static void print_answer(const struct check *c)
{
	print_namespaces(c);
	print_findings(c, "Off:", 0, c->n_off);
	if (!c->n_off && c->file)
		printf("Nothing is off: the machine does what %s says.\n", text_shown(c->file));
	else if (!c->n_off && c->n_alive)
		puts("Nothing is off.");
	else if (!c->n_off)
		puts("Nothing is set up: bbrctl load --default makes bpf_bbr the default here.");
	print_findings(c, "Also:", c->n_off, c->n_findings);
}

/* ---- JSON */

static void add_devices(struct json *j, const struct device_qdisc *list, int n)
{
	json_open_array(j, "devices");
	for (int i = 0; i < n; i++) {
		const struct device_qdisc *q = &list[i];
		char *advice = qdisc_advice(q);

		json_open_object(j, NULL);
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
		json_close(j);
		free(advice);
	}
	json_close(j);
}

static void add_netns(struct json *j, const struct check *c, const struct checked_netns *ns)
{
	struct name_count *list;
	size_t n = count_names(c, ns, &list);

	json_open_object(j, NULL);
	json_add_string(j, "netns", ns->name); /* null: it cannot be found from here */
	json_add_int(j, "inode", ns->inode);
	json_add_string(j, "container", ns->container[0] ? ns->container : NULL);
	json_add_string(j, "default", ns->def);
	json_add_bool(j, "default_unloaded", default_is_unloaded(c, ns));
	json_add_int_if(j, "connections", ns->name, ns->n);
	json_open_array(j, "uses");
	for (size_t i = 0; i < n; i++) {
		json_open_object(j, NULL);
		json_add_string(j, "name", list[i].name);
		json_add_int_if(j, "map_id", list[i].map_id, list[i].map_id);
		json_add_bool(j, "unloaded", list[i].is_unloaded);
		json_add_int(j, "connections", list[i].connections);
		json_add_int(j, "listeners", list[i].listeners);
		json_close(j);
	}
	json_close(j);
	json_add_int(j, "paced_by_fq", ns->by_fq);
	json_add_int(j, "paced_by_tcp", ns->by_tcp);
	json_add_int(j, "acked_bytes", ns->bytes_acked);
	json_add_int(j, "received_bytes", ns->bytes_received);
	json_add_int(j, "bdp_sent_bytes", ns->bdp_sent);
	json_add_int(j, "bdp_received_bytes", ns->bdp_received);
	json_add_int_if(j, "tcp_wmem_bytes", ns->wmem, ns->wmem);
	json_add_int_if(j, "tcp_rmem_bytes", ns->rmem, ns->rmem);
	json_add_int_if(j, "tcp_notsent_lowat_bytes", ns->lowat, ns->lowat);
	add_devices(j, ns->device, ns->n_devices);
	json_close(j);
	free(list);
}

static void add_finding(struct json *j, const struct finding *f)
{
	json_open_object(j, NULL);
	json_add_string(j, "kind", finding_name(f->kind));
	json_add_string(j, "netns", f->ns ? f->ns->name : NULL);
	json_add_int_if(j, "inode", f->ns, f->ns ? f->ns->inode : 0);
	if (f->kind == FINDING_USE) {
		json_add_string(j, "why", use_cause_names[f->cause]);
		json_add_string(j, "uses", f->used);
		json_add_string(j, "meant", f->wanted);
		json_add_string(j, "cgroup", f->cgroup);
		json_add_int(j, "connections", f->connections);
		json_add_int(j, "listeners", f->listeners);
	}
	json_add_string(j, "text", f->text);
	json_add_string(j, "command", f->command);
	json_close(j);
}

static void add_answer(struct json *j, const struct check *c)
{
	json_add_string(j, "file", c->file);
	json_open_array(j, "in_namespaces");
	for (size_t i = 0; i < c->n_ns; i++)
		add_netns(j, c, &c->ns[i]);
	json_close(j);
	json_add_int(j, "sockets_not_counted", c->lost);
	json_open_array(j, "off");
	for (size_t i = 0; i < c->n_off; i++)
		add_finding(j, &c->finding[i]);
	json_close(j);
	json_open_array(j, "also");
	for (size_t i = c->n_off; i < c->n_findings; i++)
		add_finding(j, &c->finding[i]);
	json_close(j);
	if (c->file && !c->is_broken)
		plan_add_json(j, &c->plan);
}

static void print_json_check(const struct utsname *uts, const struct traits *t,
			     const struct surroundings *s, const struct check *c)
{
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "kernel", uts->release);
	json_add_bool(&j, "ok", true);
	json_add_int(&j, "cong_control_args", t->ack_args ? 4 : 2);
	json_add_bool(&j, "tx_start_callback", t->tx_start);
	json_add_bool(&j, "app_limited_writable", t->app_limited);
	json_add_bool(&j, "atomic_upgrade", t->link);
	json_add_string(&j, "pin_problem", s->pins);
	json_add_bool(&j, "can_set_default", s->can_set_default);
	json_add_string(&j, "lockdown", s->lockdown[0] ? s->lockdown : NULL);
	json_add_int_if(&j, "namespaces", s->n_netns >= 0, s->n_netns);
	json_add_int_if(&j, "namespaces_unseen", s->unseen_netns >= 0, s->unseen_netns);
	add_devices(&j, s->qdisc, s->n_qdiscs);
	if (c)
		add_answer(&j, c);
	json_end(&j);
}

static void print_check(const struct utsname *uts, const struct traits *t,
			const struct surroundings *s)
{
	printf("Linux %s can run bpf_bbr: its BPF program loads.\n", uts->release);
	printf("  cong_control: %d arguments\n", t->ack_args ? 4 : 2);
	printf("  restart from idle: %s\n",
	       t->tx_start ? "bpf_bbr notices it before sending (no CA_EVENT_TX_START)" :
			     "the kernel reports it");
	printf("  app_limited: %s\n",
	       t->app_limited ? "bpf_bbr sets it in the socket" :
				"bpf_bbr keeps its own mark (the kernel's is read-only)");
	printf("  upgrades: %s\n",
	       t->link ? "atomic" : "they leave a gap of some tenths of a millisecond");
	printf("  pins: %s\n", s->pins ? s->pins : "they last");
	if (s->can_set_default)
		puts("  defaults of network namespaces: can be set");
	else
		puts("  defaults of network namespaces: cannot be set, for " SYSCTL
		     " cannot be written\n"
		     "    outside of a container it can; in a systemd unit leave out "
		     "ProtectKernelTunables=");
	if (s->n_netns < 0)
		printf("  network namespaces: the kernel does not list them: %s\n",
		       strerror(-s->n_netns));
	else
		printf("  network namespaces: %d, of which %d cannot be found from here\n",
		       s->n_netns, s->unseen_netns);
	if (s->unseen_netns > 0)
		puts("    run it where /proc shows the processes of the whole machine, as with "
		     "docker's --pid=host");
	if (s->lockdown[0])
		printf("  kernel lockdown: %s\n", s->lockdown);
	for (int i = 0; i < s->n_qdiscs; i++)
		print_device(&s->qdisc[i]);
}

/* Each algorithm's object is loaded for a moment. */
static int try_to_load(void)
{
	struct object obj;
	int ret = EXIT_DONE;

	for (size_t i = 0; !ret && i < n_algorithms; i++) {
		ret = object_open(NULL, algorithms[i], &obj);
		if (ret)
			return ret;
		ret = object_load(&obj);
		object_close(&obj);
	}
	return ret;
}

/*
 * What is meant: a file if the user names one or there is the usual one. A usual one that cannot be
 * read is a finding.
 */
static int read_meant(struct check *c, const char *path)
{
	int ret;

	if (!path && !machine_file_exists())
		return EXIT_DONE;
	c->file = path ? path : machine_file_default;
	ret = machine_file_read(path, NULL, &c->wanted);
	if (!ret || path)
		return ret;
	c->is_broken = true;
	machine_free(&c->wanted);
	c->wanted = (struct machine){};
	return EXIT_DONE;
}

/* Whether it can run is said even if the kernel does not answer the rest. */
static int verb_check(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct surroundings s;
	struct check c = {};
	struct utsname uts;
	struct traits t;
	int ret = read_meant(&c, argc > 1 ? argv[1] : NULL);

	if (!ret && privileges_take())
		ret = EXIT_REFUSED;
	if (!ret)
		ret = try_to_load();
	if (ret) {
		check_free(&c);
		return ret;
	}
	ret = check_look(&c);
	if (!ret)
		check_judge(&c);
	uname(&uts);
	read_traits(&t);
	read_surroundings(&s);
	if (opt->json) {
		print_json_check(&uts, &t, &s, ret ? NULL : &c);
	} else {
		print_check(&uts, &t, &s);
		if (!ret)
			print_answer(&c);
	}
	qdiscs_free(s.qdisc, s.n_qdiscs);
	if (!ret && c.n_off) {
		err("%zu finding%s", c.n_off, plural(c.n_off));
		ret = EXIT_NOTHING;
	}
	check_free(&c);
	return ret;
}

BBRCTL_VERB(check, "check", NEEDS(CHANGE, .may = FILES | EVERY_NETNS), .args = "[FILE]",
	    .max_args = 1,
	    .brief = "say whether this machine can run it, whether it is on, and where not",
	    .run = verb_check);
