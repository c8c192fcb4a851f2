// SPDX-License-Identifier: GPL-2.0-only
/* What a migration did, as text and as JSON. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <netinet/tcp.h>

#include "address.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/units.h"
#include "kernel/netns.h"
#include "migration/migration.h"

#define KERNEL_ENOTSUPP 524 /* not the one of user space */

/* Why the kernel did not move a socket. */
static const char *reason(int error)
{
	switch (error) {
	case ENOENT:
		return "the kernel no longer has the new congestion control";
	case EBUSY:
		return "the new congestion control is being unloaded, or the socket is changing at "
		       "this moment";
	case EPERM:
		return "the new congestion control is restricted";
	case KERNEL_ENOTSUPP:
		return "BPF may not move a socket to it";
	default:
		return strerror(error);
	}
}

static const char *state_name(__u8 state)
{
	static const char *const names[] = {
		[TCP_ESTABLISHED] = "ESTABLISHED", [TCP_SYN_SENT] = "SYN_SENT",
		[TCP_SYN_RECV] = "SYN_RECV",	   [TCP_FIN_WAIT1] = "FIN_WAIT1",
		[TCP_FIN_WAIT2] = "FIN_WAIT2",	   [TCP_CLOSE] = "CLOSE",
		[TCP_CLOSE_WAIT] = "CLOSE_WAIT",   [TCP_LAST_ACK] = "LAST_ACK",
		[TCP_LISTEN] = "LISTEN",	   [TCP_CLOSING] = "CLOSING",
	};

	return state < sizeof(names) / sizeof(names[0]) && names[state] ? names[state] : "?";
}

static const char *what_name(const struct migrate_record *r)
{
	static const char *const names[] = {
		[MIGRATE_MOVED] = "moved",
		[MIGRATE_FAILED] = "failed",
		[MIGRATE_LEFT] = "left",
	};

	return names[r->what];
}

#define ERRORS (KERNEL_ENOTSUPP + 1)

static void count_errors(const struct migration *m, size_t counts[ERRORS])
{
	memset(counts, 0, ERRORS * sizeof(*counts));
	for (size_t i = 0; i < m->n; i++)
		if (m->records[i].what == MIGRATE_FAILED && -m->records[i].error < ERRORS)
			counts[-m->records[i].error]++;
}

static void add_record(struct json *j, const struct migrate_record *r)
{
	json_open_object(j, NULL);
	json_add_int(j, "netns", r->netns);
	json_add_endpoint(j, "local", r->laddr, "local_port", r->lport);
	json_add_endpoint(j, "remote", r->raddr, "remote_port", r->rport);
	json_add_string(j, "state", state_name(r->state));
	json_add_string(j, "result", what_name(r));
	json_add_signed(j, "errno", -r->error);
	json_add_int_if(j, "mptcp_token", r->is_subflow, r->mptcp_token);
	json_close(j);
}

void migration_add_json(struct json *j, const struct migration *m)
{
	const struct migration_counts n = migration_count(m);
	size_t counts[ERRORS];

	json_add_string(j, "from", m->config.from);
	json_add_string(j, "to", m->config.to);
	json_add_bool(j, "dry_run", m->config.dry_run);
	json_add_int(j, "namespaces", m->namespaces);
	json_add_int_if(j, "namespaces_unseen", m->all_netns && m->unseen >= 0, m->unseen);
	json_add_int_if(j, "left_in_other_namespaces", m->others_known && !m->others_partly,
			m->others);
	json_add_int(j, "moved", n.moved);
	json_add_int(j, "listeners_moved", n.listeners_moved);
	json_add_int(j, "listeners_left", n.listeners_left);
	json_add_int(j, "failed", n.failed);
	json_open_array(j, "errors");
	count_errors(m, counts);
	for (int error = 0; error < ERRORS; error++) {
		if (!counts[error])
			continue;
		json_open_object(j, NULL);
		json_add_int(j, "errno", error);
		json_add_string(j, "error", reason(error));
		json_add_int(j, "count", counts[error]);
		json_close(j);
	}
	json_close(j);
	json_add_bool(j, "unfinished", m->unfinished);
	json_add_int(j, "subflows_moved", n.subflows);
	if (!err_is_verbose())
		return;
	json_open_array(j, "sockets");
	for (size_t i = 0; i < m->n; i++)
		add_record(j, &m->records[i]);
	json_close(j);
}

