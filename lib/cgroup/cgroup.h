/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIB_CGROUP_H
#define LIB_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "bpf_bbr/attach.h"
#include "bpf_bbr/rules.h"

/* Where cgroup2 is mounted; the caller frees it. NULL if it is not mounted. */
char *cgroup_mount(void);

/*
 * Finds the directory of a cgroup (version 2) that the user named, by its path in the file system
 * or by its path below the cgroup2 mount, as in /proc/PID/cgroup. The caller frees *found. If there
 * is none, prints why, and returns EXIT_USAGE, or EXIT_REFUSED if cgroup2 is not mounted.
 */
int cgroup_find(const char *option, const char *path, char **found);

/*
 * The same for a cgroup that need not be there: *place is the nearest one above it that is, and
 * *below the path from there; "" for the root, which is its own place. The caller frees both.
 */
int cgroup_place(const char *option, const char *path, char **place, char **below);

/* Makes the condition that a socket is in that cgroup, whenever it was made; or returns -errno. */
int cgroup_path_term(const char *place, const char *below, struct bbr_term *term);

/* The id that a cgroup has now, by its path from the mount; 0: it is not there. */
__u64 cgroup_id_now(const char *path);

/* Reads the id of that cgroup; otherwise like cgroup_find(). */
int cgroup_id(const char *option, const char *path, __u64 *id);

/* The same, and the ids of the cgroups above it: *n in all, at most this many. */
int cgroup_ids(const char *option, const char *path, __u64 *ids, int most, int *n);

/* The same for a cgroup given by its id, without messages. Returns how many; 0 if it is gone. */
int cgroup_ids_above(__u64 id, __u64 ids[BBR_RULE_CGROUP_LEVELS]);

/* Reads the path of a cgroup below the cgroup2 mount: "/" for the root, "" if it is gone. */
void cgroup_path(__u64 id, char *path, size_t size);

/* False if there is a cgroup with this id, or if that cannot be found out. */
bool cgroup_is_gone(__u64 id);

/* Where the kubelet has a folder for each pod of the node: NAMESPACE_NAME_UID. */
#define CGROUP_PODS_PARENT "/var/log"
#define CGROUP_PODS CGROUP_PODS_PARENT "/pods"

/*
 * Recognizes the pod or the container of a cgroup by its path, as the kubelet and the usual runtimes
 * name them: "pod web/front-0", "docker 0123456789ab", "lxc web". A pod that has no folder in `pods`
 * is shown as its container. Returns false, and an empty name, for any other path.
 */
bool cgroup_container(const char *path, const char *pods, char *name, size_t size);

#define POD_NAME_LEN (63 + 1 + 253 + 1) /* the longest that Kubernetes has, with the 0 */
#define POD_UID_LEN 40

/* True if the cgroup with this path is a pod's, whether it is there or not; and the pod's uid. */
bool cgroup_is_pod(const char *path);
bool cgroup_pod_uid(const char *path, char uid[POD_UID_LEN]);

/* Reads NAMESPACE/NAME of the pod with this uid from its folder in `pods`. False, and "": none. */
bool cgroup_pod_name(const char *pods, const char *uid, char name[POD_NAME_LEN]);

/*
 * True if the first cgroup is the second, or below it. Paths have no slash at the end; the root's
 * may be "/".
 */
bool cgroup_is_within(const char *path, const char *above);

/* A return value other than 0 ends the walk, which returns it. */
typedef int (*cgroup_visitor)(const char *path, void *data);

/*
 * Visits a cgroup and those below it, by their paths, in tree order. Returns what the last visit
 * returned, 0 without a visit, or -errno. Cgroups come and go: one that is gone is left out.
 */
int cgroup_walk(const char *top, cgroup_visitor visit, void *data);

/*
 * The sockops programs that are attached to cgroups, found by asking the kernel, cgroup by cgroup.
 */
#define SOCKOPS_MAPS 16 /* maps of one program that are looked at */

