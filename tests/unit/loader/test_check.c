/* SPDX-License-Identifier: GPL-2.0-only */
/* What check finds off, why, and which command it gives, whatever the kernel has said. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "fixture.h"

#include "check/check.h"
#include "cli/json.h"
#include "kernel/qdisc.h"

#include "../capture.h"

static struct check c;

static struct checked_netns *add_netns(const char *name, __u32 inode, const char *def, __s64 map_id)
{
	struct checked_netns *ns;

	c.ns = mem_grow(c.ns, c.n_ns, sizeof(*c.ns));
	ns = &c.ns[c.n_ns++];
	*ns = (struct checked_netns){ .inode = inode, .def_map_id = map_id };
	ns->name = name ? mem_copy(name) : NULL;
	strcpy(ns->def, def);
	return ns;
}

static void add_instance(const char *name, __u32 map_id, bool is_registered)
{
	c.alive = mem_grow(c.alive, c.n_alive, sizeof(*c.alive));
	memset(&c.alive[c.n_alive], 0, sizeof(*c.alive));
	strcpy(c.alive[c.n_alive].name, name);
	c.alive[c.n_alive].map_id = map_id;
	c.alive[c.n_alive++].registered = is_registered;
}

static struct use *add_use(__u32 netns, const char *cgroup, const char *name, __u32 flags, __u32 n)
{
	struct use *u;

	c.use = mem_grow(c.use, c.n_uses, sizeof(*c.use));
	u = &c.use[c.n_uses++];
	*u = (struct use){ .key = { .netns = netns, .flags = flags }, .is = { .n = n } };
	strcpy(u->is.name, name);
	inet_pton(AF_INET6, "2001:db8::7", u->is.raddr);
	u->cgroup = mem_copy(cgroup);
	return u;
}

static const struct attachment without_conditions;

static void add_meant(const char *cgroup, const char *name, bool is_attached)
{
	c.meant = mem_grow(c.meant, c.n_meant, sizeof(*c.meant));
	c.meant[c.n_meant++] = (struct meant_at){ cgroup, name, is_attached, &without_conditions,
						  USES_CONDITIONS };
}

/* Our namespace, 1, whose default is the instance bpf_bbr, map 7; and another, 2, with reno. */
static int begin(void **state)
{
	(void)state;
	memset(&c, 0, sizeof(c));
	c.own = c.initial = 1;
	add_netns("/proc/1/ns/net", 1, "bpf_bbr", 7);
	add_netns("web", 2, "reno", 0);
	add_instance("bpf_bbr", 7, true);
	return 0;
}

static int end(void **state)
{
	(void)state;
	check_free(&c);
	capture_free();
	return 0;
}

static void expect_nothing(void)
{
	check_judge(&c);
	if (c.n_off)
		print_message("%s\n", c.finding[0].text);
	assert_int_equal(c.n_off, 0);
}

/* Expects that this alone is off. */
static void expect(enum finding_kind kind, const char *text, const char *command)
{
	check_judge(&c);
	assert_int_equal(c.n_off, 1);
	assert_int_equal(c.finding[0].kind, kind);
	assert_string_equal(c.finding[0].text, text);
	if (command)
		assert_string_equal(c.finding[0].command, command);
	else
		assert_null(c.finding[0].command);
}

static void expect_use(enum use_cause cause, const char *text, const char *command)
{
	expect(FINDING_USE, text, command);
	assert_int_equal(c.finding[0].cause, cause);
}

static void expect_also(enum finding_kind kind, const char *text, const char *command)
{
	check_judge(&c);
	assert_int_equal(c.n_off, 0);
	for (size_t i = 0; i < c.n_findings; i++) {
		if (c.finding[i].kind != kind)
			continue;
		assert_string_equal(c.finding[i].text, text);
		assert_int_equal(command != NULL, c.finding[i].command != NULL);
		if (command)
			assert_string_equal(c.finding[i].command, command);
		return;
	}
	fail();
}

static void what_is_as_meant(void **state)
{
	struct use *u;

	(void)state;
	u = add_use(1, "/", "bpf_bbr", 0, 3);
	u->is.map_id = 7;
	add_use(2, "/", "cubic", USES_CHOSEN, 3); /* nothing is meant there */
	expect_nothing();
	assert_int_equal(c.ns[0].n, 3);
}

