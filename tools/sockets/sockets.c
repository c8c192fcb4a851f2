// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/snapshot.h"
#include "err.h"
#include "instance.h"
#include "netns.h"
#include "snapshot.lskel.h"
#include "sockets.h"

#define BUFFER_SIZE (64 << 10) /* the kernel hands out 32 KiB at a time */
#define LOG_SIZE (1 << 20)
#define BBR_MODULE_BTF "/sys/kernel/btf/tcp_bbr"

static const struct origin kernel_bbr = { .name = "bbr", .is_kernel = true };

struct sockets_owner {
	struct origin origin;
	int map_fd; /* while connections are read: keeps its addresses from being used anew */
	bool alive;
};

/* One reading. */
struct reading {
	struct sockets *sockets;
	sockets_handler handle;
	void *ctx;
	bool enough;
};

/* Once more, for what the kernel has to say. */
static void explain(struct snapshot_bpf *skel)
{
	char *log = calloc(1, LOG_SIZE);

	if (!log)
		return;
	skel->ctx.log_level = 1;
	skel->ctx.log_buf = (unsigned long)log;
	skel->ctx.log_size = LOG_SIZE;
	snapshot_bpf__load(skel);
	note("%s", log);
	free(log);
}

/* Runs the program that looks at all maps. */
static int find_ops(const struct sockets *s)
{
	int fd = bpf_iter_create(s->skel->links.find_ops_fd), error = 0;
	char none;

	if (fd < 0)
		return -errno;
	while (read(fd, &none, sizeof(none)) < 0 && !error)
		if (errno != EAGAIN && errno != EINTR)
			error = -errno;
	close(fd);
	return error;
}

static void unload(struct sockets *s)
{
	snapshot_bpf__destroy(s->skel);
	s->skel = NULL;
}

/*
 * The skeleton is a light one: the kernel does the relocations. libbpf would read the kernel's BTF for them, and
 * twice have it in memory, which is more than all the rest of a snapshot.
 */
static int load(struct sockets *s)
{
	int error;

	s->knows_module = !access(BBR_MODULE_BTF, F_OK);
	s->skel = snapshot_bpf__open();
	if (!s->skel)
		return err_bpf(errno, "cannot open the BPF program that reads sockets");
	error = snapshot_bpf__load(s->skel);
	if (error)
		explain(s->skel);
	if (!error)
		error = snapshot_bpf__attach(s->skel);
	if (!error)
		error = find_ops(s);
	if (error) {
		unload(s);
		err_bpf(error, "the kernel refused the BPF program that reads sockets");
		remedy("with -v the kernel's reasons are shown");
		return EXIT_REFUSED;
	}
	instance_know_layout(&s->skel->bss->layout);
	return EXIT_DONE;
}

int sockets_open(struct sockets *s)
{
	int status;

	memset(s, 0, sizeof(*s));
	s->buffer = malloc(BUFFER_SIZE);
	if (!s->buffer) {
		err("cannot read connections: %s", strerror(ENOMEM));
		return EXIT_REFUSED;
	}
	status = load(s);
	if (status)
		sockets_close(s);
	return status;
}

/* The module of the kernel's bbr was loaded since: only now is its layout known. */
static int notice_module(struct sockets *s)
{
	if (s->knows_module || access(BBR_MODULE_BTF, F_OK))
		return EXIT_DONE;
	unload(s);
	return load(s);
}

static struct sockets_owner *find_owner(const struct sockets *s, __u32 id)
{
	for (int i = 0; i < s->n_owners; i++)
		if (s->owners[i].origin.id == id)
			return &s->owners[i];
	return NULL;
}

/* 0; -ENOENT: it has gone in the meantime; -errno. */
static int add_owner(struct sockets *s, const struct instance *inst)
{
	struct sockets_owner *grown, *owner = find_owner(s, inst->map_id);
	int fd = instance_map(inst->map_id);

	if (fd < 0)
		return fd;
	if (!owner) {
		grown = realloc(s->owners, (s->n_owners + 1) * sizeof(*grown));
		if (!grown) {
			close(fd);
			return -ENOMEM;
		}
		s->owners = grown;
		owner = &s->owners[s->n_owners++];
		memset(owner, 0, sizeof(*owner));
		owner->origin.id = inst->map_id;
		memcpy(owner->origin.name, inst->name, sizeof(owner->origin.name));
		owner->origin.profiles = instance_profile_names_map(inst); /* or only numbers */
	}
	owner->map_fd = fd;
	owner->alive = true;
	return 0;
}

