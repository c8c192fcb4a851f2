// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cli/err.h"
#include "instance/netns_default.h"
#include "cli/json.h"
#include "cli/text.h"
#include "kernel/netns.h"

#define SYSCTL "/proc/sys/net/ipv4/tcp_congestion_control" /* of the namespace that we are in */

int default_read(char name[BBR_NAME_LEN])
{
	int fd AUTO_CLOSE = open(SYSCTL, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, BBR_NAME_LEN);

	if (n < 0)
		return -errno;
	name[n < BBR_NAME_LEN ? n : BBR_NAME_LEN - 1] = 0;
	name[strcspn(name, "\n")] = 0;
	return 0;
}

static int write_default(const char *name)
{
	int fd AUTO_CLOSE = open(SYSCTL, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, name, strlen(name)) < 0 ? -errno : 0;
}

struct list {
	struct default_of *entry;
	int n;
};

static int add_to_list(const struct netns *ns, void *data)
{
	const struct netns_known *known = netns_find(ns->inode);
	struct default_of d = { .inode = ns->inode };
	struct list *list = data;
	int error = default_read(d.name);

	if (error == -ENOENT) /* no IPv4 there */
		return EXIT_DONE;
	if (error)
		return err_refused("cannot read the default of network namespace %s: %s", ns->name,
				   strerror(-error));
	d.map_id = known ? known->is.map_id : -1ll;
	d.netns = mem_copy(ns->name);
	MEM_ADD(list->entry, list->n) = d;
	return EXIT_DONE;
}

bool default_is(const struct default_of *d, const struct instance *inst)
{
	return !strcmp(d->name, inst->name) && (d->map_id < 0 || d->map_id == inst->map_id);
}

int defaults_list(struct default_of **entries, int *n)
{
	struct list list = {};
	int ret = netns_for_each(add_to_list, &list);

	*entries = list.entry;
	*n = list.n;
	return ret;
}

void defaults_free(struct default_of *list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i].netns);
	free(list);
}

static int open_map(const struct instance *inst)
{
	return notes_open(inst, inst->defaults_id, BBR_MAP_DEFAULTS, sizeof(__u32), BBR_NAME_LEN);
}

/* What is done to the default of a namespace, or of all. */
struct setting {
	const struct instance *inst;
	int map; /* of its notes; -1: there is none */
	struct json *j; /* NULL: text */
	const char *netns; /* as the user gave it */
	/* Of default_put(): */
	const char *name, *previous;
	bool is_applied;
};

