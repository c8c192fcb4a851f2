/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where BBR is on, and where it is not: what TCP sockets should use, what they use, and why they
 * differ. look.c asks the kernel; judge.c and uses.c only compare; print.c prints.
 */
#ifndef LOADER_CHECK_H
#define LOADER_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/uses.h"
#include "machine/plan.h"

struct device_qdisc;
struct json;

/* Sockets that use the same congestion control and got it in the same way. */
struct use {
	struct uses_key key;
	struct uses_group is;
	char *cgroup; /* below the mount, "/" is the root; "": it is gone */
};

/* A network namespace. */
struct checked_netns {
	char *name; /* as --netns takes it; NULL: it cannot be found from here */
	__u32 inode;
	char container[192]; /* as cgroup_container() has it; "": none that we recognize */
	char def[BBR_NAME_LEN]; /* its default */
	__s64 def_map_id; /* what that points at, 0 if that is no BPF program; -1: not known */
	__u64 wmem, rmem; /* highest of tcp_wmem and tcp_rmem, in bytes; 0: not known */
	__u64 lowat; /* tcp_notsent_lowat, in bytes; 0: not known */
	struct device_qdisc *device; /* with a queue; none were read if there is no TCP socket */
	int n_devices;
	/* Sums and largest values of its uses; judge.c sets them. */
	__u64 n, by_fq, by_tcp; /* connections */
	__u64 bytes_acked, bytes_received, bdp_sent, bdp_received, rate;
};

/* A cgroup whose connections are meant to use an instance. */
struct meant_at {
	const char *cgroup; /* below the mount */
	const char *name;
	bool is_attached;
	const struct attachment *is; /* with its conditions */
	/* Its number in uses_conditions; USES_CONDITIONS: it has none, or there are too many to be judged. */
	__u32 condition;
};

enum finding_kind {
	FINDING_FILE, /* cannot be read */
	FINDING_PLAN, /* the machine differs from the file */
	FINDING_DEFAULT, /* a default points at code that was unloaded */
	FINDING_NOT_LOADED, /* an attachment's name */
	FINDING_NOT_ALLOWED, /* programs without privileges cannot choose it */
	FINDING_USE, /* connections or listeners that do not use what they should */
	FINDING_FLOW_LIMIT, /* fq drops packets of single flows */
	FINDING_BUFFER, /* smaller than the machine's connections need */
	/* The others are no reason for an exit status. */
	FINDING_NOTES,
	FINDING_OTHER_DEFAULT = FINDING_NOTES, /* not what the initial namespace has */
	FINDING_LOWAT,
	FINDING_DOWNLOADS,
};

/* Why sockets do not use what they should. */
enum use_cause {
	USE_UNLOADED, /* code that was unloaded or replaced */
	USE_CHOSEN, /* by the application */
	USE_BY_ROUTE,
	USE_OTHER_CGROUP, /* the socket's, not its process's, decides */
	USE_NOT_LOADED,
	USE_NOT_ATTACHED,
	USE_NOT_ROUTED,
	USE_NOT_DEFAULT,
	USE_OLD, /* made before */
	USE_OLD_OR_ROUTE, /* that cannot be told apart */
	USE_CAUSES
};

struct finding {
	enum finding_kind kind;
	const struct checked_netns *ns; /* NULL: it is about the whole machine */
	char *text; /* a sentence without its end */
	char *command; /* that fixes it; NULL: there is none */
	/* FINDING_USE */
	enum use_cause cause;
	char used[BBR_NAME_LEN], wanted[BBR_NAME_LEN];
	/* What a socket should use: by a route, an attachment, or the namespace's default. */
	const struct machine_route *route;
	const struct meant_at *at;
	const char *cgroup; /* of the attachment, or to which the command is to keep; NULL: any */
	__u64 connections, listeners;
	const struct use *first;
};

struct check {
	const char
		*file; /* as the user named it; NULL: there is none, so the present setup counts */
	bool is_broken; /* the file */
	bool is_undone; /* what the file asks for: the state before that counts */
	struct machine wanted, found; /* empty without a file */
	struct plan plan;
	struct instance *alive; /* instance_list_alive() */
	int n_alive;
	char *allowed; /* tcp_allowed_congestion_control; NULL: not known */
	__u32 own, initial; /* inodes of our namespace and the first process's; 0: not known */
	struct attachment *attached;
	int n_attached;
	struct meant_at *meant;
	size_t n_meant;
	char **experiment; /* their cgroups, below the mount */
	size_t n_experiments;
	struct checked_netns *ns;
	size_t n_ns;
	struct use *use;
	size_t n_uses;
	__u64 lost; /* sockets that were not counted */
	bool is_partial; /* a namespace could not be read */
	struct finding *finding;
	size_t n_findings, n_off; /* those that are a reason for an exit status */
};

/* Reads all of it from the kernel, except file, is_broken and wanted. The caller frees c in any case. */
int check_look(struct check *c);

/* Makes the findings, those that are off first. */
void check_judge(struct check *c);
void check_free(struct check *c);

/* Prints it, or adds it to an object. */
void check_print(const struct check *c);
void check_add_json(struct json *j, const struct check *c);
void check_add_devices(struct json *j, const struct device_qdisc *list, int n);

/* ---- what judge.c, uses.c and print.c need of each other */

/* Both texts become the finding's; NULL: none (yet). */
struct finding *finding_add(struct check *c, enum finding_kind kind, const struct checked_netns *ns,
			    char *text, char *command);
void judge_uses(struct check *c);

/* The registered instance of this name; NULL: there is none. */
const struct instance *check_loaded(const struct check *c, const char *name);

/* What a namespace's default should be; NULL: anything. */
const char *default_meant(const struct check *c, const struct checked_netns *ns);

/* "bbrctl apply FILE"; the caller frees it. */
char *apply_command(const struct check *c);

/*
 * Parts of commands, each valid until the next call: " --netns N"; "nsenter --net=N ". Both are
 * nothing for our own namespace.
 */
const char *netns_option(const struct check *c, const struct checked_netns *ns);
const char *netns_entering(const struct check *c, const struct checked_netns *ns);

/*
 * True if a map is the code of an instance that is no longer registered, as after unload or
 * upgrade.
 */
bool check_is_unloaded(const struct check *c, __s64 map_id);

#endif
