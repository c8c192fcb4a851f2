// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include <sys/stat.h>

#include "bpf_calls.h"
#include "check.h"
#include "experiment/handle.h"
#include "kernel/netns.h"
#include "kernel/qdisc.h"
#include "uses.lskel.h"

#define IPV4 "/proc/sys/net/ipv4/"
#define NET "/proc/thread-self/net/"

/* The last number of a sysctl; 0: not known. */
static __u64 read_last_number(const char *path)
{
	char line[128];
	const char *last;

	text_first_line(path, line, sizeof(line));
	last = strrchr(line, '\t');
	return strtoull(last ? last : line, NULL, 10);
}

/* True unless the kernel says that this namespace has no TCP socket. A walk of its sockets takes long. */
static bool has_sockets(void)
{
	static const char *const files[] = { NET "sockstat", NET "sockstat6" };
	unsigned long n, sum = 0;
	bool is_known = false;
	char line[128];

	for (int i = 0; i < 2; i++) {
		FILE *f AUTO_FCLOSE = fopen(files[i], "re");

		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "TCP: inuse %lu", &n) == 1 ||
			    sscanf(line, "TCP6: inuse %lu", &n) == 1)
				is_known = true, sum += n;
	}
	return !is_known || sum;
}

/* The container of the process whose namespace it is, if its name is one of /proc. */
static void read_container(struct checked_netns *ns)
{
	char path[64], line[4096];
	FILE *f AUTO_FCLOSE = NULL;
	unsigned int pid;

	if (sscanf(ns->name, "/proc/%u/", &pid) != 1)
		return;
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	f = fopen(path, "re");
	while (f && !ns->container[0] && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (strchr(line, '/'))
			cgroup_container(strchr(line, '/'), CGROUP_PODS, ns->container,
					 sizeof(ns->container));
	}
}

struct looking {
	struct check *c;
	struct uses_bpf *program;
	__u32 inode; /* of the namespace that we are in */
};

/* A route that leads to a part of one that is wanted. */
static bool is_narrower(const struct route *r, void *data)
{
	const struct looking *l = data;
	const struct machine *wanted = &l->c->wanted;

	for_each (w, wanted->route, wanted->n_routes)
		if (w->inode == l->inode && route_prefix_has(&w->is.to, &r->to))
			return true;
	return false;
}

static int note_route(int map, __u32 inode, const struct route_prefix *to, __u32 value)
{
	struct uses_route key = { .prefixlen = 32 + to->len, .netns = inode };

	memcpy(key.addr, to->addr, sizeof(key.addr));
	if (!bpf_map_update_elem(map, &key, &value, value ? BPF_ANY : BPF_NOEXIST) ||
	    (!value && errno == EEXIST))
		return 0;
	return -errno;
}

/* Notes which of the file's routes leads where, in the namespace that we are in. */
static int note_routes(struct looking *l)
{
	const struct machine *wanted = &l->c->wanted;
	int map = l->program->maps.uses_routes.map_fd, error = 0, n = 0;
	struct route *narrower AUTO_FREE = NULL;
	bool has = false;

	for_each (w, wanted->route, wanted->n_routes) {
		if (error || w->inode != l->inode)
			continue;
		has = true;
		error = note_route(map, l->inode, &w->is.to, w - wanted->route + 1);
	}
	if (has && !error)
		n = routes_list(is_narrower, l, &narrower);
	if (n < 0)
		return n;
	for_each (r, narrower, n) {
		if (!error)
			error = note_route(map, l->inode, &r->to, 0);
		route_free(r);
	}
	return error;
}

static int look_at(const struct netns *ns, void *data)
{
	const struct netns_known *known = netns_find(ns->inode);
	struct checked_netns new = { .inode = ns->inode,
				     .def_map_id = known ? known->is.map_id : -1ll };
	struct looking *l = data;
	struct check *c = l->c;
	char line[4096];
	int error = default_read(new.def);

	if (error == -ENOENT) /* no IPv4 there */
		return EXIT_DONE;
	l->inode = ns->inode;
	new.name = mem_copy(ns->name);
	read_container(&new);
	new.wmem = read_last_number(IPV4 "tcp_wmem");
	new.rmem = read_last_number(IPV4 "tcp_rmem");
	new.lowat = read_last_number(IPV4 "tcp_notsent_lowat");
	if (!c->allowed &&
	    text_first_line(IPV4 "tcp_allowed_congestion_control", line, sizeof(line)))
		c->allowed = mem_copy(line);
	if (!error && has_sockets()) {
		new.n_devices = qdiscs_list(&new.device);
		error = note_routes(l);
		if (!error)
			error = iterator_run(l->program->links.count_sockets_fd);
	}
	MEM_ADD(c->ns, c->n_ns) = new;
	if (!error)
		return EXIT_DONE;
	err("cannot read the connections of the network namespace %s: %s", ns->name,
	    strerror(-error));
	c->is_partial = true;
	return EXIT_DONE;
}

