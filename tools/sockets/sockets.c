// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf_bbr/snapshot.h"
#include "cli/err.h"
#include "event/event.h"
#include "kernel/instance.h"
#include "kernel/kernel_types.h"
#include "bpf_calls.h"
#include "kernel/netns.h"
#include "sockets.h"

#define BUFFER_SIZE (64 << 10) /* the kernel hands out 32 KiB at a time */
#define LOG_SIZE (1 << 20)
#define BBR_MODULE_BTF "/sys/kernel/btf/tcp_bbr"
#define EVENT_AT offsetof(struct bbr_snapshot, event) /* in a record, which ends with the event */

/* One reading. */
struct reading {
	struct sockets *sockets;
	sockets_handler handle;
	void *ctx;
	bool enough;
};

static void unload(struct sockets *s, size_t i)
{
	if (s->programs[i].skel)
		snapshot_programs[i].unload(&s->programs[i]);
}

static int load(struct sockets *s, size_t i)
{
	const struct snapshot_program_type *type = &snapshot_programs[i];
	struct snapshot_program *p = &s->programs[i];
	int error = type->load(p, NULL, 0);
	char *log AUTO_FREE = NULL;

	if (!error) {
		error = iterator_run(p->find_ops_fd);
	} else {
		log = calloc(1, LOG_SIZE);
		/* Loads it again, for the kernel's reasons. */
		if (log && !type->load(p, log, LOG_SIZE))
			type->unload(p);
		if (log)
			note("%s", log);
	}
	if (!error)
		return EXIT_DONE;
	unload(s, i);
	err_bpf(error, "the kernel refused the BPF program that reads sockets");
	remedy("-v shows the kernel's reasons");
	return EXIT_REFUSED;
}

/*
 * Loads the program of the first algorithm, which is mainline's. It is always loaded, because it
 * also reads the kernel's own bbr. If that is another algorithm, loads the program of that one.
 */
static int load_first(struct sockets *s)
{
	int ret;

	s->kernel_bbr.algorithm = algorithms[0];
	s->knows_module = !access(BBR_MODULE_BTF, F_OK);
	ret = load(s, 0);
	if (ret)
		return ret;
	instance_know_layout(s->programs[0].layout);
	if (s->programs[0].layout->kernel_bbr != KERNEL_BBR_IS_OTHER)
		return EXIT_DONE;
	for (size_t i = 1; i < n_algorithms; i++) {
		if (!algorithms[i]->kernel_member)
			continue;
		ret = load(s, i);
		if (ret)
			return ret;
		if (s->programs[i].layout->kernel_bbr == KERNEL_BBR_IS_KNOWN) {
			s->kernel_bbr.algorithm = algorithms[i];
			return EXIT_DONE;
		}
		unload(s, i);
	}
	return EXIT_DONE;
}

int sockets_open(struct sockets *s)
{
	int ret;

	memset(s, 0, sizeof(*s));
	s->kernel_bbr = (struct origin){ .name = KERNEL_BBR, .is_kernel = true };
	s->programs = mem_new(n_algorithms, sizeof(*s->programs));
	s->buffer = mem_new(1, BUFFER_SIZE);
	ret = load_first(s);
	if (ret)
		sockets_close(s);
	return ret;
}

static struct sockets_instance *known_instance(const struct sockets *s, __u32 id)
{
	for (int i = 0; i < s->n_instances; i++)
		if (s->instances[i].origin.id == id)
			return &s->instances[i];
	return NULL;
}

/* Returns 0; -ENOENT if it has gone in the meantime; or another -errno. */
static int add_instance(struct sockets *s, const struct instance *inst)
{
	struct sockets_instance *known = known_instance(s, inst->map_id);
	int fd = instance_map(inst->map_id);

	if (fd < 0)
		return fd;
	if (!known) {
		known = &MEM_ADD(s->instances, s->n_instances);
		memset(known, 0, sizeof(*known));
		known->origin.id = inst->map_id;
		memcpy(known->origin.name, inst->name, sizeof(known->origin.name));
		known->origin.algorithm = inst->algorithm;
		known->origin.profiles = instance_profile_names_map(inst); /* NULL: only numbers */
	}
	known->users = inst->users;
	known->unseen = 0;
	known->map_fd = fd;
	known->alive = true;
	return 0;
}

