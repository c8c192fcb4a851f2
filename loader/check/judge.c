// SPDX-License-Identifier: GPL-2.0-only
#include "check.h"
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

struct finding *finding_add(struct check *c, enum finding_kind kind, const struct checked_netns *ns,
			    char *text, char *command)
{
	struct finding *new = &MEM_ADD(c->finding, c->n_findings);

	*new = (struct finding){ .kind = kind, .ns = ns, .text = text, .command = command };
	c->n_off += kind < FINDING_NOTES;
	return new;
}

const struct instance *check_loaded(const struct check *c, const char *name)
{
	for_each (inst, c->alive, c->n_alive)
		if (inst->registered && !strcmp(inst->name, name))
			return inst;
	return NULL;
}

bool check_is_unloaded(const struct check *c, __s64 map_id)
{
	for_each (inst, c->alive, c->n_alive)
		if (inst->map_id == map_id)
			return !inst->registered;
	return false;
}

char *apply_command(const struct check *c)
{
	bool is_usual = !strcmp(c->file, machine_file_default);

	if (c->is_undone)
		return mem_copy("bbrctl apply --service");
	return mem_format("bbrctl apply%s%s", is_usual ? "" : " ",
			  is_usual ? "" : text_shell_word(c->file));
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
	const char *state = c->is_undone ? "the state to which apply --undo took back " : "";
	size_t n = c->plan.n + c->plan.n_waiting;

	if (c->is_broken)
		finding_add(c, FINDING_FILE, NULL,
			    mem_format("%s cannot be applied", text_shown(c->file)),
			    apply_command(c));
	else if (n)
		finding_add(c, FINDING_PLAN, NULL,
			    mem_format("the machine differs from %s%s in %zu point%s", state,
				       text_shown(c->file), n, plural(n)),
			    apply_command(c));
}

static bool is_word_of(const char *list, const char *word)
{
	char *all AUTO_FREE = mem_format(" %s ", list), *one AUTO_FREE = mem_format(" %s ", word);

	return strstr(all, one);
}

static void judge_default(struct check *c, const struct checked_netns *ns)
{
	char *command = NULL;

	if (!check_is_unloaded(c, ns->def_map_id))
		return;
	if (ns->name && check_loaded(c, ns->def))
		command = mem_format("bbrctl load --name %s --default%s", ns->def,
				     netns_option(c, ns));
	else if (ns->name)
		command = sysctl_command(c, ns, "tcp_congestion_control",
					 c->allowed && is_word_of(c->allowed, "cubic") ? "cubic" :
											 "reno");
	finding_add(c, FINDING_DEFAULT, ns,
		    mem_format("its default is code of %s that was unloaded", ns->def), command);
}

static void judge_attachments(struct check *c)
{
	/* What a file has is loaded by apply. */
	for_each (at, c->meant, c->n_meant)
		if (at->is_attached && !check_loaded(c, at->name) &&
		    !machine_instance(&c->wanted, at->name))
			finding_add(c, FINDING_NOT_LOADED, NULL,
				    mem_format("%s is attached to %s, but not loaded", at->name,
					       text_shown(at->cgroup)),
				    mem_format("bbrctl load --name %s", at->name));
}

static void judge_allowed(struct check *c)
{
	char *all AUTO_FREE = mem_copy(c->allowed ? c->allowed : "");
	char *missing AUTO_FREE = mem_copy("");

	for_each (inst, c->alive, c->n_alive) {
		if (!c->allowed || !inst->registered || is_word_of(all, inst->name))
			continue;
		all = mem_join(all, " ", inst->name);
		missing = mem_join(missing, ", ", inst->name);
	}
	if (missing[0])
		finding_add(
			c, FINDING_NOT_ALLOWED, NULL,
			mem_format("programs without privileges cannot choose %s", missing),
			mem_format("sysctl -w net.ipv4.tcp_allowed_congestion_control='%s'", all));
}

