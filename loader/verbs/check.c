// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include <sys/utsname.h>

#include "check/check.h"
#include "instance/struct_ops.h"
#include "instance/object.h"
#include "kernel/kernel_types.h"
#include "kernel/netns.h"
#include "kernel/qdisc.h"
#include "verbs/verbs.h"

#define SYSCTL "/proc/sys/net/ipv4/tcp_congestion_control"

/* How the running kernel differs from the newest, and what else this machine has or lacks. */
struct surroundings {
	bool ack_args; /* 6.10: cong_control has four arguments */
	bool tx_start; /* 7.1: TX_START has a callback of its own, which we do without */
	bool app_limited; /* 6.4: app_limited can be written */
	bool link; /* 6.4: what is registered can be replaced */
	const char *pins; /* why a link cannot be pinned; NULL: it can */
	bool can_set_default;
	char lockdown[32]; /* "" if the kernel does not tell */
	struct device_qdisc *qdisc;
	int n_qdiscs; /* -errno: not known */
	int n_netns,
		unseen_netns; /* of the machine, and without a way to them; -errno: not known */
};

/* After check_look(), which looks for namespaces. */
static void read_surroundings(struct surroundings *s)
{
	const struct btf *btf = kernel_types();
	const struct netns_known *list;
	char line[128], *begin; /* "none [integrity] confidentiality" */

	s->ack_args = btf && callback_args(btf, "cong_control") == 4;
	s->tx_start = kernel_has_member(TCP_OPS, "cwnd_event_tx_start");
	s->app_limited = kernel_has_member("bpf_struct_ops", "validate");
	s->link = kernel_has_member("bpf_struct_ops", "update");
	s->pins = pin_problem();
	s->can_set_default = !access(SYSCTL, W_OK);
	text_first_line("/sys/kernel/security/lockdown", line, sizeof(line));
	begin = strchr(line, '[');
	snprintf(s->lockdown, sizeof(s->lockdown), "%.*s", begin ? (int)strcspn(begin + 1, "]") : 0,
		 begin ? begin + 1 : "");
	s->n_qdiscs = qdiscs_list(&s->qdisc);
	s->n_netns = netns_list(&list);
	s->unseen_netns = netns_unseen();
}

static void print_device(const struct device_qdisc *q)
{
	char *advice AUTO_FREE = qdisc_advice(q);

	if (!strcmp(q->kind, "fq")) {
		printf("  pacing on %s: by fq (flow_limit %u, %llu of %llu packets dropped)\n",
		       q->device, q->fq.flow_limit, q->fq.drops, q->fq.packets + q->fq.drops);
		return;
	}
	printf("  pacing on %s: by TCP, a timer for each connection (queue: %s%s%s)\n", q->device,
	       q->kind, q->multi[0] ? " below " : "", q->multi);
	if (advice)
		printf("    fq costs less: %s\n", advice);
	else
		printf("    fq costs less, but would replace %s\n", q->kind);
}

static void print_json_check(const struct utsname *uts, const struct surroundings *s,
			     const struct check *c)
{
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "kernel", uts->release);
	json_add_bool(&j, "ok", true);
	json_add_int(&j, "cong_control_args", s->ack_args ? 4 : 2);
	json_add_bool(&j, "tx_start_callback", s->tx_start);
	json_add_bool(&j, "app_limited_writable", s->app_limited);
	json_add_bool(&j, "atomic_upgrade", s->link);
	json_add_string(&j, "pin_problem", s->pins);
	json_add_bool(&j, "can_set_default", s->can_set_default);
	json_add_string(&j, "lockdown", s->lockdown[0] ? s->lockdown : NULL);
	json_add_int_if(&j, "namespaces", s->n_netns >= 0, s->n_netns);
	json_add_int_if(&j, "namespaces_unseen", s->unseen_netns >= 0, s->unseen_netns);
	check_add_devices(&j, s->qdisc, s->n_qdiscs);
	if (c)
		check_add_json(&j, c);
	json_end(&j);
}

