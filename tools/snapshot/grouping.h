/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections summed by what they have in common, in the same way by all verbs; and what that needs:
 * the processes and cgroups of sockets.
 */
#ifndef TOOLS_GROUPING_H
#define TOOLS_GROUPING_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

/*
 * Which processes have a socket open, found in /proc.
 */
#define PROCESS_NAME_LEN 16 /* TASK_COMM_LEN */

struct owner {
	__u64 inode; /* of the socket */
	__u32 pid;
	__u32 fd;
	char name[PROCESS_NAME_LEN]; /* of the process, as it is: any bytes but 0 */
};

struct owners {
	struct owner *list; /* by inode, pid, fd */
	size_t n;
};

/* The owners of a socket, *n of them; NULL if there are none. */
const struct owner *owners_of(const struct owners *o, __u64 inode, size_t *n);

/*
 * What a cgroup runs, in a word: "nginx" of "/system.slice/nginx.service". It is the last unit of
 * systemd in the path, or else the path's last part; "/" of the root.
 */
void service_of(char *buf, size_t size, const char *path);

/*
 * The label of a connection's group.
 */
enum group_by {
	BY_NONE,
	BY_CGROUP,
	BY_PROCESS,
	BY_PREFIX,
	BY_NETNS,
};

extern const char *const group_by_names[]; /* "" for BY_NONE; NULL ends them */

/* Parses the value of --by into an enum group_by. */
bool option_group_by(const char *option, const char *s, void *to);

/* For refuse_conflicts(): what --by and --largest cannot have. */
#define NO_GROUPS_IN(read, by)                             \
	{ (read) && (by) && (by) < BY_PREFIX, "--by",      \
	  "recordings have neither cgroups nor processes", \
	  "--by prefix, --by netns, or remove --read" }
#define NO_LARGEST(largest, by) \
	{ (largest) && !(by), "--largest", "there are no groups", "add --by WHAT" }

struct grouping {
	enum group_by by;
	bool has_no_pids; /* all processes of a name are one group */
	bool with_processes; /* reads the owners also for another `by` */
	struct owners owners;
	void *cgroups; /* paths by id, each looked up once, a tree of search.h */
	void *netns; /* names by inode number, the same */
};

/* What decides to which group a connection belongs. */
struct group_member {
	const __u32 *raddr;
	__u64 cgroup, inode; /* 0: not known */
	__u32 netns;
	bool is_recorded; /* perhaps on another machine */
};

#define GROUP_LABEL_LEN PATH_MAX

/* Before labels are asked for, and again when processes and namespaces may have changed. */
void grouping_read(struct grouping *g);
void group_label(char label[GROUP_LABEL_LEN], struct grouping *g, const struct group_member *m);
/*
 * The path of a cgroup below the cgroup2 mount; NULL if there is none with this id any more. Valid
 * until grouping_free().
 */
const char *grouping_cgroup(struct grouping *g, __u64 id);
void grouping_free(struct grouping *g);

/* The network of a remote address: /24 or, for IPv6, /64. Returns its length for format_prefix(). */
unsigned int remote_prefix(__u32 prefix[4], const __u32 addr[4]);

/*
 * Groups: structs of `size` bytes that begin with struct group.
 */
struct group {
	char *label; /* NULL: the sum of those that are not shown by themselves */
	size_t others; /* then: how many these are */
};

struct groups {
	size_t size;
	void *tree; /* of all */
	void **list; /* the same; once they are sorted, those that are shown */
	size_t n;
	void *rest; /* the last one that is shown, if it is the sum of the others */
};

/* The group with this label; NULL: there is none; or a new one, all zeros, if there is none. */
void *groups_find(const struct groups *g, const char *label);
void *groups_get(struct groups *g, const char *label);
/* Frees the i-th group of the list; the last one takes its place. */
void groups_drop(struct groups *g, size_t i);

/*
 * Sorts the list of pointers, then keeps the first `most` groups, and behind them one that sums the
 * rest by add(). There is nothing to get afterwards. most 0: all.
 */
void groups_sort(struct groups *g, int (*compare)(const void *a, const void *b, void *ctx),
		 void *ctx, size_t most, void (*add)(void *to, const void *from));
void groups_free(struct groups *g);

/* Parses --largest N, at most GROUPS_MOST. */
#define GROUPS_LARGEST 20 /* by default */
#define GROUPS_MOST 1000
bool option_largest(const char *option, const char *s, void *to); /* a __u64 */

/* "3 others", or the label so that a terminal may get it. */
const char *group_shown(const struct group *g);

struct json;

/* Adds "by", the label under the name of what it is by, and how many others a sum has. */
void group_add_json(struct json *j, const struct group *g, enum group_by by);

#endif
