// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "bpf_calls.h"
#include "cgroup/cgroup.h"
#include "cli/completion.h"
#include "cli/err.h"
#include "cli/privileges.h"
#include "cli/text.h"
#include "descriptor.h"
#include "handle.h"

static const char *const design_names[EXPERIMENT_DESIGNS] = {
	[EXPERIMENT_AB] = "ab",
	[EXPERIMENT_SWITCHBACK] = "switchback",
	[EXPERIMENT_CANARY] = "canary",
};

const char *experiment_design_name(__u32 design)
{
	return design < EXPERIMENT_DESIGNS ? design_names[design] : "unknown";
}

bool experiment_name_is_valid(const char *name)
{
	return strlen(name) < EXPERIMENT_NAME_LEN && instance_name_is_valid(name);
}

static void tame(char *text, size_t size)
{
	text_tame(text, size, "\"\\");
}

static bool is_sound(struct experiment *e)
{
	if (e->magic != EXPERIMENT_MAGIC || e->version != EXPERIMENT_VERSION ||
	    e->size != sizeof(*e) || e->design >= EXPERIMENT_DESIGNS || e->arms < 2 ||
	    e->arms > EXPERIMENT_ARMS || !e->outcomes || e->outcomes & (e->outcomes - 1) ||
	    (e->design == EXPERIMENT_SWITCHBACK && !e->block) || e->scope.dst_len > 128)
		return false;
	tame(e->name, sizeof(e->name));
	tame(e->scope.netns_name, sizeof(e->scope.netns_name));
	for (int i = 0; i < EXPERIMENT_ARMS; i++) {
		tame(e->arm[i].label, sizeof(e->arm[i].label));
		tame(e->arm[i].cc, sizeof(e->arm[i].cc));
		tame(e->arm[i].profile_name, sizeof(e->arm[i].profile_name));
		tame(e->attached[i], sizeof(e->attached[i]));
	}
	for (int i = 0; i < EXPERIMENT_GUARDS; i++)
		tame(e->guard[i], sizeof(e->guard[i]));
	return true;
}

/* The maps of an experiment's program that tools use. */
enum {
	CONFIG,
	CONTROL,
	OUTCOMES,
	LOG,
	MAPS
};

static const char *const map_names[MAPS] = {
	[CONFIG] = EXPERIMENT_MAP_CONFIG,
	[CONTROL] = EXPERIMENT_MAP_CONTROL,
	[OUTCOMES] = EXPERIMENT_MAP_OUTCOMES,
	[LOG] = EXPERIMENT_MAP_LOG,
};

struct map {
	int fd; /* -1: there is none */
	struct bpf_map_info info;
};

/*
 * Maps an array of n values of this size, of which the kernel's have `least` at least, into memory.
 * NULL with errno set.
 */
static void *map_array(const struct map *map, size_t size, size_t least, __u32 n, int protection)
{
	void *p;

	if (map->info.value_size < least || map->info.max_entries != n) {
		errno = ENOENT;
		return NULL;
	}
	p = mmap(NULL, size * n, protection, MAP_SHARED, map->fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* Keeps the map if the tools use it. -ENOENT: it has gone, with its program. */
static int note_map(struct map maps[MAPS], __u32 id)
{
	struct map found = { .fd = bpf_map_get_fd_by_id(id) };
	int error;

	if (found.fd < 0)
		return -errno;
	error = map_info(found.fd, &found.info);
	for (int i = 0; !error && i < MAPS; i++)
		if (maps[i].fd < 0 && !strcmp(found.info.name, map_names[i])) {
			maps[i] = found;
			return 0;
		}
	close(found.fd);
	return error;
}

static int map_all(const struct map maps[MAPS], struct experiment_handle *h)
{
	const int both = PROT_READ | PROT_WRITE;
	static const __u32 key;
	void *config AUTO_FREE = NULL;

	for (int i = 0; i < MAPS; i++)
		if (maps[i].fd < 0)
			return -ENOENT;
	if (maps[CONFIG].info.value_size < sizeof(h->config))
		return -ENOENT;
	config = mem_new(1, maps[CONFIG].info.value_size);
	if (bpf_map_lookup_elem(maps[CONFIG].fd, &key, config))
		return -errno;
	memcpy(&h->config, config, sizeof(h->config));
	if (!is_sound(&h->config))
		return -ENOENT;
	h->control =
		map_array(&maps[CONTROL], sizeof(*h->control), EXPERIMENT_CONTROL_LEAST, 1, both);
	if (h->control)
		h->outcomes = map_array(&maps[OUTCOMES], sizeof(*h->outcomes), sizeof(*h->outcomes),
					h->config.outcomes, PROT_READ);
	if (h->outcomes)
		h->log = map_array(&maps[LOG], sizeof(*h->log), sizeof(*h->log), EXPERIMENT_LOG,
				   both);
	return h->log ? 0 : -errno;
}

void experiment_close(struct experiment_handle *h)
{
	if (h->control)
		munmap(h->control, sizeof(*h->control));
	if (h->outcomes)
		munmap((void *)h->outcomes, (size_t)h->config.outcomes * sizeof(*h->outcomes));
	if (h->log)
		munmap(h->log, EXPERIMENT_LOG * sizeof(*h->log));
	free(h->path);
	*h = (struct experiment_handle){};
}

static int open_handle(const struct sockops_prog *prog, struct experiment_handle *h)
{
	struct map maps[MAPS] = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 }, { .fd = -1 } };
	int error = 0;

	*h = (struct experiment_handle){ .prog_id = prog->id, .path = mem_copy(prog->cgroup) };
	for (__u32 i = 0; !error && i < prog->maps; i++)
		error = note_map(maps, prog->map_ids[i]);
	if (!error)
		error = map_all(maps, h);
	for (int i = 0; i < MAPS; i++)
		if (maps[i].fd >= 0)
			close(maps[i].fd);
	if (error)
		experiment_close(h);
	return error;
}