static void old_ones(void **state)
{
	(void)state;
	add_use(1, "/", "reno", 0, 2);
	add_use(1, "/a", "reno", 0, 1);
	expect_use(USE_OLD,
		   "3 connections use reno, not bpf_bbr: opened before bpf_bbr was set for the "
		   "namespace",
		   "bbrctl migrate --from reno --to bpf_bbr");
}

static void what_cannot_be_told_apart(void **state)
{
	(void)state;
	add_use(1, "/", "reno", USES_NO_ROUTE, 1);
	expect_use(USE_OLD_OR_ROUTE,
		   "1 connection uses reno, not bpf_bbr: opened before bpf_bbr was set for the "
		   "namespace, or by a route's congctl",
		   "bbrctl migrate --from reno --to bpf_bbr");
}

static void chosen_ones(void **state)
{
	(void)state;
	add_use(1, "/", "reno", USES_CHOSEN | USES_ROUTE, 1);
	add_use(1, "/", "reno", USES_CHOSEN | USES_LISTENER, 2);
	expect_use(USE_CHOSEN,
		   "1 connection and 2 listeners use reno, not bpf_bbr: the application or "
		   "another program chose it (setsockopt)",
		   "bbrctl migrate --from reno --to bpf_bbr --listeners");
}

static void by_a_route(void **state)
{
	(void)state;
	c.own = 5;
	add_use(1, "/", "reno", USES_ROUTE, 1);
	expect_use(USE_BY_ROUTE,
		   "1 connection uses reno, not bpf_bbr: their route has congctl reno",
		   "nsenter --net=/proc/1/ns/net ip -6 route change $(nsenter "
		   "--net=/proc/1/ns/net ip -6 route show match 2001:db8::7 | grep congctl | tail "
		   "-1 | sed -E 's/congctl (lock )?[^ ]+/congctl bpf_bbr/')");
}

/* 203.0.113.0/24 in our namespace, for an instance that is loaded. */
static struct machine_route *add_route(struct machine *m, const char *name)
{
	struct machine_route *r = machine_add_route(m, "/proc/1/ns/net", 1);

	strcpy(r->name, name);
	r->is.to.len = 96 + 24;
	inet_pton(AF_INET6, "::ffff:203.0.113.0", r->is.to.addr);
	return r;
}

static void by_a_route_of_the_file(void **state)
{
	(void)state;
	add_instance("bpf_bbr3", 8, true);
	add_route(&c.wanted, "bpf_bbr3");
	add_use(1, "/", "bpf_bbr3", USES_ROUTE, 1)->key.route = 1;
	check_judge(&c);
	assert_int_equal(c.n_off, 0);
}

/* A narrower one leads there, which the file does not have. */
static void by_a_route_unlike_that_of_the_file(void **state)
{
	(void)state;
	add_route(&c.wanted, "reno");
	add_use(1, "/", "reno", USES_ROUTE, 1);
	expect_use(USE_BY_ROUTE,
		   "1 connection uses reno, not bpf_bbr: their route has congctl reno",
		   "ip -6 route change $(ip -6 route show match 2001:db8::7 | grep congctl | tail "
		   "-1 | sed -E 's/congctl (lock )?[^ ]+/congctl bpf_bbr/')");
}

/* Whatever their default is, and in whatever way they got what they use. */
static void older_than_a_route(void **state)
{
	(void)state;
	c.own = 1;
	add_instance("bpf_bbr3", 8, true);
	add_route(&c.wanted, "bpf_bbr3");
	add_route(&c.found, "bpf_bbr3");
	add_use(1, "/", "bpf_bbr", 0, 2)->key.route = 1;
	add_use(1, "/", "bpf_bbr", USES_NO_ROUTE, 1)->key.route = 1;
	add_use(1, "/", "bpf_bbr", USES_ROUTE, 1)->key.route = 1;
	add_use(1, "/", "bpf_bbr", 0, 7);
	expect_use(USE_OLD,
		   "4 connections use bpf_bbr, not bpf_bbr3: opened before bpf_bbr3 was set for "
		   "route 203.0.113.0/24",
		   "bbrctl migrate --from bpf_bbr --to bpf_bbr3 --dst 203.0.113.0/24");
}

