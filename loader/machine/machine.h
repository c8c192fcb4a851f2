/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bbrctl sets up on a machine: instances with profiles and rules, the namespaces whose default
 * they are, the cgroups that they are attached to, the routes whose congctl they are. It describes
 * what a file wants (machine_file.c) and what the kernel has (machine_kernel.c); plan.h has the
 * steps from one to the other.
 */
#ifndef LOADER_MACHINE_H
#define LOADER_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "instance/netns_default.h"
#include "kernel/instance.h"
#include "kernel/route.h"
#include "tuning/profile_definitions.h"
#include "tuning/profile_map.h"
#include "tuning/rule_list.h"
#include "tuning/rule_text.h"

struct json;

struct machine_instance {
	char name[BBR_NAME_LEN];
	const struct algorithm *algorithm; /* NULL: these tools do not know it */
	char version[sizeof(((struct bbr_abi *)0)->version)]; /* of its code */
	/* While a file is read, the default profile may be missing. */
	struct profile_definitions profiles;
	struct rule_list rules; /* the profile of each is an index into profiles */

	const char *file; /* while files are read: the last one that has its [instance NAME] */

	/* If it is loaded: */
	struct instance loaded;
	bool is_ours; /* bbrctl registered it, not bpftool */
	bool is_applied; /* an apply made it (instance/applied.h) */
	bool is_open; /* map is mapped; not for an unknown ABI or algorithm, or if not asked for */
	struct profile_map map;
};

/*
 * bbrctl made an instance the default of a namespace. Before, that was `previous`; "": not known.
 */
struct machine_note {
	char name[BBR_NAME_LEN]; /* of the instance */
	__u32 inode;
	char previous[BBR_NAME_LEN];
	bool is_applied; /* an apply did it */
};

/*
 * A prefix in a network namespace whose congctl is an instance. Found: a route, which may have none or
 * another; those with an instance, of ROUTE_PROTOCOL, or that lead to a prefix that is wanted.
 */
struct machine_route {
	char *netns; /* as --netns takes it; NETNS_OWN: ours, also without --netns */
	__u32 inode;
	char name[BBR_NAME_LEN]; /* "": none, or it is not loaded */
	struct route is; /* wanted: only to and is_locked */
	bool is_twin; /* another has the same prefix and metric, so none of them can be changed */
	bool is_applied; /* an apply set it, or made the route */
	struct route_note note; /* if an apply set it */
};

/*
 * A line of a file that names pods: it stands for a line of each pod that is there, by its cgroup.
 * machine_pods_find() looks for them, and may do so again.
 */
struct machine_pods {
	char *which; /* a selector (cgroup.h) */
	char name[BBR_NAME_LEN]; /* of the instance */
	struct bbr_rule rule; /* its conditions, without the cgroup */
	bool is_rule; /* else: an attachment */
	__u32 before; /* how many of the instance's own rules come before it */
	__u32 n; /* how many pods it stands for now */
};

struct machine {
	struct machine_instance *instance;
	size_t n_instances;
	struct default_of *def; /* wanted: of instances; found: of all namespaces */
	size_t n_defaults;
	struct machine_note *note; /* found */
	size_t n_notes;
	struct attachment *attached;
	size_t n_attached;
	struct machine_route *route;
	size_t n_routes;
	struct machine_pods *pods; /* wanted; their attachments are the last ones */
	size_t n_pods;
	bool lacks_labels; /* a line asks for labels, and the runtime does not know those of a pod yet */
	bool is_found; /* it is what the kernel has */
	bool is_tuning; /* wanted: a file of profiles and rules only, silent about the rest */
};

void machine_free(struct machine *m);

/* What they add is all zeros but for these values. */
struct machine_instance *machine_add_instance(struct machine *m, const char *name);
void machine_add_default(struct machine *m, const char *netns, __u32 inode, const char *name);
/* Its place is the cgroup itself. */
struct attachment *machine_add_attachment(struct machine *m, const char *path, const char *name);
struct machine_route *machine_add_route(struct machine *m, const char *netns, __u32 inode);

/* Each is NULL if there is none. */
struct machine_instance *machine_instance(const struct machine *m, const char *name);
const struct default_of *machine_default(const struct machine *m, __u32 inode);
const struct attachment *machine_attachment(const struct machine *m, const char *path);
const struct machine_note *machine_note(const struct machine *m, const char *name, __u32 inode);
const struct machine_route *machine_route(const struct machine *m, __u32 inode,
					  const struct route_prefix *to);

/* True if a route to this prefix leads to one that the machine has in that namespace. */
bool machine_leads_to(const struct machine *m, __u32 inode, const struct route_prefix *to);

/*
 * Makes the lines for pods stand for the pods that have a folder in `folder` now. A pod belongs to
 * the first line that names it; a line that names its cgroup comes first. Returns EXIT_DONE, or
 * another status after printing why not.
 */
int machine_pods_find(struct machine *m, const char *folder);

/* Where the rules of a line for pods begin among its instance's: behind those of the lines before. */
__u32 machine_pods_place(const struct machine *m, const struct machine_pods *of);

