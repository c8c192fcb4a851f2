/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs of bbrmon, and what all of them share. */
#ifndef TOOLS_VERBS_H
#define TOOLS_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/options.h"
#include "cli/privileges.h"

/*
 * The capabilities that they need.
 *
 * CAP_SYS_ADMIN: find a loaded instance, with bpf(2)'s *_GET_NEXT_ID and *_GET_FD_BY_ID, and enter
 * a network namespace. In the kernel it includes CAP_BPF and CAP_PERFMON (bpf_capable(),
 * perfmon_capable()).
 * CAP_SYS_PTRACE: find the namespaces of other users' processes, through /proc/PID/ns.
 * CAP_NET_ADMIN: before Linux 6.10, query the programs of a cgroup, to find experiments.
 */
#define WATCH CAP(SYS_ADMIN)
#define EVERY_NETNS CAP(SYS_PTRACE)
#define CGROUP_PROGRAMS CAP(NET_ADMIN)
/* Open a cgroup by its id: open_by_handle_at(2). */
#define FIND_CGROUPS CAP(DAC_READ_SEARCH)

/* Lets root read and write the named files whatever their permissions, as usual. */
#define READ_FILE CAP(DAC_READ_SEARCH)
#define WRITE_FILE CAP(DAC_OVERRIDE)

struct completion;

/* Complete the values of --by, of --sort of snapshot, and of --sort and --columns of top. */
void complete_group_by(const struct completion *c);
void complete_sort_keys(const struct completion *c);
void complete_columns(const struct completion *c);

extern const struct verb VERB_OF(snapshot), VERB_OF(why), VERB_OF(stream), VERB_OF(record),
	VERB_OF(top), VERB_OF(report), VERB_OF(experiment), VERB_OF(export);

/* Options that do not go together. */
struct conflict {
	bool is_there;
	const char *what, *why, *what_to_do; /* what NULL ends a list */
};

/* Refuses the first one that is there, and returns EXIT_USAGE. EXIT_DONE: there is none. */
int refuse_conflicts(const char *verb, const struct conflict *list);

bool is_same_file(const char *a, const char *b); /* both are there, and one file */
bool is_same_output(const char *a, const char *b); /* one of them would overwrite the other */
bool wants_colour(void); /* NO_COLOR is not set */
bool is_reader_gone(int fd); /* has the reader of this pipe gone? */

/* Keeps in *error, unless it is set, why what was printed since errno was 0 was not written. */
void note_write_error(int *error, bool has_failed);
/* Says so at the end, unless the reader has gone. Returns an exit status. */
int say_write_error(int error);

/*
 * An HTML page with its parts put in, so that it is one file.
 * "@name@" in the page stands for a part. An embedded file has the symbols name and name_end.
 */
struct page_part {
	const char *mark, *begin, *end;
};
#define PAGE_PART(name) { "@" #name "@", name, name##_end }

/* The first part is the page. "@data@" stands for what write_data() writes. */
void page_write(FILE *out, const struct page_part *parts, size_t n,
		void (*write_data)(FILE *out, const void *data), const void *data);

/*
 * Signals that end a verb: SIGINT, SIGTERM, and SIGHUP unless it was ignored at the start, as with
 * nohup(1).
 *
 * The first one asks for an orderly end. While nobody reads our output it has no effect, because a
 * write that a signal cuts short would tear a line. So a second SIGINT or SIGTERM has its default
 * effect. A second SIGHUP has no effect: when a terminal is closed, one comes from its shell, and
 * one from the kernel when that shell ends. A reader of stdout that goes away does not end a verb by
 * a signal either.
 */
void interrupt_catch(void);
bool is_interrupted(void);

#endif
