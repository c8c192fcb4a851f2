// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection as one JSON object: the keys of an event and of a socket.
 */
#include <limits.h>

#include "event/event.h"
#include "cli/json.h"
#include "socket_owners.h"
#include "snapshot.h"

static void add_int(struct json *j, const char *key, const struct snapshot *c, __u64 value)
{
	json_add_int_if(j, key, !c->is_recorded, value);
}

static void add_socket(struct json *j, const struct snapshot *c)
{
	const struct bbr_snapshot *s = c->state;

	json_add_string(j, "state", c->is_recorded ? NULL : tcp_state_name(s->state));
	add_int(j, "recv_q_bytes", c, s->recv_q);
	add_int(j, "send_q_bytes", c, s->send_q);
	add_int(j, "cookie", c, s->cookie);
	add_int(j, "cgroup_id", c, s->cgroup);
	add_int(j, "uid", c, s->uid);
	add_int(j, "inode", c, s->inode);
	add_int(j, "mark", c, s->mark);
	add_int(j, "bound_ifindex", c, s->bound_ifindex);
}

static void add_processes(struct json *j, const struct owners *owners, __u64 inode)
{
	char name[PROCESS_NAME_LEN];
	size_t n;
	const struct owner *owner = owners_of(owners, inode, &n);

	json_open_array(j, "processes");
	for (size_t i = 0; i < n; i++) {
		json_open_object(j, NULL);
		json_add_int(j, "pid", owner[i].pid);
		json_add_string(
			j, "name",
			printable_name(name, sizeof(name), owners_name(owners, owner[i].pid)));
		json_add_int(j, "fd", owner[i].fd);
		json_close(j);
	}
	json_close(j);
}

static void add_cgroup(struct json *j, struct cgroup_paths *paths, __u64 id)
{
	const char *path = cgroup_paths_get(paths, id);
	char name[PATH_MAX];

	json_add_string(j, "cgroup", path ? printable_name(name, sizeof(name), path) : NULL);
}

void snapshot_print_json(FILE *out, const struct snapshot_style *style, const struct snapshot *c)
{
	struct json line;

	json_begin(&line, out);
	event_add_json(&line, c->origin, &c->state->event);
	add_socket(&line, c);
	if (style->owners)
		add_processes(&line, style->owners, c->state->inode);
	if (style->cgroups)
		add_cgroup(&line, style->cgroups, c->state->cgroup);
	json_end(&line);
}