/* ---- paths */

static void judge_queue(struct check *c, const struct checked_netns *ns,
			const struct device_qdisc *q)
{
	const struct fq_counts *fq = &q->fq;

	if (!fq->n || fq->flow_drops * FLOW_DROPS_SHARE <= fq->packets)
		return;
	finding_add(c, FINDING_FLOW_LIMIT, ns,
		    mem_format("fq on %s dropped %llu of %llu packets: more than its flow_limit of "
			       "%u waited in one flow",
			       text_shown(q->device), fq->flow_drops, fq->packets + fq->drops,
			       fq->flow_limit),
		    qdisc_flow_limit_advice(q, fq->flow_limit * FLOW_LIMIT_TIMES));
}

static void judge_buffer(struct check *c, const struct checked_netns *ns, const char *key,
			 __u64 has, __u64 bdp, __u64 bdps, const char *what)
{
	__u64 needed = (bdps * bdp + BUFFER_STEP - 1) / BUFFER_STEP * BUFFER_STEP;
	char value[64];

	if (!has || bdps * bdp <= has)
		return;
	snprintf(value, sizeof(value), "'4096 %u %llu'", !strcmp(key, "tcp_wmem") ? 16384 : 131072,
		 needed);
	finding_add(c, FINDING_BUFFER, ns,
		    mem_format("a connection %s %llu bytes in a round trip, and %s has room for "
			       "%llu bytes: %llu are needed",
			       what, bdp, key, has, bdps * bdp),
		    sysctl_command(c, ns, key, value));
}

static void judge_path(struct check *c, const struct checked_netns *ns)
{
	if (!ns->name || !ns->n)
		return;
	for_each (device, ns->device, ns->n_devices)
		judge_queue(c, ns, device);
	judge_buffer(c, ns, "tcp_wmem", ns->wmem, ns->bdp_sent, BDPS_SENT, "sends");
	judge_buffer(c, ns, "tcp_rmem", ns->rmem, ns->bdp_received, BDPS_RECEIVED, "receives");
	if (ns->lowat && ns->lowat < ns->rate / WAKE_UPS)
		finding_add(c, FINDING_LOWAT, ns,
			    mem_format("tcp_notsent_lowat, %llu bytes, lasts less than 1 ms at the "
				       "rate of a connection: a program that writes late slows it "
				       "down",
				       ns->lowat),
			    NULL);
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

	for_each (ns, c->ns, c->n_ns)
		if (ns->inode == c->initial)
			initial = ns;
	for_each (ns, c->ns, c->n_ns) {
		if (!initial || !has_other_default(c, ns, initial))
			continue;
		finding_add(c, FINDING_OTHER_DEFAULT, ns,
			    mem_format("the default is %s: it was set here, or the namespace is "
				       "older than the machine's default, %s",
				       ns->def, initial->def),
			    check_loaded(c, initial->def) ?
				    mem_format("bbrctl load --name %s --default%s", initial->def,
					       netns_option(c, ns)) :
				    sysctl_command(c, ns, "tcp_congestion_control", initial->def));
	}
}

static void judge_downloads(struct check *c)
{
	__u64 sent = 0, received = 0;

	for_each (ns, c->ns, c->n_ns) {
		sent += ns->bytes_acked;
		received += ns->bytes_received;
	}
	if (received && received / MOSTLY >= sent)
		finding_add(c, FINDING_DOWNLOADS, NULL,
			    mem_format("This machine mostly receives (%llu MB received, %llu MB "
				       "sent); the congestion control of the senders decides",
				       received / 1000000, sent / 1000000),
			    NULL);
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
	for_each (ns, c->ns, c->n_ns) {
		judge_default(c, ns);
		judge_path(c, ns);
	}
	judge_other_default(c);
	judge_downloads(c);
	if (c->n_findings)
		qsort(c->finding, c->n_findings, sizeof(*c->finding), by_kind);
}