int experiment_check(int prog_fd)
{
	struct sockops_prog prog = { .cgroup = "" };
	struct experiment_handle h AUTO(experiment_close) = {};
	int ret = sockops_inspect(prog_fd, EXPERIMENT_PROG, &prog);

	if (ret < 0)
		return ret;
	ret = ret ? open_handle(&prog, &h) : -ENOENT;
	return ret == -ENOENT ? -EAGAIN : ret;
}

struct list {
	struct experiment_handle *handle;
	int n;
};

/* Adds a program to the list. -ENOENT: it is not ours, or is of another version. */
static int take(const struct sockops_prog *prog, void *data)
{
	struct list *list = data;
	int error;

	list->handle = mem_grow(list->handle, list->n, sizeof(*list->handle));
	error = open_handle(prog, &list->handle[list->n]);
	if (!error)
		list->n++;
	return error == -ENOENT ? 0 : error;
}

int experiments_list(struct experiment_handle **list)
{
	struct list found = {};
	int error = sockops_visit_all(EXPERIMENT_PROG, take, &found);

	if (error || !found.n) {
		experiments_free(found.handle, found.n);
		found.handle = NULL;
	}
	*list = found.handle;
	return error ? error : found.n;
}

void experiments_free(struct experiment_handle *list, int n)
{
	for (int i = 0; i < n; i++)
		experiment_close(&list[i]);
	free(list);
}

static void say_not_running(const char *name, const struct experiment_handle *list, int n)
{
	err("%s: no running experiment has this name", name);
	if (!n) {
		remedy("no experiment is running; start one: bbrctl experiment start %s --arm ...",
		       name);
		return;
	}
	fputs("  there are:", stderr);
	for (int i = 0; i < n; i++)
		fprintf(stderr, " %s", list[i].config.name);
	fputc('\n', stderr);
}

int experiments_refuse(int error)
{
	err("cannot list experiments: %s", strerror(-error));
	if (error == -EPERM)
		remedy("run it as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN");
	return EXIT_REFUSED;
}

int experiment_find(const char *name, struct experiment_handle *h)
{
	struct experiment_handle *list;
	int n = experiments_list(&list), ret = EXIT_NOTHING;

	if (n < 0)
		return experiments_refuse(n);
	for (int i = 0; ret && i < n; i++) {
		if (strcmp(list[i].config.name, name))
			continue;
		*h = list[i];
		list[i] = (struct experiment_handle){};
		ret = EXIT_DONE;
	}
	if (ret)
		say_not_running(name, list, n);
	experiments_free(list, n);
	return ret;
}

static int is_it(const struct sockops_prog *prog, void *data)
{
	return prog->id == *(const __u32 *)data;
}

bool experiment_is_running(const struct experiment_handle *h)
{
	int fd AUTO_CLOSE = open(h->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__u32 id = h->prog_id;
	int found;

	if (fd < 0)
		return errno != ENOENT && errno != ENODEV;
	found = sockops_visit(fd, h->path, EXPERIMENT_PROG, is_it, &id);
	return found && found != -ENODEV;
}

void experiment_shares(const struct experiment_handle *h, __u32 share[EXPERIMENT_ARMS])
{
	__u32 rest = EXPERIMENT_SHARES;

	memset(share, 0, EXPERIMENT_ARMS * sizeof(*share));
	for (__u32 i = 1; i < h->config.arms; i++) {
		__u32 wanted = h->control->share[i];

		share[i] = wanted < rest ? wanted : rest;
		rest -= share[i];
	}
	share[0] = rest;
}

const char *experiment_refusal_text(__u32 error)
{
	switch (error) {
	case 0:
		return "why is not known";
	case EBUSY:
		return "the place that passes a profile to a connection was taken by another one";
	case ENOENT:
		return "no such congestion control is loaded";
	default:
		return strerror(error);
	}
}

void complete_experiments(const struct completion *c)
{
	struct experiment_handle *list = NULL;
	int n = privileges_take() ? 0 : experiments_list(&list);

	for (int i = 0; i < n; i++)
		completion_add(c, list[i].config.name,
			       experiment_design_name(list[i].config.design));
	experiments_free(list, n);
}