static void print_check(const struct utsname *uts, const struct surroundings *s)
{
	printf("Linux %s can run bpf_bbr: its BPF program loads.\n", uts->release);
	printf("  cong_control: %d arguments\n", s->ack_args ? 4 : 2);
	printf("  restart from idle: %s\n",
	       s->tx_start ? "bpf_bbr detects it before sending (no CA_EVENT_TX_START)" :
			     "the kernel reports it");
	printf("  app_limited: %s\n",
	       s->app_limited ? "bpf_bbr sets it in the socket" :
				"bpf_bbr keeps its own mark (the kernel's is read-only)");
	printf("  upgrades: %s\n",
	       s->link ? "atomic" : "they leave a gap of a few tenths of a millisecond");
	printf("  pins: %s\n", s->pins ? s->pins : "they last until a reboot");
	if (s->can_set_default)
		puts("  defaults of network namespaces: can be set");
	else
		puts("  defaults of network namespaces: cannot be set, because\n"
		     "    " SYSCTL " cannot be written\n"
		     "    outside of a container it can; in a systemd unit leave out\n"
		     "    ProtectKernelTunables=");
	if (s->n_netns < 0)
		printf("  network namespaces: the kernel does not list them: %s\n",
		       strerror(-s->n_netns));
	else if (s->unseen_netns)
		printf("  network namespaces: %d; %d of them cannot be found from here\n",
		       s->n_netns, s->unseen_netns);
	else
		printf("  network namespaces: %d\n", s->n_netns);
	if (s->unseen_netns > 0)
		puts("    run it where /proc shows the processes of the whole machine, as with\n"
		     "    docker's --pid=host");
	if (s->lockdown[0])
		printf("  kernel lockdown: %s\n", s->lockdown);
	for_each (q, s->qdisc, s->n_qdiscs)
		print_device(q);
}

/* Each algorithm's object is loaded for a moment. */
static int try_to_load(void)
{
	int ret = EXIT_DONE;

	for (size_t i = 0; !ret && i < n_algorithms; i++) {
		struct object obj AUTO(object_close);

		ret = object_open(NULL, algorithms[i], &obj);
		if (!ret)
			ret = object_load(&obj);
	}
	return ret;
}

/* As bpf-bbr.service does: an undone change does not count, as long as the file still has it. */
static int heed_undo(struct check *c)
{
	struct undo undo AUTO(undo_free);

	if (undo_read(NULL, &undo) || !undo.is_undone || !undo_is_after(&undo, &c->wanted))
		return EXIT_DONE;
	machine_free(&c->wanted);
	c->is_undone = true;
	return undo_machine(&undo, false, &c->wanted);
}

/*
 * Finds what sockets should use: by the file that the user names, or else the usual one, if there
 * is one. A usual one that cannot be read is a finding.
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

/* Says that it can run even if the kernel does not answer the rest. */
static int verb_check(struct options *opt, int argc, char **argv)
{
	struct check c AUTO(check_free) = {};
	struct surroundings s;
	struct utsname uts;
	int ret = read_meant(&c, argc > 1 ? argv[1] : NULL);

	if (!ret && privileges_take())
		ret = EXIT_REFUSED;
	if (!ret && argc == 1 && c.file && !c.is_broken)
		ret = heed_undo(&c);
	if (!ret)
		ret = try_to_load();
	if (ret)
		return ret;
	ret = check_look(&c);
	if (!ret)
		check_judge(&c);
	uname(&uts);
	read_surroundings(&s);
	if (opt->json) {
		print_json_check(&uts, &s, ret ? NULL : &c);
	} else {
		print_check(&uts, &s);
		if (!ret)
			check_print(&c);
	}
	qdiscs_free(s.qdisc, s.n_qdiscs);
	if (!ret && c.n_off)
		ret = err_nothing("%zu finding%s", c.n_off, plural(c.n_off));
	return c.is_partial ? EXIT_REFUSED : ret;
}

BBRCTL_VERB(check, "check", NEEDS(CHANGE, .may = FILES | EVERY_NETNS), .args = "[FILE]",
	    .max_args = 1,
	    .brief = "report whether this machine can run BBR, where BBR is on and where off");