/* Namespaces without a way to them: the kernel says what their default is. */
static void add_unseen(struct check *c)
{
	const struct netns_known *known;
	int n = netns_list(&known);

	for_each (k, known, n) {
		struct checked_netns new = { .inode = k->inode, .def_map_id = k->is.map_id };

		if (!netns_is_unseen(k))
			continue;
		snprintf(new.def, sizeof(new.def), "%.*s", BBR_NAME_LEN - 1, k->is.name);
		MEM_ADD(c->ns, c->n_ns) = new;
	}
}

static int by_cgroup(const void *a, const void *b)
{
	const struct uses_key *x = &((const struct use *)a)->key,
			      *y = &((const struct use *)b)->key;

	if (x->cgroup != y->cgroup)
		return x->cgroup < y->cgroup ? -1 : 1;
	return memcmp(x, y, sizeof(*x));
}

static int read_uses(struct check *c, int map)
{
	struct use new = {};
	void *last = NULL;
	char path[4096] = "";

	for (; !bpf_map_get_next_key(map, last, &new.key); last = &new.key) {
		if (bpf_map_lookup_elem(map, &new.key, &new.is))
			return -errno;
		new.is.name[BBR_NAME_LEN - 1] = 0;
		MEM_ADD(c->use, c->n_uses) = new;
	}
	if (errno != ENOENT)
		return -errno;
	if (c->n_uses)
		qsort(c->use, c->n_uses, sizeof(*c->use), by_cgroup);
	for_each (u, c->use, c->n_uses) {
		if (u == c->use || u->key.cgroup != u[-1].key.cgroup)
			cgroup_path(u->key.cgroup, path, sizeof(path));
		u->cgroup = mem_copy(path);
	}
	return 0;
}

/* What the sockets of a cgroup's processes are noted as. */
struct noting {
	int map;
	__u32 attachment;
};

static int note_socket(__u64 inode, UNUSED __u32 fd, void *data)
{
	const struct noting *to = data;

	return bpf_map_update_elem(to->map, &inode, &to->attachment, BPF_ANY) ? -errno : 0;
}

/* Processes come and go: what is gone is left out. */
static int note_processes(const char *cgroup, void *data)
{
	char *file AUTO_FREE = mem_format("%s/cgroup.procs", cgroup), pid[32], path[64];
	FILE *f AUTO_FCLOSE = fopen(file, "re");
	int error = 0;

	while (!error && f && fgets(pid, sizeof(pid), f)) {
		int process AUTO_CLOSE = -1;

		pid[strcspn(pid, "\n")] = 0;
		snprintf(path, sizeof(path), "/proc/%s", pid);
		process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process >= 0)
			error = process_sockets(process, note_socket, data);
	}
	return error;
}

/* A cgroup's path from the mount, whose length this is. */
static const char *below_mount(const char *path, size_t mount)
{
	return strlen(path) > mount ? path + mount : "/";
}

static void add_meant(struct check *c, const struct attachment *at, size_t mount, bool is_attached)
{
	const struct meant_at new = { below_mount(at->path, mount), at->name, is_attached, at,
				      USES_CONDITIONS };

	for_each (known, c->meant, c->n_meant) {
		if (strcmp(known->cgroup, new.cgroup) || !known->is->n != !at->n)
			continue;
		/* The file counts. */
		known->is_attached |= is_attached && !strcmp(known->name, new.name);
		return;
	}
	MEM_ADD(c->meant, c->n_meant) = new;
}

static int by_length(const void *a, const void *b)
{
	size_t x = strlen(((const struct meant_at *)a)->cgroup),
	       y = strlen(((const struct meant_at *)b)->cgroup);

	return x < y ? -1 : x > y;
}

/* Has the program try the conditions of attachments. */
static int note_conditions(struct check *c, int map)
{
	__u32 n = 0;

	for_each (m, c->meant, c->n_meant) {
		struct uses_condition value = { .n = m->is->n };

		if (!value.n || n == USES_CONDITIONS)
			continue;
		memcpy(value.term, m->is->term, value.n * sizeof(value.term[0]));
		m->condition = n++;
		if (bpf_map_update_elem(map, &m->condition, &value, BPF_ANY))
			return err_bpf(-errno, "cannot note the conditions of attachments");
	}
	return EXIT_DONE;
}

