// SPDX-License-Identifier: GPL-2.0-only
#include "bpf_bbr/abi.h"
#include "cli/caps.h"
#include "cli/completion.h"
#include "kernel/clock.h"
#include "kernel/completers.h"
#include "cli/err.h"
#include "cli/options.h"
#include "verbs.h"

static const struct verb *const verbs[] = {
	&verb_stream, &verb_snapshot,	&verb_record, &verb_top,
	&verb_report, &verb_experiment, &verb_export, NULL,
};

/*
 * CAP_SYS_ADMIN: find a loaded instance, with bpf(2)'s *_GET_NEXT_ID and *_GET_FD_BY_ID, and enter
 * a network namespace. In the kernel it includes CAP_BPF and CAP_PERFMON (bpf_capable(),
 * perfmon_capable()).
 * CAP_SYS_PTRACE: find the namespaces of other users' processes, through /proc/PID/ns.
 * CAP_NET_ADMIN: before Linux 6.10, query the programs of a cgroup, to find experiments.
 */
#define WATCH CAP(SYS_ADMIN)
#define EVERY_NETNS CAP(SYS_PTRACE)
#define CGROUP_PROGRAMS CAP(NET_ADMIN)

/* Lets root read and write the named files whatever their permissions, as usual. */
#define READ_FILE CAP(DAC_READ_SEARCH)
#define WRITE_FILE CAP(DAC_OVERRIDE)

/* What a verb needs to watch the running system, and how its options change that. */
static const struct privileges_of privileges[] = {
	{ "stream", NULL, { .needs = WATCH } },
	{ "snapshot", NULL, { .needs = WATCH | EVERY_NETNS } },
	/* CAP_DAC_READ_SEARCH is for /proc/PID/fd, which only its owner can list. */
	{ "snapshot", "processes", { .more = CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH) } },
	{ "snapshot", "cgroup", { .more = CAP(DAC_READ_SEARCH) } }, /* open_by_handle_at() */
	{ "top", NULL, { .needs = WATCH, .may = EVERY_NETNS } },
	{ "record", NULL, { .needs = WATCH, .may = WRITE_FILE } },
	{ "report", NULL, { .may = READ_FILE | WRITE_FILE } },
	{ "experiment", NULL, { .may = WATCH | CGROUP_PROGRAMS | READ_FILE | WRITE_FILE } },
	/* CAP_DAC_READ_SEARCH is to open a cgroup by id, for rules: open_by_handle_at(2). */
	{ "export",
	  NULL,
	  { .needs = WATCH | EVERY_NETNS,
	    .may = CAP(NET_BIND_SERVICE) | CGROUP_PROGRAMS | CAP(DAC_READ_SEARCH) } },
	{ NULL, "netns", { .spares = EVERY_NETNS } },
	{ NULL, "read", { .spares = PRIVILEGES_ALL, .may = READ_FILE } },
	{},
};

static void complete_experiments_and_files(const struct completion *c)
{
	complete_experiments(c);
	completion_add_files(c);
}

static const struct completer completers[] = {
	{ "NAME|FILE", complete_experiments_and_files },
	{ "FILE", completion_add_files },
	{ "NAME", complete_instances },
	{ "--netns", complete_netns },
	{},
};

static const struct program bbrmon = {
	.name = "bbrmon",
	.version = BBR_VERSION,
	.about = "Shows what BBR does on each TCP connection that uses an instance of bpf_bbr or "
		 "the\n"
		 "kernel's own bbr.",
	.verbs = verbs,
	.privileges = privileges,
	.completers = completers,
};

int main(int argc, char **argv)
{
	err_init(bbrmon.name, false);
	if (!clock_init())
		return EXIT_REFUSED;
	return program_run(&bbrmon, argc, argv);
}