struct sockops_prog {
	const char *cgroup; /* its path */
	int fd; /* of the program, closed after the visit */
	__u32 id;
	__u32 map_ids[SOCKOPS_MAPS];
	__u32 maps; /* how many */
};

/* A return value other than 0 ends the walk, which returns it. */
typedef int (*sockops_visitor)(const struct sockops_prog *prog, void *data);

/*
 * Visits the programs with this name in one cgroup; path is handed to the visitor. Returns what the
 * last visit returned, 0 without a visit, or -errno.
 */
int sockops_visit(int cgroup_fd, const char *path, const char *name, sockops_visitor visit,
		  void *data);

/* The same for all cgroups, in tree order. */
int sockops_visit_all(const char *name, sockops_visitor visit, void *data);

/* Fills in *prog but cgroup. Returns 1 if the program has this name, 0 if not, or -errno. */
int sockops_inspect(int fd, const char *name, struct sockops_prog *prog);

/*
 * The cgroups whose connections get one of our congestion controls, found by asking the kernel,
 * cgroup by cgroup (see bpf_bbr/attach.h).
 */
struct attachment {
	char *path; /* of the cgroup, which may not be there */
	/* Of the cgroup that has the program: the same one, or one above it (see attach.h). */
	char *place;
	char name[BBR_NAME_LEN]; /* of the congestion control, loaded or not */
	bool is_applied; /* an apply made it */
	__u32 n; /* conditions on its connections */
	struct bbr_term term[BBR_ATTACH_TERMS];
};

/* The path from its place; "": it is the place, and the attachment ends with the cgroup. */
const char *attachment_below(const struct attachment *at);

/* True if they have the same congestion control and conditions. */
bool attachment_equal(const struct attachment *a, const struct attachment *b);

/* Opens the program. Returns its file descriptor; -ENOENT: it is gone; or another -errno. */
int attachment_program(int place_fd, const struct attachment *at);

/* Returns 0 if tools will find the loaded program in a cgroup, -EAGAIN if not, or another -errno. */
int attachment_check(int prog_fd);

/* Lists all below the mount, by path, for attachments_free(). Returns how many, or -errno. */
int attachments_list(struct attachment **list);
void attachment_free(struct attachment *at);
void attachments_free(struct attachment *list, int n);

/* The pods of Kubernetes on this machine, and how a selector chooses some of them. */
struct pod {
	char name[POD_NAME_LEN]; /* NAMESPACE/NAME */
	char uid[POD_UID_LEN];
	char *path; /* of its cgroup, in the file system */
	bool has_labels; /* they are known */
	char **label; /* KEY=VALUE */
	size_t n_labels;
};

/*
 * Lists those that have a cgroup and a folder in `folder`, by name, without their labels, for
 * pods_free(). Returns how many, or -errno.
 */
int pods_list(const char *folder, struct pod **list);
void pods_free(struct pod *list, int n);

/*
 * A selector is NAMESPACE/NAME, each a pattern as a shell has them, and then, with a comma before
 * each, what has to be true of the labels as in kubectl -l: KEY=VALUE, KEY!=VALUE, KEY, !KEY.
 */
#define POD_SELECTOR_LEN 1024 /* at most, with the 0 */

/* Returns false, and has said why, if the text after the option is none. */
bool pod_selector_is_valid(const char *option, const char *selector);
bool pod_selector_has_labels(const char *selector);

/* True if the valid selector chooses the pod. Without known labels, none of them is true. */
bool pod_selected(const char *selector, const struct pod *pod);

/* Of a process. fd: its descriptor. A return value other than 0 ends the walk, which returns it. */
typedef int (*socket_visitor)(__u64 inode, __u32 fd, void *data);

/*
 * Visits the sockets that a process has open, by its directory in /proc. A process that cannot be
 * looked at or has ended has none.
 */
int process_sockets(int process, socket_visitor visit, void *data);

#endif
