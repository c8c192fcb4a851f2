// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection as one JSON object: the keys of an event, and those of a socket.
 */
#include <limits.h>

#include <json-c/json.h>

#include "cgroup_paths.h"
#include "event.h"
#include "owners.h"
#include "snapshot.h"

static void add(struct json_object *o, const char *key, struct json_object *value)
{
	json_object_object_add_ex(o, key, value,
				  JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_KEY_IS_CONSTANT);
}

static void add_int(struct json_object *o, const char *key, const struct snapshot *c, __u64 value)
{
	add(o, key, c->is_recorded ? NULL : json_object_new_uint64(value));
}

static void add_socket(struct json_object *o, const struct snapshot *c)
{
	const struct bbr_snapshot *s = c->state;

	add(o, "state", c->is_recorded ? NULL : json_object_new_string(tcp_state_name(s->state)));
	add_int(o, "recv_q_bytes", c, s->recv_q);
	add_int(o, "send_q_bytes", c, s->send_q);
	add_int(o, "cookie", c, s->cookie);
	add_int(o, "cgroup_id", c, s->cgroup);
	add_int(o, "uid", c, s->uid);
	add_int(o, "inode", c, s->inode);
	add_int(o, "mark", c, s->mark);
	add_int(o, "bound_ifindex", c, s->bound_ifindex);
}

static struct json_object *process(const struct owners *owners, const struct owner *owner)
{
	struct json_object *o = json_object_new_object();
	char name[PROCESS_NAME_LEN];

	printable_name(name, sizeof(name), owners_name(owners, owner->pid));
	add(o, "pid", json_object_new_int64(owner->pid));
	add(o, "name", json_object_new_string(name));
	add(o, "fd", json_object_new_int64(owner->fd));
	return o;
}

static struct json_object *processes(const struct owners *owners, __u64 inode)
{
	struct json_object *list = json_object_new_array();
	size_t n;
	const struct owner *owner = owners_of(owners, inode, &n);

	for (size_t i = 0; i < n; i++)
		json_object_array_add(list, process(owners, &owner[i]));
	return list;
}

static struct json_object *cgroup(struct cgroup_paths *paths, __u64 id)
{
	const char *path = cgroup_paths_get(paths, id);
	char name[PATH_MAX];

	return path ? json_object_new_string(printable_name(name, sizeof(name), path)) : NULL;
}

void snapshot_print_json(FILE *out, const struct snapshot_style *style, const struct snapshot *c)
{
	struct json_object *o = event_object(c->origin, &c->state->event);

	add_socket(o, c);
	if (style->owners)
		add(o, "processes", processes(style->owners, c->state->inode));
	if (style->cgroups)
		add(o, "cgroup", cgroup(style->cgroups, c->state->cgroup));
	json_print_line(out, o);
}
