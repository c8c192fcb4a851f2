// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* tdestroy() */
#include <errno.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/tcp.h>

#include <bpf/libbpf.h>

#include "bpf_calls.h"
#include "cli/err.h"
#include "cli/text.h"
#include "instance/object.h"
#include "migration/migration.h"
#include "kernel/instance.h"
#include "kernel/netns.h"

/*
 * In each namespace. The first pass finds all sockets, except those that the hash table hides by
 * changing between two read()s (before 6.17 the kernel resumes by position). The last pass finds
 * nothing new.
 */
#define MAX_PASSES 32
#define READ_SIZE (32 << 10) /* the kernel's buffer */

static volatile sig_atomic_t is_stopped;

static void on_stop(UNUSED int sig)
{
	is_stopped = true;
}

/* A signal ends the walk between two read()s, so that it can report how far it got. */
static void handle_signals(bool handle)
{
	struct sigaction action = { .sa_handler = handle ? on_stop : SIG_DFL };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

struct known {
	__u64 cookie;
	size_t index; /* of its record */
};

static int by_cookie(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->cookie < y->cookie ? -1 : x->cookie > y->cookie;
}

/* True if the socket is new. The last event of a socket counts. */
static bool note_record(struct migration *m, const struct migrate_record *r)
{
	struct known *new = mem_new(1, sizeof(*new)), **found;

	*new = (struct known){ r->cookie, m->n };
	found = mem_need(tsearch(new, &m->known, by_cookie));
	if (*found == new) {
		MEM_ADD(m->records, m->n) = *r;
		return true;
	}
	m->records[(*found)->index] = *r;
	free(new);
	return false;
}

/* One pass over the namespace that we are in. */
struct pass {
	struct migration *m;
	int found; /* sockets that were new */
	struct migrate_record record[READ_SIZE / sizeof(struct migrate_record)];
};

static ssize_t take_records(void *pass, size_t size)
{
	struct pass *p = pass;
	size_t n = size / sizeof(*p->record);

	for (size_t i = 0; i < n; i++)
		p->found += note_record(p->m, &p->record[i]);
	return is_stopped ? -1 : (ssize_t)(n * sizeof(*p->record));
}

struct visit {
	struct migration *m;
	int link;
	__u32 skip; /* the inode of a namespace that is not visited */
};

static int visit(const struct netns *ns, void *data)
{
	static struct pass p;
	const struct visit *v = data;
	size_t before = migration_count(v->m).moved;
	int found = 1, error;

	if (ns->inode == v->skip)
		return EXIT_DONE;
	v->m->namespaces++;
	for (int i = 0; i < MAX_PASSES && found > 0 && !is_stopped; i++) {
		p.m = v->m;
		p.found = 0;
		error = iterator_read(v->link, (char *)p.record, sizeof(p.record), take_records,
				      &p);
		found = error ? error : p.found;
	}
	if (found < 0)
		return err_refused("cannot walk the sockets of network namespace %s: %s", ns->name,
				   strerror(-found));
	v->m->others_namespaces += migration_count(v->m).moved > before;
	v->m->unfinished |= found || is_stopped;
	return is_stopped ? EXIT_REFUSED : EXIT_DONE;
}

static bool is_wanted(const struct netns_use *use, void *data)
{
	const struct visit *v = data;

	return !strcmp(use->name, v->m->config.from);
}

static int run(struct migration *m, const struct bpf_object *obj, __u32 skip)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "migrate");
	struct bpf_link *link = prog ? bpf_program__attach_iter(prog, NULL) : NULL;
	struct visit v = { .m = m, .skip = skip };
	int ret;

	if (!link)
		return err_bpf(errno, "the kernel refused to walk its sockets");
	v.link = bpf_link__fd(link);
	handle_signals(true);
	ret = m->all_netns ? netns_visit_all(NULL, is_wanted, visit, &v) :
			     netns_visit(m->netns, visit, &v);
	if (m->all_netns && netns_found() > 0)
		m->namespaces = netns_found(); /* also those that have no such socket */
	m->unseen = m->all_netns && !ret ? netns_unseen() : 0;
	handle_signals(false);
	bpf_link__destroy(link);
	m->stopped = is_stopped;
	if (is_stopped && !skip)
		err("stopped by a signal\n"
		    "run it again for the rest");
	return ret;
}

static int load_and_run(struct migration *m, __u32 skip)
{
	struct bpf_object *obj;
	int ret = migrate_object_load(&m->config, &obj);

	if (ret)
		return ret;
	ret = run(m, obj, skip);
	bpf_object__close(obj);
	return ret;
}

int migration_run(struct migration *m)
{
	m->unfinished = false;
	m->namespaces = 0;
	return load_and_run(m, 0);
}

void migration_count_others(struct migration *m)
{
	struct migration others AUTO(migration_free) = { .config = m->config, .all_netns = true };
	__u32 own;
	int ret;

	others.config.dry_run = true;
	err_mute(true);
	ret = netns_inode("", NETNS_OWN, &own);
	if (!ret) {
		ret = load_and_run(&others, own);
		m->others_known = true;
		m->others_partly = ret || others.unfinished || others.unseen > 0;
		m->others = migration_count(&others).moved;
		m->others_namespaces = others.others_namespaces;
	}
	err_mute(false);
}

void migration_free(struct migration *m)
{
	free(m->records);
	tdestroy(m->known, free);
}

struct migration_counts migration_count(const struct migration *m)
{
	struct migration_counts n = {};

	for (size_t i = 0; i < m->n; i++) {
		const struct migrate_record *r = &m->records[i];
		bool is_moved = r->what == MIGRATE_MOVED, listens = r->state == TCP_LISTEN;

		n.moved += is_moved && !listens;
		n.subflows += is_moved && !listens && r->is_subflow;
		n.listeners_moved += is_moved && listens;
		n.listeners_left += r->what == MIGRATE_LEFT;
		n.failed += r->what == MIGRATE_FAILED;
	}
	return n;
}

int migration_check_to(const char *option, const char *name)
{
	char available[4096];

	if (congestion_control_exists(name))
		return EXIT_DONE;
	if (!text_first_line(CONGESTION_CONTROLS, available, sizeof(available)))
		return err_refused("cannot read %s: %s", CONGESTION_CONTROLS, strerror(errno));
	return err_usage("%s %s: the kernel has no congestion control of this name\n"
			 "available: %s; load others with bbrctl load, or modprobe tcp_NAME",
			 option, name, available);
}