static void print_record(const struct migrate_record *r)
{
	char local[ADDRESS_TEXT_LEN], remote[ADDRESS_TEXT_LEN];

	format_endpoint(local, sizeof(local), r->laddr, r->lport);
	format_endpoint(remote, sizeof(remote), r->raddr, r->rport);
	printf("%-6s %-11s %s %s netns %u", what_name(r), state_name(r->state), local, remote,
	       r->netns);
	if (r->is_subflow)
		printf(" mptcp %x", r->mptcp_token);
	putchar('\n');
}

/* In how many namespaces something was moved. The records of a namespace follow each other. */
static size_t moved_namespaces(const struct migration *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		size_t k = i;

		if (m->records[i].what != MIGRATE_MOVED)
			continue;
		while (k && (m->records[k - 1].what != MIGRATE_MOVED ||
			     m->records[k - 1].netns != m->records[i].netns))
			k--;
		n += !k;
	}
	return n;
}

static void print_where(const struct migration *m)
{
	size_t n;

	if (m->all_netns) {
		n = moved_namespaces(m);
		printf(", in %zu network namespace%s\n", n, plural(n));
	} else if (m->netns) {
		printf(", in network namespace %s\n", text_shown(m->netns));
	} else {
		puts(", in this network namespace");
	}
}

void migration_print(const struct migration *m)
{
	const struct migration_counts n = migration_count(m);

	for (size_t i = 0; err_is_verbose() && i < m->n; i++)
		print_record(&m->records[i]);
	if (m->n) {
		printf("%s %zu connection%s", m->config.dry_run ? "would move" : "moved", n.moved,
		       plural(n.moved));
		if (n.listeners_moved)
			printf(" and %zu listener%s", n.listeners_moved, plural(n.listeners_moved));
		printf(" from %s to %s", m->config.from, m->config.to);
		print_where(m);
	}
	if (n.subflows)
		printf("%zu of them %s of MPTCP; later subflows get the congestion "
		       "control of their MPTCP socket\n",
		       n.subflows, n.subflows == 1 ? "is a subflow" : "are subflows");
	if (m->others)
		printf("left alone: %s%zu connection%s in %zu other network namespace%s "
		       "(--all-netns)\n",
		       m->others_partly ? "at least " : "", m->others, plural(m->others),
		       m->others_namespaces, plural(m->others_namespaces));
	if (n.listeners_left)
		printf("%zu listener%s left with %s, as are the connections that they will accept; "
		       "--listeners moves them, too\n",
		       n.listeners_left, plural(n.listeners_left), m->config.from);
}

int migration_judge(const struct migration *m)
{
	const struct migration_counts n = migration_count(m);
	size_t counts[ERRORS];

	if (m->unfinished && !m->stopped)
		err("not finished: new sockets with %s keep coming\n"
		    "stop new sockets from getting it (the default; listeners: --listeners), "
		    "and run it again",
		    m->config.from);
	count_errors(m, counts);
	for (int error = 0; error < ERRORS; error++)
		if (counts[error])
			err("%zu could not be moved: %s", counts[error], reason(error));
	if (m->unseen)
		netns_say_unseen(m->unseen, "migrate");
	if (n.failed || m->unfinished || m->unseen > 0)
		return EXIT_REFUSED;
	if (n.moved + n.listeners_moved)
		return EXIT_DONE;
	return err_nothing("no matching connection uses %s", m->config.from);
}