/*
 * The rules that an instance should have while the file's lines for pods are followed: those found,
 * without those of cgroups that are gone, and those of the lines. Somebody else's stay. Profiles are
 * indexes into those of `found`. Sets *is_going if a rule is of a pod that has lost its folder, but
 * not yet its cgroup. Returns as machine_pods_find(); the caller frees the rules in any case.
 */
int machine_pods_rules(const struct machine *m, const struct machine_instance *found,
		       struct rule_list *rules, bool *is_going);

/* Keeps only what belongs to one instance. */
void machine_narrow(struct machine *m, const char *name);

/* The name of a rule's profile. */
const char *machine_rule_profile(const struct machine_instance *inst, const struct bbr_rule *rule);

/* True if rule i of `a` and rule k of `b` have the same conditions and profile. */
bool machine_same_rule(const struct machine_instance *a, __u32 i, const struct machine_instance *b,
		       __u32 k);
/* The same of all their rules, in their order. */
bool machine_same_rules(const struct machine_instance *a, const struct machine_instance *b);

/*
 * Prints an instance in the form of a file (machine_file.c): its section, profiles and rules, each
 * line after a prefix. all: also what is at its default, as comments.
 */
void machine_print(FILE *out, const struct machine *m, const struct machine_instance *inst,
		   const char *prefix, bool all);
void machine_print_attachment(FILE *out, const struct attachment *at, const char *prefix);
void machine_print_route(FILE *out, const struct machine_route *r, const char *prefix);
/*
 * without_gone: the rules above that lost a condition, because its cgroup is gone; it is added if it
 * loses one. NULL: none.
 */
void machine_print_rule(FILE *out, const struct machine_instance *inst, __u32 i,
			struct rule_list *without_gone, const char *prefix);

/* Adds the same as an object of an array. */
void machine_add_json(struct json *j, const struct machine *m, const struct machine_instance *inst);
void machine_add_route_json(struct json *j, const struct machine_route *r);

/* Adds the keys of that object. */
void machine_add_route_keys(struct json *j, const struct machine_route *r);

/* "203.0.113.0/24", "203.0.113.0/24 in network namespace N", for messages; the caller frees it. */
char *machine_route_name(const struct machine_route *r);

/*
 * Reads what the kernel has now. only: profiles and rules of this instance; NULL: of all. wanted: also
 * the routes that lead to its prefixes; NULL: none. The caller frees m in any case.
 */
int machine_kernel_read(const char *only, const struct machine *wanted, struct machine *m);

/* The part of it that is about routes; those of instances that m already has. */
int machine_read_routes(const struct machine *wanted, struct machine *m);

/* Takes the line of a file, route = VALUE, for an instance. */
int machine_take_route(struct machine *m, const char *name, const char *value);

/* Takes back an instance's routes before it is unloaded. Adds them to the object j, or prints them. */
int machine_routes_back(const struct instance *inst, struct json *j);

/*
 * A file that says what to set up on a machine is described in bbrctl(8), CONFIGURATION. One that begins
 * with [PROFILE] or [rules], as older versions of bbrctl saved it, has the profiles and rules of one
 * instance.
 *
 * Reads a file ("-" is stdin), or a folder's *.conf in the order of their names. There, a profile
 * replaces an earlier one of the same instance and name, and all else adds to what came before.
 * path NULL: bpf-bbr.conf and then conf.d/ in /etc/bpf-bbr. name: only what concerns this instance;
 * NULL: all. Returns EXIT_DONE, or another status after printing what is wrong and where. The
 * caller frees m in any case.
 */
int machine_file_read(const char *path, const char *name, struct machine *m);

/* Reads such a text, which may be empty. path: for messages. name: as above, but it may be missing. */
int machine_text_read(const char *text, const char *path, const char *name, struct machine *m);

/*
 * Puts an instance, as machine_print() prints it, into the text of a file, whose other lines stay.
 * If the file has the instance, it gets the lines default_in and attach that it lacks, the values of
 * profiles instead of those that it has, and the rules before its own, instead of those with the
 * same options. Returns the new text, which the caller frees, and machine_text_read() judges.
 */
char *machine_edit(const char *file, const char *instance);

/* The path of the default file, and whether there is this file or conf.d/ with one. */
extern const char machine_file_default[];
bool machine_file_exists(void);

/*
 * The labels of pods, from the container runtime. Neither the kubelet's folders nor the cgroups have
 * them; the runtime has those with which a pod began, in its Container Runtime Interface (CRI), that
 * is gRPC over a Unix socket.
 */

/* Where containerd, k3s, CRI-O and cri-dockerd listen; with a NULL at the end. */
extern const char *const cri_sockets[];

/*
 * Asks the first of these that is there, and gives the pods the labels that it knows. Pods that it
 * does not know (yet) remain without. Returns an exit status.
 */
int cri_read_labels(const char *const *sockets, struct pod *list, int n);

/*
 * Does so with an answer to ListPodSandbox, without asking. Returns false if it is malformed; the
 * pods may then have some of the labels.
 */
bool cri_take_labels(const void *answer, size_t size, struct pod *list, int n);

#endif
