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
#include "cli/json.h"
#include "cli/privileges.h"
#include "cli/text.h"
#include "descriptor.h"
#include "handle.h"

const char *const experiment_designs[EXPERIMENT_DESIGNS] = {
	[EXPERIMENT_AB] = "ab",
	[EXPERIMENT_SWITCHBACK] = "switchback",
	[EXPERIMENT_CANARY] = "canary",
};

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

/* Returns a descriptor of the program's map with this name, or -errno: -ENOENT if it has gone. */
static int open_map(const struct sockops_prog *prog, const char *name, struct bpf_map_info *info)
{
	for (__u32 i = 0; i < prog->maps; i++) {
		int fd = bpf_map_get_fd_by_id(prog->map_ids[i]);
		int error = fd < 0 ? -errno : map_info(fd, info);

		if (!error && !strcmp(info->name, name))
			return fd;
		if (fd >= 0)
			close(fd);
		if (error)
			return error;
	}
	return -ENOENT;
}

/*
 * Maps an array of n values of this size, of which the kernel's have `least` at least, into memory.
 * NULL with errno set.
 */
static void *map_array(const struct sockops_prog *prog, const char *name, size_t size, size_t least,
		       __u32 n, int protection)
{
	struct bpf_map_info info;
	int fd AUTO_CLOSE = open_map(prog, name, &info);
	void *p = MAP_FAILED;

	if (fd < 0)
		errno = -fd;
	else if (info.value_size < least || info.max_entries != n)
		errno = ENOENT;
	else
		p = mmap(NULL, size * n, protection, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static int read_config(const struct sockops_prog *prog, struct experiment *config)
{
	static const __u32 key;
	struct bpf_map_info info;
	int fd AUTO_CLOSE = open_map(prog, EXPERIMENT_MAP_CONFIG, &info);
	void *value AUTO_FREE = NULL;

	if (fd < 0)
		return fd;
	if (info.value_size < sizeof(*config))
		return -ENOENT;
	value = mem_new(1, info.value_size);
	if (bpf_map_lookup_elem(fd, &key, value))
		return -errno;
	memcpy(config, value, sizeof(*config));
	return is_sound(config) ? 0 : -ENOENT;
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
	const int both = PROT_READ | PROT_WRITE;
	int error;

	*h = (struct experiment_handle){ .prog_id = prog->id, .path = mem_copy(prog->cgroup) };
	error = read_config(prog, &h->config);
	if (!error) {
		h->control = map_array(prog, EXPERIMENT_MAP_CONTROL, sizeof(*h->control),
				       EXPERIMENT_CONTROL_LEAST, 1, both);
		if (h->control)
			h->outcomes =
				map_array(prog, EXPERIMENT_MAP_OUTCOMES, sizeof(*h->outcomes),
					  sizeof(*h->outcomes), h->config.outcomes, PROT_READ);
		if (h->outcomes)
			h->log = map_array(prog, EXPERIMENT_MAP_LOG, sizeof(*h->log),
					   sizeof(*h->log), EXPERIMENT_LOG, both);
		error = h->log ? 0 : -errno;
	}
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

/* Adds a program to the list. -ENOENT: it is not ours, or is of another version. */
static int take(const struct sockops_prog *prog, void *data)
{
	struct experiment_list *list = data;
	int error;

	list->at = mem_grow(list->at, list->n, sizeof(*list->at));
	error = open_handle(prog, &list->at[list->n]);
	if (!error)
		list->n++;
	return error == -ENOENT ? 0 : error;
}

int experiments_list(struct experiment_list *list)
{
	int error;

	*list = (struct experiment_list){};
	error = sockops_visit_all(EXPERIMENT_PROG, take, list);
	if (error)
		experiments_free(list);
	return error;
}

void experiments_free(struct experiment_list *list)
{
	for (int i = 0; i < list->n; i++)
		experiment_close(&list->at[i]);
	free(list->at);
	*list = (struct experiment_list){};
}

int experiments_need(struct experiment_list *list)
{
	int error = experiments_list(list);

	if (!error)
		return EXIT_DONE;
	err("cannot list experiments: %s", strerror(-error));
	if (error == -EPERM)
		remedy("run it as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN");
	return EXIT_REFUSED;
}

int experiment_find(const char *name, struct experiment_handle *h)
{
	struct experiment_list list AUTO(experiments_free) = {};

	if (experiments_need(&list))
		return EXIT_REFUSED;
	for (int i = 0; i < list.n; i++) {
		if (strcmp(list.at[i].config.name, name))
			continue;
		*h = list.at[i];
		list.at[i] = (struct experiment_handle){};
		return EXIT_DONE;
	}
	err("%s: no running experiment has this name", name);
	if (!list.n) {
		remedy("no experiment is running; start one: bbrctl experiment start %s --arm ...",
		       name);
		return EXIT_NOTHING;
	}
	fputs("  there are:", stderr);
	for (int i = 0; i < list.n; i++)
		fprintf(stderr, " %s", list.at[i].config.name);
	fputc('\n', stderr);
	return EXIT_NOTHING;
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

void experiment_add_arms(struct json *j, const struct experiment *e, const __u32 *share,
			 const struct experiment_control *counted, const __u64 *ended)
{
	json_open_array(j, "arms");
	for (__u32 i = 0; i < e->arms; i++) {
		const struct experiment_arm *arm = &e->arm[i];

		json_open_object(j, NULL);
		json_add_string(j, "label", arm->label);
		json_add_string(j, "cc", arm->cc);
		json_add_string(j, "profile", arm->profile_name[0] ? arm->profile_name : NULL);
		if (share && e->design != EXPERIMENT_SWITCHBACK)
			json_add_number(j, "share_percent", experiment_percent(share[i]));
		if (counted)
			json_add_int(j, "connections", counted->assigned[i]);
		if (ended)
			json_add_int(j, "ended", ended[i]);
		if (counted) {
			__u64 refused = counted->refused[i];
			__u32 error = counted->refused_error[i];

			json_add_int(j, "refused", refused);
			json_add_string(j, "refused_why",
					refused ? experiment_refusal_text(error) : NULL);
		}
		json_close(j);
	}
	json_close(j);
}

void complete_experiments(const struct completion *c)
{
	struct experiment_list list AUTO(experiments_free) = {};

	if (privileges_take() || experiments_list(&list))
		return;
	for (int i = 0; i < list.n; i++)
		completion_add(c, list.at[i].config.name,
			       experiment_designs[list.at[i].config.design]);
}