/* The default before, as the map notes it. Returns 1, 0 if it notes none, or -errno. */
static int read_note(int map, const struct netns *ns, char previous[BBR_NAME_LEN])
{
	if (map < 0)
		return 0;
	if (!bpf_map_lookup_elem(map, &ns->inode, previous))
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

/* Makes `name` the default. Notes it first: if we are killed here, it can be undone. */
static int change(const struct setting *s, __u32 inode, const char *name,
		  const char previous[BBR_NAME_LEN])
{
	int error = 0;

	if (bpf_map_update_elem(s->map, &inode, previous, BPF_ANY))
		error = -errno;
	if (!error)
		error = applied_note_default(s->inst, inode, s->is_applied);
	if (!error)
		error = write_default(name);
	if (error) {
		bpf_map_delete_elem(s->map, &inode);
		applied_note_default(s->inst, inode, false);
	}
	return error;
}

/*
 * Makes the previous default the default again, or cubic, or reno, which is in every kernel. *now:
 * which it is.
 */
static int change_back(const struct setting *s, const struct netns *ns, const char *previous,
		       char now[BBR_NAME_LEN])
{
	int error = previous[0] ? write_default(previous) : -ENOENT;
	bool is_gone = error;

	strcpy(now, previous);
	if (error)
		error = write_default(strcpy(now, "cubic"));
	if (error)
		error = write_default(strcpy(now, "reno"));
	if (error)
		return error;
	if (is_gone && previous[0])
		err("network namespace %s: the previous default %s is gone; the default is now %s",
		    ns->name, previous, now);
	else if (is_gone)
		err("network namespace %s: the previous default is unknown; the default is now %s",
		    ns->name, now);
	bpf_map_delete_elem(s->map, &ns->inode);
	applied_note_default(s->inst, ns->inode, false);
	return 0;
}

static int refuse_change(const struct netns *ns, int error)
{
	return err_refused("network namespace %s: cannot change its default: %s", ns->name,
			   strerror(-error));
}

static int set(const struct netns *ns, void *data)
{
	const struct setting *s = data;
	char now[BBR_NAME_LEN] = "", previous[BBR_NAME_LEN] = "";
	const char *where = s->netns ? "network namespace " : "this network namespace";
	int noted = read_note(s->map, ns, previous), error = noted < 0 ? noted : default_read(now);
	bool is_named = !strcmp(now, s->inst->name);

	if (!error && is_named && noted)
		return err_nothing("%s: already the default of %s%s", s->inst->name, where,
				   s->netns ? s->netns : "");
	/*
	 * With the name but no note, the default may be the old code of an unloaded instance, which
	 * not every kernel tells. So set it again. What was before that is not known.
	 */
	memset(previous, 0, sizeof(previous));
	if (!is_named)
		strcpy(previous, now);
	if (!error)
		error = change(s, ns->inode, s->inst->name, previous);
	if (error)
		return err_refused("%s: cannot make it the default: %s", s->inst->name,
				   strerror(-error));
	if (s->j) {
		json_open_object(s->j, "default");
		json_add_string(s->j, "netns", ns->name);
		json_add_int(s->j, "inode", ns->inode);
		json_add_string(s->j, "previous", now);
		json_close(s->j);
	} else {
		printf("%s: now the default of %s%s (was %s)\n", s->inst->name, where,
		       s->netns ? text_shown(s->netns) : "", now);
	}
	return EXIT_DONE;
}

int default_set(const char *instance, const char *netns, struct json *j)
{
	struct instance inst;
	struct setting s = { .inst = &inst, .j = j, .netns = netns };
	int ret = instance_get(instance, &inst), map AUTO_CLOSE = ret ? -1 : open_map(&inst);

	if (ret)
		return ret;
	if (map < 0)
		return err_bpf(map, "cannot make a map for the previous default");
	s.map = map;
	return netns_visit(netns, set, &s);
}

int default_notes(const struct instance *inst, struct default_note **list)
{
	int map AUTO_CLOSE = inst->defaults_id ? instance_map(inst->defaults_id) : -ENOENT;
	int error = 0, n = 0;
	const __u32 *last = NULL;
	struct default_note note;

	*list = NULL;
	if (map < 0)
		return map == -ENOENT ? 0 : map;
	while (!error && !bpf_map_get_next_key(map, last, &note.inode)) {
		last = &note.inode;
		if (!bpf_map_lookup_elem(map, last, note.previous)) {
			note.previous[BBR_NAME_LEN - 1] = 0;
			MEM_ADD(*list, n) = note;
		} else if (errno != ENOENT) {
			error = -errno;
		}
	}
	if (!error && errno != ENOENT)
		error = -errno;
	if (!error)
		return n;
	free(*list);
	*list = NULL;
	return error;
}

static void say_restored(const struct setting *r, const struct netns *ns, const char *now,
			 bool restored)
{
	if (!r->j) {
		if (restored)
			printf("%s: the default of network namespace %s is %s again\n",
			       r->inst->name, text_shown(ns->name), now);
		return;
	}
	json_open_object(r->j, NULL);
	json_add_string(r->j, "netns", ns->name); /* null: there is no way to it from here */
	json_add_int(r->j, "inode", ns->inode);
	json_add_string(r->j, "default", now);
	json_add_bool(r->j, "restored", restored);
	json_close(r->j);
}

static int put(const struct netns *ns, void *data)
{
	const struct setting *p = data;
	char previous[BBR_NAME_LEN] = "", now[BBR_NAME_LEN];
	int error;

	if (p->previous)
		error = change(p, ns->inode, p->name, strcpy(previous, p->previous));
	else
		error = change_back(p, ns, p->name, now);
	return error ? refuse_change(ns, error) : EXIT_DONE;
}

int default_put(const struct instance *inst, const char *netns, const char *name,
		const char *previous, bool is_applied)
{
	int map AUTO_CLOSE = open_map(inst);
	struct setting p = { inst, map, .name = name, .previous = previous,
			     .is_applied = is_applied };

	if (map < 0)
		return err_bpf(map, "cannot make a map for the previous default");
	return netns_visit(netns, put, &p) ? EXIT_REFUSED : EXIT_DONE;
}

static int restore(const struct netns *ns, void *data)
{
	const struct setting *r = data;
	char now[BBR_NAME_LEN] = "", previous[BBR_NAME_LEN] = "";
	int error, noted;

	if (default_read(now) || strcmp(now, r->inst->name))
		return EXIT_DONE;
	noted = read_note(r->map, ns, previous);
	if (noted < 0)
		return err_refused("network namespace %s: cannot read its previous default: %s",
				   ns->name, strerror(-noted));
	if (!noted) {
		err("network namespace %s: somebody else made %s its default: its new "
		    "connections continue with the unloaded code\n"
		    "set another one inside that namespace: sysctl "
		    "net.ipv4.tcp_congestion_control=reno",
		    ns->name, now);
		say_restored(r, ns, now, false);
		return EXIT_DONE;
	}
	error = change_back(r, ns, previous, now);
	if (error)
		return refuse_change(ns, error);
	say_restored(r, ns, now, true);
	return EXIT_DONE;
}

/* The namespaces that nobody here can enter. */
static unsigned int name_unseen(const struct setting *r)
{
	const struct netns_known *list;
	int n = netns_list(&list);
	unsigned int unseen = 0;

	for (int i = 0; i < n; i++) {
		const struct netns ns = { .inode = list[i].inode };

		if (!netns_is_unseen(&list[i]) || list[i].is.map_id != r->inst->map_id)
			continue;
		err("network namespace net:[%u] cannot be found from here: %s remains its default: "
		    "its new connections continue with the unloaded code",
		    ns.inode, r->inst->name);
		say_restored(r, &ns, r->inst->name, false);
		unseen++;
	}
	return unseen;
}

int defaults_restore(const struct instance *inst, struct json *j, unsigned int *unseen)
{
	int ret, map AUTO_CLOSE = inst->defaults_id ? instance_map(inst->defaults_id) : -1;
	struct setting r = { .inst = inst, .map = map, .j = j };

	if (map < 0 && inst->defaults_id)
		return err_bpf(map, "cannot read the previous defaults");
	if (j)
		json_open_array(j, "defaults");
	ret = netns_for_each(restore, &r);
	*unseen = name_unseen(&r);
	if (j)
		json_close(j);
	return ret;
}

struct setting_again {
	const char *name;
	__u32 map_id; /* the code that has the name now; 0: not known */
	unsigned int n;
	bool has_failed;
};

/* True if, as far as the kernel shows, the namespace already points at this code. */
static bool is_current(const struct setting_again *s, const struct netns_known *known)
{
	return s->map_id && known && known->is.map_id == s->map_id;
}

static int set_again(const struct netns *ns, void *data)
{
	struct setting_again *s = data;
	char now[BBR_NAME_LEN];
	int error;

	if (default_read(now) || strcmp(now, s->name) || is_current(s, netns_find(ns->inode)))
		return EXIT_DONE;
	error = write_default(now);
	s->n += !error;
	s->has_failed |= error;
	if (error)
		err("network namespace %s: its default remains the old code: %s", ns->name,
		    strerror(-error));
	return EXIT_DONE;
}

int defaults_set_again(const char *name, unsigned int *n)
{
	int id = instance_id(name), ret, n_list;
	struct setting_again s = { .name = name, .map_id = id > 0 ? id : 0 };
	const struct netns_known *list;

	ret = netns_for_each(set_again, &s);
	*n = s.n;
	n_list = netns_list(&list);
	for (int i = 0; i < n_list; i++) {
		if (!netns_is_unseen(&list[i]) || strcmp(list[i].is.name, name) ||
		    is_current(&s, &list[i]))
			continue;
		err("network namespace net:[%u] cannot be found from here: its default remains the "
		    "old code",
		    list[i].inode);
		s.has_failed = true;
	}
	return s.has_failed ? EXIT_REFUSED : ret;
}