static void not_routed_yet(void **state)
{
	(void)state;
	add_instance("bpf_bbr3", 8, true);
	add_route(&c.wanted, "bpf_bbr3");
	add_route(&c.found, "");
	add_use(1, "/", "bpf_bbr", 0, 1)->key.route = 1;
	expect_use(USE_NOT_ROUTED,
		   "1 connection uses bpf_bbr, not bpf_bbr3: bpf_bbr3 is not the congctl of route "
		   "203.0.113.0/24",
		   "bbrctl migrate --from bpf_bbr --to bpf_bbr3 --dst 203.0.113.0/24");
}

/* An attachment decides after a route, unless that is locked. */
static void a_route_and_an_attachment(void **state)
{
	(void)state;
	add_instance("bpf_bbr3", 8, true);
	add_route(&c.wanted, "bpf_bbr3");
	add_route(&c.found, "bpf_bbr3");
	add_meant("/a", "bpf_bbr", true);
	add_use(1, "/a", "bpf_bbr", 0, 1)->key.route = 1;
	expect_nothing();
	c.wanted.route[0].is.is_locked = true;
	expect_use(USE_OLD,
		   "1 connection uses bpf_bbr, not bpf_bbr3: opened before bpf_bbr3 was set for "
		   "route 203.0.113.0/24",
		   "bbrctl migrate --from bpf_bbr --to bpf_bbr3 --dst 203.0.113.0/24 --cgroup /a");
}

static void unloaded_code(void **state)
{
	struct use *u = add_use(2, "/", "bpf_bbr", USES_CHOSEN, 1);

	(void)state;
	add_instance("bpf_bbr", 6, false);
	u->is.map_id = 6;
	expect_use(USE_UNLOADED,
		   "1 connection uses bpf_bbr, not reno: this code was unloaded or replaced",
		   "bbrctl migrate --from bpf_bbr --to reno --netns web");
}

static void replaced_code(void **state)
{
	struct use *u = add_use(1, "/", "bpf_bbr", 0, 1);

	(void)state;
	add_instance("bpf_bbr", 6, false);
	u->is.map_id = 6;
	expect_use(USE_UNLOADED, "1 connection uses bpf_bbr: this code was unloaded or replaced",
		   "bbrctl migrate --from bpf_bbr --to bpf_bbr");
}

static void a_default_of_unloaded_code(void **state)
{
	(void)state;
	add_instance("bpf_bbr", 6, false);
	c.ns[0].def_map_id = 6;
	expect(FINDING_DEFAULT, "its default is code of bpf_bbr that was unloaded",
	       "bbrctl load --name bpf_bbr --default");
}

static void a_default_of_unloaded_code_out_of_reach(void **state)
{
	(void)state;
	add_instance("gone", 6, false);
	add_netns(NULL, 3, "gone", 6);
	expect(FINDING_DEFAULT, "its default is code of gone that was unloaded", NULL);
}

static void the_innermost_attachment_counts(void **state)
{
	(void)state;
	add_instance("bpf_bbr3", 8, true);
	add_meant("/a", "bpf_bbr", true);
	add_meant("/a/b", "bpf_bbr3", true);
	add_use(2, "/a/b/c", "bpf_bbr3", USES_CHOSEN, 4);
	add_use(2, "/a/bc", "bpf_bbr", USES_CHOSEN, 4);
	add_use(2, "/ab", "cubic", 0, 4);
	add_use(2, "/a/b", "cubic", 0, 1);
	expect_use(USE_OLD,
		   "1 connection uses cubic, not bpf_bbr3: opened before bpf_bbr3 was set for /a/b",
		   "bbrctl migrate --from cubic --to bpf_bbr3 --netns web --cgroup /a/b");
}

/* bpf_bbr3 is right in one cgroup and not in another: the command names the cgroup. */
static void others_of_the_same_name_stay(void **state)
{
	(void)state;
	add_instance("bpf_bbr3", 8, true);
	add_meant("/a", "bpf_bbr3", true);
	add_use(1, "/a", "bpf_bbr3", USES_CHOSEN, 4);
	add_use(1, "/b", "bpf_bbr3", USES_CHOSEN, 1);
	expect_use(USE_CHOSEN,
		   "1 connection uses bpf_bbr3, not bpf_bbr: the application or another "
		   "program chose it (setsockopt)",
		   "bbrctl migrate --from bpf_bbr3 --to bpf_bbr --cgroup /b");
}

