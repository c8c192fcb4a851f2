// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "bpf_calls.h"
#include "cli/err.h"
#include "kernel/instance.h"
#include "tuning/param.h"
#include "tuning/profile_map.h"

int profile_map_open_maps(const struct algorithm *algorithm, int params_fd, int clamped_fd,
			  __u32 params_size, struct profile_map *ps)
{
	struct bpf_map_info info;
	void *head;
	int error;

	*ps = (struct profile_map){
		.algorithm = algorithm,
		.size = sizeof(*ps->head) + 2ul * BBR_PROFILES * params_size,
		.clamped_fd = clamped_fd,
		.params_size = params_size,
	};
	if (clamped_fd >= 0) {
		/* The parts of its value end in parameters, so its size depends on the version. */
		error = map_info(clamped_fd, &info);
		if (error)
			return err_bpf(error, "cannot get the size of the program's profiles");
		ps->clamped_size = info.value_size;
	}
	head = mmap(NULL, ps->size, PROT_READ | PROT_WRITE, MAP_SHARED, params_fd, 0);
	if (head == MAP_FAILED)
		return err_bpf(errno, "cannot map the instance's profiles");
	ps->head = head;
	return EXIT_DONE;
}

int profile_map_open(const struct instance *inst, struct profile_map *ps)
{
	int ret, params_fd AUTO_CLOSE = instance_map(inst->params_id);
	int clamped_fd = params_fd < 0 ? params_fd : instance_map(inst->clamped_id);

	*ps = (struct profile_map){};
	if (clamped_fd < 0)
		return err_bpf(clamped_fd, "cannot open the instance's profiles");
	ret = profile_map_open_maps(inst->algorithm, params_fd, clamped_fd, inst->abi.params_size,
				    ps);
	if (ret)
		close(clamped_fd);
	return ret;
}

void profile_map_close(struct profile_map *ps)
{
	if (!ps->head)
		return;
	munmap(ps->head, ps->size);
	close(ps->clamped_fd);
}

static char *bank(const struct profile_map *ps, int index, __u32 gen)
{
	return (char *)(ps->head + 1) + (2ul * index + (gen & 1)) * ps->params_size;
}

/* How many bytes of parameters both we and the instance know. */
static size_t common_size(const struct profile_map *ps)
{
	__u32 ours = ps->algorithm->params_size;

	return ps->params_size < ours ? ps->params_size : ours;
}

