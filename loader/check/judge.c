// SPDX-License-Identifier: GPL-2.0-only
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
#define BUFFER_STEP (1ull << 20) /* proposed values are multiples of this */

#define FLOW_DROPS_SHARE 1000 /* more than one drop in this many packets is too many */
#define FLOW_LIMIT_TIMES 10
#define WAKE_UPS 1000 /* a busy program writes again within 1/1000 s */
#define MOSTLY 3 /* times as much */

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

struct finding *finding_add(struct check *c, enum finding_kind kind, const struct checked_netns *ns)
{
	struct finding *new = &MEM_ADD(c->finding, c->n_findings);

	memset(new, 0, sizeof(*new));
	new->kind = kind;
	new->ns = ns;
	c->n_off += kind < FINDING_NOTES;
	return new;
}

const struct instance *check_loaded(const struct check *c, const char *name)
{
	for (int i = 0; i < c->n_alive; i++)
		if (c->alive[i].registered && !strcmp(c->alive[i].name, name))
			return &c->alive[i];
	return NULL;
}

bool check_is_unloaded(const struct check *c, __s64 map_id)
{
	for (int i = 0; map_id > 0 && i < c->n_alive; i++)
		if (c->alive[i].map_id == map_id)
			return !c->alive[i].registered;
	return false;
}

const char *apply_command(const struct check *c)
{
	static char command[4200];
	bool is_usual = !strcmp(c->file, machine_file_default);

	if (c->is_undone)
		return "bbrctl apply --service";

	snprintf(command, sizeof(command), "bbrctl apply%s%s", is_usual ? "" : " ",
		 is_usual ? "" : text_shell_word(c->file));
	return command;
}

const char *netns_option(const struct check *c, const struct checked_netns *ns)
{
	static char option[4200];

	snprintf(option, sizeof(option), " --netns %s", text_shell_word(ns->name));
	return ns->inode == c->own ? "" : option;
}

const char *netns_entering(const struct check *c, const struct checked_netns *ns)
{
	static char words[4200];

	snprintf(words, sizeof(words), "nsenter --net=%s%s ",
		 strchr(ns->name, '/') ? "" : NETNS_NAMED, text_shell_word(ns->name));
	return ns->inode == c->own ? "" : words;
}

static char *sysctl_command(const struct check *c, const struct checked_netns *ns, const char *key,
			    const char *value)
{
	return mem_format("%ssysctl -w net.ipv4.%s=%s", netns_entering(c, ns), key, value);
}

/* ---- what is set up */

static void judge_file(struct check *c)
{
	struct finding *f;

	if (c->is_broken) {
		f = finding_add(c, FINDING_FILE, NULL);
		f->text = mem_format("%s cannot be applied", text_shown(c->file));
		f->command = mem_format("%s", apply_command(c));
	} else if (c->plan.n + c->plan.n_waiting) {
		size_t n = c->plan.n + c->plan.n_waiting;

		f = finding_add(c, FINDING_PLAN, NULL);
		f->text =
			mem_format("the machine differs from %s%s in %zu point%s",
				   c->is_undone ? "the state to which apply --undo took back " : "",
				   text_shown(c->file), n, plural(n));
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

	if (!check_is_unloaded(c, ns->def_map_id))
		return;
	f = finding_add(c, FINDING_DEFAULT, ns);
	f->text = mem_format("its default is code of %s that was unloaded", ns->def);
	if (ns->name && check_loaded(c, ns->def))
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
		if (!at->is_attached || check_loaded(c, at->name) ||
		    machine_instance(&c->wanted, at->name))
			continue;
		f = finding_add(c, FINDING_NOT_LOADED, NULL);
		f->text = mem_format("%s is attached to %s, but not loaded", at->name,
				     text_shown(at->cgroup));
		f->command = mem_format("bbrctl load --name %s", at->name);
	}
}

static void judge_allowed(struct check *c)
{
	char *all AUTO_FREE = mem_copy(c->allowed ? c->allowed : "");
	char *missing AUTO_FREE = mem_copy("");
	struct finding *f;

	for (int i = 0; c->allowed && i < c->n_alive; i++) {
		const char *name = c->alive[i].name;

		if (!c->alive[i].registered || is_word_of(all, name))
			continue;
		all = mem_join(all, " ", name);
		missing = mem_join(missing, ", ", name);
	}
	if (!missing[0])
		return;
	f = finding_add(c, FINDING_NOT_ALLOWED, NULL);
	f->text = mem_format("programs without privileges cannot choose %s", missing);
	f->command = mem_format("sysctl -w net.ipv4.tcp_allowed_congestion_control='%s'", all);
}

/* ---- paths */

static void judge_queue(struct check *c, const struct checked_netns *ns,
			const struct device_qdisc *q)
{
	const struct fq_counts *fq = &q->fq;
	struct finding *f;

	if (!fq->n || fq->flow_drops * FLOW_DROPS_SHARE <= fq->packets)
		return;
	f = finding_add(c, FINDING_FLOW_LIMIT, ns);
	f->text = mem_format(
		"fq on %s dropped %llu of %llu packets: more than its flow_limit of %u "
		"waited in one flow",
		text_shown(q->device), fq->flow_drops, fq->packets + fq->drops, fq->flow_limit);
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
	f = finding_add(c, FINDING_BUFFER, ns);
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
	f = finding_add(c, FINDING_LOWAT, ns);
	f->text = mem_format("tcp_notsent_lowat, %llu bytes, lasts less than 1 ms at the rate of a "
			     "connection: a program that writes late slows it down",
			     ns->lowat);
}

/*
 * Containers that ran when the machine got or lost its default keep the one from before. A default
 * that the file or bbrctl gave to a namespace is right.
 */
static bool has_other_default(const struct check *c, const struct checked_netns *ns,
			      const struct checked_netns *initial)
{
	if (!ns->name || !strcmp(ns->def, initial->def))
		return false;
	if (check_loaded(c, initial->def))
		return !default_meant(c, ns);
	return c->file && check_loaded(c, ns->def) && !machine_default(&c->wanted, ns->inode) &&
	       !machine_note(&c->found, ns->def, ns->inode);
}

static void judge_other_default(struct check *c)
{
	const struct checked_netns *initial = NULL;
	struct finding *f;

	for (size_t i = 0; i < c->n_ns; i++)
		if (c->ns[i].inode == c->initial)
			initial = &c->ns[i];
	for (size_t i = 0; initial && i < c->n_ns; i++) {
		const struct checked_netns *ns = &c->ns[i];

		if (!has_other_default(c, ns, initial))
			continue;
		f = finding_add(c, FINDING_OTHER_DEFAULT, ns);
		f->text = mem_format(
			"the default is %s: it was set here, or the namespace is older than the "
			"machine's default, %s",
			ns->def, initial->def);
		f->command = check_loaded(c, initial->def) ?
				     mem_format("bbrctl load --name %s --default%s", initial->def,
						netns_option(c, ns)) :
				     sysctl_command(c, ns, "tcp_congestion_control", initial->def);
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
	f = finding_add(c, FINDING_DOWNLOADS, NULL);
	f->text = mem_format("This machine mostly receives (%llu MB received, %llu MB "
			     "sent); the congestion control of the senders decides",
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
	for (size_t i = 0; i < c->n_ns; i++) {
		judge_default(c, &c->ns[i]);
		judge_path(c, &c->ns[i]);
	}
	judge_other_default(c);
	judge_downloads(c);
	if (c->n_findings)
		qsort(c->finding, c->n_findings, sizeof(*c->finding), by_kind);
}