static void a_socket_of_another_cgroup(void **state)
{
	struct use *u = add_use(2, "/b", "reno", 0, 1);

	(void)state;
	add_meant("/a", "bpf_bbr", true);
	u->key.attachment = 1;
	expect_use(USE_OTHER_CGROUP,
		   "1 connection uses reno, not bpf_bbr: their socket was created in the "
		   "cgroup /b, before the process entered /a",
		   "bbrctl migrate --from reno --to bpf_bbr --netns web");
}

static void set_conditions(struct meant_at *at, struct attachment *is, __u32 number)
{
	is->n = 1;
	is->term[0] = (struct bbr_term){ .kind = BBR_TERM_DPORT, .value = { htons(443) } };
	at->is = is;
	at->condition = number;
}

/* An attachment with conditions is for some of its connections; the rest is for the one around it. */
static void conditions(void **state)
{
	struct attachment is = {};

	(void)state;
	add_instance("bpf_bbr3", 8, true);
	add_meant("/a", "bpf_bbr", true);
	add_meant("/a/b", "bpf_bbr3", true);
	set_conditions(&c.meant[1], &is, 5);
	add_use(2, "/a/b", "bpf_bbr3", 0, 2)->key.held = 1 << 5;
	add_use(2, "/a/b", "bpf_bbr", 0, 2)->key.held = ~(1u << 5);
	expect_nothing();
	strcpy(c.use[0].is.name, "reno");
	expect_use(
		USE_OLD,
		"2 connections use reno, not bpf_bbr3: opened before bpf_bbr3 was set for /a/b",
		"bbrctl migrate --from reno --to bpf_bbr3 --netns web --dport 443 --cgroup /a/b");
}

/* As with a device: then any is right. A listener does not know whom it will serve. */
static void conditions_that_are_not_known(void **state)
{
	struct attachment is = {};

	(void)state;
	add_meant("/a/b", "bpf_bbr", true);
	set_conditions(&c.meant[0], &is, USES_CONDITIONS);
	add_use(2, "/a/b", "reno", 0, 2);
	expect_nothing();
	c.meant[0].condition = 0;
	add_use(2, "/a/b", "reno", USES_CHOSEN | USES_LISTENER, 2);
	expect_nothing();
}

/* What migrate cannot choose, a service's restart mends. */
static void conditions_that_are_not_options(void **state)
{
	struct attachment is = {};

	(void)state;
	add_meant("/system.slice/a.service", "bpf_bbr", true);
	set_conditions(&c.meant[0], &is, 0);
	is.term[0].is_not = true;
	add_use(2, "/system.slice/a.service", "reno", 0, 1)->key.held = 1;
	expect_use(USE_OLD,
		   "1 connection uses reno, not bpf_bbr: opened before bpf_bbr was set for "
		   "/system.slice/a.service",
		   "systemctl restart a.service");
	end(NULL);
	begin(NULL);
	add_meant("/a", "bpf_bbr", true);
	set_conditions(&c.meant[0], &is, 0);
	is.term[0].is_not = true;
	add_use(2, "/a", "reno", 0, 1)->key.held = 1;
	expect_use(USE_OLD,
		   "1 connection uses reno, not bpf_bbr: opened before bpf_bbr was set for /a",
		   NULL);
}

static void what_is_in_an_experiment(void **state)
{
	(void)state;
	c.experiment = mem_grow(NULL, 0, sizeof(char *));
	c.experiment[c.n_experiments++] = mem_copy("/a");
	add_use(1, "/a/b", "cubic", USES_CHOSEN, 1);
	expect_nothing();
}

static void an_attachment_to_nothing(void **state)
{
	(void)state;
	add_meant("/a", "bpf_gone", true);
	add_use(2, "/a", "reno", 0, 1)->key.attachment = 1;
	add_use(2, "/b", "reno", 0, 1)->key.attachment = 1;
	expect(FINDING_NOT_LOADED, "bpf_gone is attached to /a, but not loaded",
	       "bbrctl load --name bpf_gone");
}

static void what_a_file_means(void **state)
{
	(void)state;
	c.file = "a file";
	machine_add_instance(&c.wanted, "bpf_x");
	machine_add_default(&c.wanted, "web", 2, "bpf_x");
	add_use(2, "/", "reno", 0, 1);
	expect_use(USE_NOT_LOADED, "1 connection uses reno, not bpf_x: bpf_x is not loaded",
		   "bbrctl apply 'a file'");
}