static void remove_dead(struct sockets *s)
{
	int n = 0;

	for (int i = 0; i < s->n_instances; i++) {
		if (s->instances[i].alive)
			s->instances[n++] = s->instances[i];
		else
			instance_profile_names_unmap(s->instances[i].origin.profiles);
	}
	s->n_instances = n;
}

/*
 * Finds the current instances, and holds them. Says once which ones cannot be read: those of the
 * next reading have higher ids.
 */
static int find_instances(struct sockets *s)
{
	struct instance *list;
	int n = instance_list_alive(&list), error = n < 0 ? n : 0;
	__u32 newest = s->warned_id;

	for (int i = 0; i < s->n_instances; i++)
		s->instances[i].alive = false;
	for (int i = 0; i < n && !error; i++) {
		if (list[i].supported) {
			error = add_instance(s, &list[i]);
		} else if (list[i].map_id > s->warned_id) {
			origin_refuse(&list[i], "its connections are left out");
			if (list[i].map_id > newest)
				newest = list[i].map_id;
		}
		if (error == -ENOENT)
			error = 0;
	}
	s->warned_id = newest;
	free(list);
	remove_dead(s);
	return error;
}

static void clear(int map_fd, void *key)
{
	while (!bpf_map_get_next_key(map_fd, NULL, key))
		bpf_map_delete_elem(map_fd, key);
}

/* Tells a program which connections use its algorithm. */
static int tell_program(const struct sockets *s, size_t i)
{
	const struct snapshot_program *p = &s->programs[i];
	__u64 address;
	__u32 id;

	/* The counts of what was seen begin again with these. */
	clear(p->instances_fd, &id);
	clear(p->instance_ops_fd, &address);
	for (int k = 0; k < s->n_instances; k++) {
		const struct origin *o = &s->instances[k].origin;

		if (o->algorithm == algorithms[i] &&
		    bpf_map_update_elem(p->instances_fd, &o->id, "", BPF_ANY))
			return -errno;
	}
	return iterator_run(p->find_ops_fd);
}

/*
 * Loads the programs of algorithms that only now have an instance, tells each program, and lets it
 * show the next one the sockets that are not of its own algorithm. Returns an exit status.
 */
static int prepare_programs(struct sockets *s)
{
	const struct snapshot_program *last = NULL;
	static const __u32 key;

	for (int k = 0; k < s->n_instances; k++) {
		size_t i = algorithm_index(s->instances[k].origin.algorithm);
		int ret = s->programs[i].skel ? EXIT_DONE : load(s, i);

		if (ret)
			return ret;
	}
	for (size_t i = 0; i < n_algorithms; i++) {
		const struct snapshot_program *p = &s->programs[i];
		int error = p->skel ? tell_program(s, i) : 0;

		if (error)
			return err_bpf(error, "cannot list instances");
		if (!p->skel)
			continue;
		if (last && bpf_map_update_elem(last->next_fd, &key, &p->snapshot_prog_fd, BPF_ANY))
			return err_bpf(-errno, "cannot link the programs that read sockets");
		last = p;
	}
	return EXIT_DONE;
}

/* Hands on whole records; returns how many bytes it has used, -1: that is enough. */
static ssize_t hand_on(void *reading, size_t size)
{
	struct reading *r = reading;
	size_t at = 0;

	while (at + EVENT_AT + BBR_EVENT_BASE <= size && !r->enough) {
		const char *record = r->sockets->buffer + at, *event = record + EVENT_AT;
		const struct sockets_instance *inst;
		size_t event_size = event_size_of(event);
		struct bbr_snapshot snap;

		if (at + EVENT_AT + event_size > size)
			break;
		at += EVENT_AT + event_size;
		memcpy(&snap, record, EVENT_AT);
		event_copy(&snap.event, event);
		inst = known_instance(r->sockets, snap.event.tag);
		if (snap.event.flags & BBR_F_KERNEL)
			r->enough = !r->handle(r->ctx, &r->sockets->kernel_bbr, &snap);
		else if (inst)
			r->enough = !r->handle(r->ctx, &inst->origin, &snap);
	}
	return r->enough ? -1 : (ssize_t)at;
}

static bool is_wanted(const struct netns_use *use, void *data)
{
	const struct reading *r = data;

	return use->map_id ? !!known_instance(r->sockets, use->map_id) :
			     !strcmp(use->name, KERNEL_BBR);
}