static void remove_dead_owners(struct sockets *s)
{
	int n = 0;

	for (int i = 0; i < s->n_owners; i++) {
		if (s->owners[i].alive)
			s->owners[n++] = s->owners[i];
		else
			instance_profile_names_unmap(s->owners[i].origin.profiles);
	}
	s->n_owners = n;
}

static void let_go(struct sockets *s)
{
	for (int i = 0; i < s->n_owners; i++)
		if (s->owners[i].alive)
			close(s->owners[i].map_fd);
}

/* Finds the instances that there are now, and holds them. */
static int find_owners(struct sockets *s)
{
	struct instance *list;
	int n = instance_list_alive(&list), error = n < 0 ? n : 0;

	for (int i = 0; i < s->n_owners; i++)
		s->owners[i].alive = false;
	for (int i = 0; i < n && !error; i++) {
		if (list[i].supported)
			error = add_owner(s, &list[i]);
		if (error == -ENOENT)
			error = 0;
	}
	free(list);
	remove_dead_owners(s);
	return error;
}

static void clear(int map_fd, void *key)
{
	while (!bpf_map_get_next_key(map_fd, NULL, key))
		bpf_map_delete_elem(map_fd, key);
}

/* Tells the program whose connections are ours. */
static int tell_owners(struct sockets *s)
{
	int instances = s->skel->maps.instances.map_fd;
	__u64 address;
	__u32 id;

	clear(instances, &id);
	clear(s->skel->maps.instance_ops.map_fd, &address);
	for (int i = 0; i < s->n_owners; i++)
		if (bpf_map_update_elem(instances, &s->owners[i].origin.id, "", BPF_ANY))
			return -errno;
	return find_ops(s);
}

static const struct origin *origin_of(const struct sockets *s, const struct bbr_snapshot *snap)
{
	const struct sockets_owner *owner;

	if (snap->event.flags & BBR_F_KERNEL)
		return &kernel_bbr;
	owner = find_owner(s, snap->event.tag);
	return owner ? &owner->origin : NULL;
}

/* Hands on whole records; returns how many bytes it has used. */
static size_t hand_on(struct reading *r, size_t size)
{
	size_t at = 0;

	for (; at + sizeof(struct bbr_snapshot) <= size && !r->enough;
	     at += sizeof(struct bbr_snapshot)) {
		const struct bbr_snapshot *snap = (void *)(r->sockets->buffer + at);
		const struct origin *origin = origin_of(r->sockets, snap);

		if (origin)
			r->enough = !r->handle(r->ctx, origin, snap);
	}
	return at;
}

static int read_all(struct reading *r, int fd)
{
	char *buffer = r->sockets->buffer;
	size_t held = 0, used;
	ssize_t n;

	while (!r->enough) {
		n = read(fd, buffer + held, BUFFER_SIZE - held);
		if (!n)
			break;
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) /* a million others in between */
			continue;
		if (n < 0)
			return -errno;
		held += n;
		used = hand_on(r, held);
		held -= used;
		memmove(buffer, buffer + used, held);
	}
	return 0;
}

/* An iterator belongs to the namespace in which it is created. */
static int read_namespace(const struct netns *ns, void *data)
{
	struct reading *r = data;
	int fd = bpf_iter_create(r->sockets->skel->links.snapshot_fd), error;

	error = fd < 0 ? -errno : read_all(r, fd);
	if (fd >= 0)
		close(fd);
	if (!error)
		return r->enough ? -1 : EXIT_DONE;
	err("cannot read the connections of the network namespace %s: %s", ns->name,
	    strerror(-error));
	return EXIT_REFUSED;
}

int sockets_read(struct sockets *s, const char *netns, sockets_handler handle, void *ctx)
{
	struct reading r = { .sockets = s, .handle = handle, .ctx = ctx };
	int status = notice_module(s), error;

	if (status)
		return status;
	error = find_owners(s);
	if (!error)
		error = tell_owners(s);
	if (error)
		status = err_bpf(error, "cannot look for instances");
	else
		status = netns_visit_all(netns, read_namespace, &r);
	let_go(s);
	return r.enough ? EXIT_DONE : status;
}

void sockets_close(struct sockets *s)
{
	for (int i = 0; i < s->n_owners; i++)
		instance_profile_names_unmap(s->owners[i].origin.profiles);
	free(s->owners);
	free(s->buffer);
	unload(s);
}