static void not_the_default_yet(void **state)
{
	(void)state;
	c.file = machine_file_default;
	machine_add_instance(&c.wanted, "bpf_bbr");
	machine_add_default(&c.wanted, "web", 2, "bpf_bbr");
	add_use(2, "/", "reno", 0, 1);
	expect_use(USE_NOT_DEFAULT, "1 connection uses reno, not bpf_bbr: the default here is reno",
		   "bbrctl migrate --from reno --to bpf_bbr --netns web");
}

static void not_attached_yet(void **state)
{
	(void)state;
	c.file = machine_file_default;
	machine_add_instance(&c.wanted, "bpf_bbr");
	add_meant("/a", "bpf_bbr", false);
	add_use(2, "/a", "reno", 0, 1);
	expect_use(USE_NOT_ATTACHED,
		   "1 connection uses reno, not bpf_bbr: bpf_bbr is not attached to /a",
		   "bbrctl migrate --from reno --to bpf_bbr --netns web --cgroup /a");
}

static void a_file_that_cannot_be_read(void **state)
{
	(void)state;
	c.file = machine_file_default;
	c.is_broken = true;
	expect(FINDING_FILE, "/etc/bpf-bbr/bpf-bbr.conf cannot be applied", "bbrctl apply");
}

/* As the unit does: plain apply would make what was undone. */
static void what_was_undone(void **state)
{
	(void)state;
	c.file = machine_file_default;
	c.is_undone = true;
	c.plan.n = 2;
	expect(FINDING_PLAN,
	       "the machine differs from the state to which apply --undo took back "
	       "/etc/bpf-bbr/bpf-bbr.conf in 2 points",
	       "bbrctl apply --service");
	c.plan.n = 0;
}

static void not_for_programs_without_privileges(void **state)
{
	(void)state;
	c.allowed = mem_copy("reno bpf_bbr3 bpf_bbr");
	expect_nothing();
	end(NULL);
	begin(NULL);
	add_instance("bpf_x", 9, true);
	add_instance("bpf_bbr", 6, false);
	c.allowed = mem_copy("reno bpf_bbr3");
	expect(FINDING_NOT_ALLOWED, "programs without privileges cannot choose bpf_bbr, bpf_x",
	       "sysctl -w net.ipv4.tcp_allowed_congestion_control='reno bpf_bbr3 bpf_bbr bpf_x'");
}

static void add_device(struct checked_netns *ns, __u64 packets, __u64 flow_drops)
{
	ns->device = mem_new(1, sizeof(*ns->device));
	ns->device[0] = (struct device_qdisc){
		.device = "eth0",
		.kind = "fq",
		.fq = { 1, 10000, 100, packets, flow_drops, flow_drops },
	};
	ns->n_devices = 1;
}

static void flows_that_fq_cuts(void **state)
{
	(void)state;
	add_use(1, "/", "bpf_bbr", 0, 1);
	add_device(&c.ns[0], 5000, 5);
	expect_nothing();
	end(NULL);
	begin(NULL);
	add_use(1, "/", "bpf_bbr", 0, 1);
	add_device(&c.ns[0], 5000, 6);
	expect(FINDING_FLOW_LIMIT,
	       "fq on eth0 dropped 6 of 5006 packets: more than its flow_limit of 100 waited in "
	       "one "
	       "flow",
	       "tc qdisc change dev eth0 root fq flow_limit 1000");
}

static void buffers(void **state)
{
	struct use *u = add_use(1, "/", "bpf_bbr", 0, 1);

	(void)state;
	c.ns[0].wmem = 4000000;
	c.ns[0].rmem = 4000000;
	u->is.bdp_sent = 2000000;
	u->is.bdp_received = 1000000;
	expect_nothing();
	end(NULL);
	begin(NULL);
	u = add_use(1, "/", "bpf_bbr", 0, 1);
	c.ns[0].wmem = 4000000;
	u->is.bdp_sent = 2000001;
	expect(FINDING_BUFFER,
	       "a connection sends 2000001 bytes in a round trip, and tcp_wmem has room for "
	       "4000000 "
	       "bytes: 4000002 are needed",
	       "sysctl -w net.ipv4.tcp_wmem='4096 16384 4194304'");
	end(NULL);
	begin(NULL);
	u = add_use(2, "/", "bpf_bbr", 0, 1);
	c.ns[1].rmem = 4000000;
	u->is.bdp_received = 1000001;
	expect(FINDING_BUFFER,
	       "a connection receives 1000001 bytes in a round trip, and tcp_rmem has room for "
	       "4000000 bytes: 4000004 are needed",
	       "nsenter --net=/run/netns/web sysctl -w net.ipv4.tcp_rmem='4096 131072 4194304'");
}