/* The characters of a name. */
static const char name_chars[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

/* Others can have written anything there: it must not reach a terminal, or JSON. */
void profile_name(const struct profile_map *ps, int index, char *name)
{
	snprintf(name, BBR_PROFILE_NAME_LEN, "%.*s", BBR_PROFILE_NAME_LEN - 1,
		 index ? ps->head->name[index] : BBR_PROFILE_DEFAULT);
	while (*(name += strspn(name, name_chars)))
		*name++ = '?';
}

int profile_find(const struct profile_map *ps, const char *name)
{
	char other[BBR_PROFILE_NAME_LEN];

	for (int i = 0; *name && i < BBR_PROFILES; i++) {
		profile_name(ps, i, other);
		if (!strcmp(name, other))
			return i;
	}
	return -1;
}

int profile_get(const struct profile_map *ps, const char *name, int *index)
{
	char other[BBR_PROFILE_NAME_LEN];

	*index = profile_find(ps, name);
	if (*index >= 0)
		return EXIT_DONE;
	err("%s: the instance has no profile with this name", name);
	fputs("  it has:", stderr);
	for (int i = 0; i < BBR_PROFILES; i++) {
		profile_name(ps, i, other);
		if (other[0])
			fprintf(stderr, " %s", other);
	}
	fputs("; add one: bbrctl profile add NAME\n", stderr);
	return EXIT_NOTHING;
}

int profile_connections(const struct profile_map *ps, long long connections[BBR_PROFILES])
{
	char *clamped AUTO_FREE = mem_new(1, ps->clamped_size);
	struct bbr_clamped_head head;

	if (bpf_map_lookup_elem(ps->clamped_fd, &(int){ 0 }, clamped))
		return -errno;
	for (int i = 0; i < BBR_PROFILES; i++) {
		memcpy(&head, clamped + ps->clamped_size / BBR_PROFILES * i, sizeof(head));
		connections[i] = head.connections > 0 ? head.connections : 0;
	}
	return 0;
}

int profile_free_place(const struct profile_map *ps, const struct bbr_profiles_head *also)
{
	long long connections[BBR_PROFILES];
	int error = profile_connections(ps, connections);

	if (error)
		return error;
	for (int i = 1; i < BBR_PROFILES; i++)
		if (!ps->head->name[i][0] && !(also && also->name[i][0]) && !connections[i])
			return i;
	return -ENOSPC;
}

void profile_read(const struct profile_map *ps, int index, struct param_set *p)
{
	*p = param_set_default(ps->algorithm);
	memcpy(p->value, bank(ps, index, ps->head->gen[index]), common_size(ps));
	param_set_clamp(p);
}

int profile_check_known(const struct profile_map *ps, const struct param_set *p)
{
	param_for_each (param, ps->algorithm) {
		if ((param->first + param->n) * sizeof(*p->value) <= ps->params_size ||
		    param_is_default(param, p))
			continue;
		return err_refused("%s: the loaded program is older and lacks this parameter\n"
				   "replace it with this version: bbrctl upgrade",
				   param->key);
	}
	return EXIT_DONE;
}

void profile_init(struct profile_map *ps, int index, const char *name, const struct param_set *p)
{
	memcpy(bank(ps, index, ps->head->gen[index]), p->value, common_size(ps));
	strncpy(ps->head->name[index], name, BBR_PROFILE_NAME_LEN);
}

/*
 * Waits until every BPF program that runs now has ended. The kernel does that after each change of
 * a map of maps (maybe_wait_bpf_programs() in kernel/bpf/syscall.c), so change one. membarrier(2)
 * would not do: with a single CPU it returns at once, though a program may have been preempted
 * there. It waits before a bank is written, not after the previous change, because whoever made
 * that may have been killed.
 */
int profile_wait(void)
{
	int inner AUTO_CLOSE = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bbrctl_inner", 4, 4, 1, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = inner);
	static const __u32 key;
	int outer AUTO_CLOSE = -1;

	if (inner < 0)
		return -errno;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "bbrctl_grace", 4, 4, 1, &opts);
	return outer < 0 || bpf_map_update_elem(outer, &key, &inner, BPF_ANY) ? -errno : 0;
}

__u32 profile_write_ahead(const struct profile_map *ps, int index, const struct param_set *p)
{
	__u32 gen = ps->head->gen[index] + 1;

	memcpy(bank(ps, index, gen), p->value, common_size(ps));
	return gen;
}

int profile_write(struct profile_map *ps, int index, const struct param_set *p)
{
	int error = profile_wait();

	if (!error)
		__atomic_store_n(&ps->head->gen[index], profile_write_ahead(ps, index, p),
				 __ATOMIC_RELEASE);
	return error;
}

bool profile_name_is_valid(const char *name)
{
	size_t len = strspn(name, name_chars);

	if (!strcmp(name, RULES_SECTION) || !strcmp(name, INSTANCE_SECTION)) {
		err("%s: a profile cannot have this name: saved files use it for a section", name);
		return false;
	}
	if (len && len < BBR_PROFILE_NAME_LEN && !name[len] && name[0] != '-')
		return true;
	err("%s: a profile's name has 1 to %d characters of A-Z a-z 0-9 _ . -", name,
	    BBR_PROFILE_NAME_LEN - 1);
	return false;
}

int profile_add(struct profile_map *ps, const char *name, const struct param_set *p)
{
	int error, i = profile_free_place(ps, NULL);

	if (i < 0)
		return i;
	error = profile_write(ps, i, p);
	if (error)
		return error;
	/* Its first character last: from then on the name counts. */
	strncpy(ps->head->name[i] + 1, name + 1, BBR_PROFILE_NAME_LEN - 1);
	__atomic_store_n(&ps->head->name[i][0], name[0], __ATOMIC_RELEASE);
	return i;
}

void profile_delete(struct profile_map *ps, int index)
{
	ps->head->name[index][0] = 0;
}