/* An iterator belongs to the namespace in which it is created. */
static int read_namespace(const struct netns *ns, void *data)
{
	struct reading *r = data;
	int error;

	/* The program of the first algorithm is always loaded, and is the first of the chain. */
	error = iterator_read(r->sockets->programs[0].snapshot_fd, r->sockets->buffer, BUFFER_SIZE,
			      hand_on, r);
	if (!error)
		return r->enough ? -1 : EXIT_DONE;
	return err_refused("cannot read the connections of the network namespace %s: %s", ns->name,
			   strerror(-error));
}

/* How many sockets of an instance its algorithm's program has seen. */
static __u32 count_seen(const struct sockets *s, const struct origin *o)
{
	const struct snapshot_program *p = &s->programs[algorithm_index(o->algorithm)];
	__u64 address, *last = NULL;
	struct bbr_snapshot_of of;
	__u32 seen = 0;

	for (; p->skel && !bpf_map_get_next_key(p->instance_ops_fd, last, &address);
	     last = &address)
		if (!bpf_map_lookup_elem(p->instance_ops_fd, &address, &of) && of.map_id == o->id)
			seen += of.seen;
	return seen;
}

/*
 * Compares what was read with what the kernel counts, if there are namespaces that could not be
 * read. Connections come and go meanwhile: the lower count of before and after is compared.
 */
static void find_unseen(struct sockets *s)
{
	struct instance *after AUTO_FREE = NULL;
	const struct netns_known *list;
	int n = netns_list(&list), n_after;

	s->has_unseen_netns = netns_unseen();
	if (n < 0 || netns_found() == n)
		return;
	n_after = instance_list_alive(&after);
	for (int i = 0; i < n_after; i++) {
		struct sockets_instance *inst = known_instance(s, after[i].map_id);
		__u32 users, seen;

		if (!inst)
			continue;
		users = inst->users < after[i].users ? inst->users : after[i].users;
		seen = count_seen(s, &inst->origin);
		for (int k = 0; k < n; k++) /* they are users, too, of what their default is */
			seen += list[k].is.map_id == after[i].map_id;
		inst->unseen = users > seen ? users - seen : 0;
	}
}

__u32 sockets_unseen(const struct sockets *s)
{
	__u32 unseen = 0;

	for (int i = 0; i < s->n_instances; i++)
		unseen += s->instances[i].unseen;
	return unseen;
}

int sockets_read(struct sockets *s, const char *netns, sockets_handler handle, void *ctx)
{
	struct reading r = { .sockets = s, .handle = handle, .ctx = ctx };
	int ret = EXIT_DONE, error;

	/* Starts again if the module of the kernel's bbr was loaded since: only now is its layout known. */
	if (!s->knows_module && !access(BBR_MODULE_BTF, F_OK)) {
		for (size_t i = 0; i < n_algorithms; i++)
			unload(s, i);
		ret = load_first(s);
	}
	if (ret)
		return ret;
	error = find_instances(s);
	if (error)
		ret = err_bpf(error, "cannot list instances");
	else
		ret = prepare_programs(s);
	if (!ret) {
		ret = netns_visit_all(netns, is_wanted, read_namespace, &r);
		if (!netns && !r.enough)
			find_unseen(s);
	}
	for (int i = 0; i < s->n_instances; i++)
		if (s->instances[i].alive)
			close(s->instances[i].map_fd);
	return r.enough ? EXIT_DONE : ret;
}

void sockets_note_name(const struct origin *origin, const struct value_list *names, bool *is_seen)
{
	for (int i = 0; i < names->n; i++)
		is_seen[i] |= !strcmp(names->arg[i], origin->name);
}

int sockets_check_names(const struct value_list *names, const bool *is_seen)
{
	const struct algorithm *algorithm;
	struct instance inst;
	int ret = EXIT_DONE;

	for (int i = 0; i < names->n && !ret; i++) {
		if (is_seen[i])
			continue;
		if (strcmp(names->arg[i], KERNEL_BBR))
			ret = instance_get(names->arg[i], &inst);
		else if (kernel_bbr_find(&algorithm) == -EPROTONOSUPPORT)
			ret = kernel_bbr_refuse();
	}
	return ret;
}

void sockets_close(struct sockets *s)
{
	for (int i = 0; i < s->n_instances; i++)
		instance_profile_names_unmap(s->instances[i].origin.profiles);
	for (size_t i = 0; s->programs && i < n_algorithms; i++)
		unload(s, i);
	free(s->instances);
	free(s->programs);
	free(s->buffer);
}