static void what_is_no_reason_for_a_status(void **state)
{
	struct use *u = add_use(1, "/", "bpf_bbr", 0, 1);

	(void)state;
	u->is.bytes_received = 3000000;
	u->is.bytes_acked = 1000000;
	u->is.rate = 125000000;
	c.ns[0].lowat = 16384;
	expect_also(FINDING_OTHER_DEFAULT,
		    "the default is reno: it was set here, or the namespace is older than the "
		    "machine's "
		    "default, bpf_bbr",
		    "bbrctl load --name bpf_bbr --default --netns web");
	expect_also(FINDING_DOWNLOADS,
		    "This machine mostly receives (3 MB received, 1 MB sent); the congestion "
		    "control of the senders decides",
		    NULL);
	expect_also(FINDING_LOWAT,
		    "tcp_notsent_lowat, 16384 bytes, lasts less than 1 ms at the rate of a "
		    "connection: a program that writes late slows it down",
		    NULL);
}

/* The machine had an instance as its default when this namespace was made. */
static void a_default_that_the_machine_had(void **state)
{
	struct machine_note note = { .name = "bpf_bbr", .inode = 2 };

	(void)state;
	strcpy(c.ns[0].def, "cubic");
	strcpy(c.ns[1].def, "bpf_bbr");
	c.file = "some.conf";
	expect_also(FINDING_OTHER_DEFAULT,
		    "the default is bpf_bbr: it was set here, or the namespace is older than the "
		    "machine's "
		    "default, cubic",
		    "nsenter --net=/run/netns/web sysctl -w net.ipv4.tcp_congestion_control=cubic");
	end(NULL);
	begin(NULL);
	strcpy(c.ns[0].def, "cubic");
	strcpy(c.ns[1].def, "bpf_bbr");
	c.file = "some.conf";
	MEM_ADD(c.found.note, c.found.n_notes) = note; /* bbrctl set it */
	check_judge(&c);
	assert_int_equal(c.n_findings, 0);
}

static void expect_printed(const char *text)
{
	check_judge(&c);
	capture_begin();
	check_print(&c);
	capture_end();
	assert_string_equal(captured_output(), text);
}

static void text_of_80_columns(void **state)
{
	struct use *u;

	(void)state;
	strcpy(c.ns[1].container, "docker 0123456789ab");
	u = add_use(2, "/", "reno", USES_CHOSEN, 3);
	u->is.map_id = 0;
	machine_add_default(&c.wanted, "web", 2, "bpf_bbr");
	add_use(2, "/", "reno", USES_CHOSEN | USES_LISTENER, 1);
	add_netns("idle", 3, "reno", 0);
	c.own = 4;
	c.initial = 0;
	expect_printed(
		"Network namespaces:\n"
		"  docker 0123456789ab (web): default reno; 3 connections: reno 3\n"
		"    paced by fq 0, by TCP 0; most in a round trip: 0 kB sent, 0 kB received;\n"
		"      tcp_wmem 0 kB, tcp_rmem 0 kB\n"
		"  2 without connections\n"
		"Off:\n"
		"  docker 0123456789ab (web): 3 connections and 1 listener use reno, not bpf_bbr:\n"
		"    the application or another program chose it (setsockopt)\n"
		"      bbrctl migrate --from reno --to bpf_bbr --netns web --listeners\n");
}

/* A shell takes a command of several lines as one. */
static void a_command_of_several_lines(void **state)
{
	(void)state;
	c.initial = 0;
	c.allowed = mem_copy("reno and a few others that somebody listed there");
	expect_printed(
		"Network namespaces:\n"
		"  this namespace: default bpf_bbr; 0 connections\n"
		"  1 without connections\n"
		"Off:\n"
		"  programs without privileges cannot choose bpf_bbr\n"
		"      sysctl -w \\\n"
		"        net.ipv4.tcp_allowed_congestion_control='reno and a few others that "
		"somebody listed there bpf_bbr'\n");
}