/* Notes the sockets of each cgroup that is meant; of an inner one last, so that it counts. */
static int note_meant(const struct check *c, const char *mount, int map)
{
	int error = 0;

	for_each (m, c->meant, c->n_meant) {
		struct noting to = { map, m - c->meant + 1 };
		char *path AUTO_FREE = mem_format("%s%s", mount, m->cgroup);

		if (!error)
			error = cgroup_walk(path, note_processes, &to);
	}
	return err_bpf(error, "cannot note the sockets of attached cgroups");
}

static int look_at_experiments(struct check *c, size_t mount)
{
	struct experiment_list list AUTO(experiments_free) = {};
	int error = experiments_list(&list);

	if (error)
		return err_bpf(error, "cannot look for experiments");
	for_each (e, list.at, list.n)
		MEM_ADD(c->experiment, c->n_experiments) = mem_copy(below_mount(e->path, mount));
	return EXIT_DONE;
}

/* Which cgroups are meant: the file's, and those that somebody attached and the file lacks. */
static int look_at_cgroups(struct check *c, struct uses_bpf *program)
{
	char *mount AUTO_FREE = cgroup_mount();
	size_t len = mount ? strlen(mount) : 0;
	int ret = EXIT_DONE;

	c->n_attached = attachments_list(&c->attached);
	if (c->n_attached < 0)
		ret = err_bpf(c->n_attached, "cannot look at the cgroups");
	for_each (at, c->wanted.attached, c->wanted.n_attached)
		add_meant(c, at, len, false);
	for_each (at, c->attached, c->n_attached)
		add_meant(c, at, len, true);
	if (c->n_meant)
		qsort(c->meant, c->n_meant, sizeof(*c->meant), by_length);
	if (!ret && mount)
		ret = note_meant(c, mount, program->maps.uses_inodes.map_fd);
	if (!ret)
		ret = note_conditions(c, program->maps.uses_conditions.map_fd);
	return ret ? ret : look_at_experiments(c, len);
}

static int look_at_sockets(struct check *c, struct uses_bpf *program)
{
	struct looking l = { .c = c, .program = program };
	int error, ret = err_bpf(iterator_run(program->links.find_all_ops_fd),
				 "cannot list the congestion controls");

	if (!ret)
		ret = look_at_cgroups(c, program);
	if (ret)
		return ret;
	if (netns_for_each(look_at, &l)) /* it has printed what cannot be read; the rest counts */
		c->is_partial = true;
	add_unseen(c);
	error = read_uses(c, program->maps.uses_groups.map_fd);
	c->lost = program->bss->uses_lost;
	return err_bpf(error, "cannot read what sockets use");
}

int check_look(struct check *c)
{
	struct uses_bpf *program;
	struct stat st;
	int error, ret = EXIT_DONE;

	if (c->file && !c->is_broken)
		ret = machine_kernel_read(NULL, &c->wanted, &c->found);
	if (ret)
		return ret;
	if (c->file && !c->is_broken)
		plan_make(&c->wanted, &c->found,
			  c->wanted.is_tuning ? c->wanted.instance[0].name : NULL, false, &c->plan);
	c->initial = stat("/proc/1/ns/net", &st) ? 0 : st.st_ino;
	c->own = stat(NETNS_OWN, &st) ? 0 : st.st_ino;
	c->n_alive = instance_list_alive(&c->alive);
	if (c->n_alive < 0)
		return err_bpf(c->n_alive, "cannot list instances");
	program = uses_bpf__open();
	error = program ? uses_bpf__load(program) : -ENOMEM;
	if (!error)
		error = uses_bpf__attach(program);
	ret = err_bpf(error, "the kernel refused the BPF program that counts sockets");
	if (!ret)
		ret = look_at_sockets(c, program);
	uses_bpf__destroy(program);
	return ret;
}

void check_free(struct check *c)
{
	plan_free(&c->plan);
	machine_free(&c->found);
	machine_free(&c->wanted);
	free(c->alive);
	free(c->allowed);
	attachments_free(c->attached, c->n_attached);
	free(c->meant);
	for_each (cgroup, c->experiment, c->n_experiments)
		free(*cgroup);
	free(c->experiment);
	for_each (ns, c->ns, c->n_ns) {
		free(ns->name);
		qdiscs_free(ns->device, ns->n_devices);
	}
	free(c->ns);
	for_each (u, c->use, c->n_uses)
		free(u->cgroup);
	free(c->use);
	for_each (f, c->finding, c->n_findings) {
		free(f->text);
		free(f->command);
	}
	free(c->finding);
}