static void nothing_is_off(void **state)
{
	(void)state;
	c.initial = 0;
	expect_printed("Network namespaces:\n"
		       "  this namespace: default bpf_bbr; 0 connections\n"
		       "  1 without connections\n"
		       "Nothing is off.\n");
	c.file = "some.conf";
	expect_printed("Network namespaces:\n"
		       "  this namespace: default bpf_bbr; 0 connections\n"
		       "  1 without connections\n"
		       "Nothing is off: the machine matches some.conf.\n");
}

static void what_is_not_known_is_not_right(void **state)
{
	(void)state;
	c.initial = 0;
	c.is_partial = true;
	expect_printed("Network namespaces:\n"
		       "  this namespace: default bpf_bbr; 0 connections\n"
		       "  1 without connections\n");
}

static void no_more_lines_than_a_person_reads(void **state)
{
	char name[16];
	int lines = 0;

	(void)state;
	for (int i = 10; i < 110; i++) {
		sprintf(name, "ns%d", i);
		add_netns(name, i, "bpf_bbr", 7);
		add_use(i, "/", "reno", 0, 1);
	}
	check_judge(&c);
	assert_int_equal(c.n_off, 100);
	capture_begin();
	check_print(&c);
	capture_end();
	assert_non_null(strstr(captured_output(), "  81 more with connections: -j lists them\n"));
	assert_non_null(strstr(captured_output(), "  80 more: -j lists them\n"));
	for (const char *at = captured_output(); (at = strchr(at, '\n')); at++)
		lines++;
	assert_in_range(lines, 0, 130);
}

static void json(void **state)
{
	struct json j;

	(void)state;
	c.initial = 0;
	add_use(1, "/", "reno", USES_CHOSEN, 3);
	check_judge(&c);
	capture_begin();
	json_begin(&j, stdout);
	check_add_json(&j, &c);
	json_end(&j);
	capture_end();
	assert_non_null(strstr(
		captured_output(),
		"\"off\":[{\"kind\":\"connections\",\"netns\":\"/proc/1/ns/"
		"net\",\"inode\":1,\"why\":"
		"\"chosen\",\"uses\":\"reno\",\"meant\":\"bpf_bbr\",\"cgroup\":null,\"route\":null,"
		"\"connections\":3,"
		"\"listeners\":0,\"text\":\"3 connections use reno, not bpf_bbr: the "
		"application or another program chose it (setsockopt)\",\"command\":\"bbrctl "
		"migrate --from reno --to "
		"bpf_bbr\"}],\"also\":[]"));
	assert_non_null(strstr(captured_output(),
			       "\"uses\":[{\"name\":\"reno\",\"map_id\":null,\"unloaded\":false,"
			       "\"connections\":3,\"listeners\":0}]"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_as_meant),
		TEST(old_ones),
		TEST(what_cannot_be_told_apart),
		TEST(chosen_ones),
		TEST(by_a_route),
		TEST(by_a_route_of_the_file),
		TEST(by_a_route_unlike_that_of_the_file),
		TEST(older_than_a_route),
		TEST(not_routed_yet),
		TEST(a_route_and_an_attachment),
		TEST(unloaded_code),
		TEST(replaced_code),
		TEST(a_default_of_unloaded_code),
		TEST(a_default_of_unloaded_code_out_of_reach),
		TEST(the_innermost_attachment_counts),
		TEST(others_of_the_same_name_stay),
		TEST(a_socket_of_another_cgroup),
		TEST(conditions),
		TEST(conditions_that_are_not_known),
		TEST(conditions_that_are_not_options),
		TEST(what_is_in_an_experiment),
		TEST(an_attachment_to_nothing),
		TEST(what_a_file_means),
		TEST(not_the_default_yet),
		TEST(not_attached_yet),
		TEST(a_file_that_cannot_be_read),
		TEST(what_was_undone),
		TEST(not_for_programs_without_privileges),
		TEST(flows_that_fq_cuts),
		TEST(buffers),
		TEST(what_is_no_reason_for_a_status),
		TEST(a_default_that_the_machine_had),
		TEST(text_of_80_columns),
		TEST(a_command_of_several_lines),
		TEST(nothing_is_off),
		TEST(what_is_not_known_is_not_right),
		TEST(no_more_lines_than_a_person_reads),
		TEST(json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
