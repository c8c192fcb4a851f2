// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/prctl.h>

#include "caps.h"
#include "err.h"
#include "privileges.h"

#define ALL (~0ull)

/*
 * CAP_SYS_ADMIN: finding a loaded instance, by bpf(2)'s *_GET_NEXT_ID and *_GET_FD_BY_ID, and entering a
 * network namespace. For the kernel it includes CAP_BPF and CAP_PERFMON (bpf_capable(), perfmon_capable()).
 * CAP_SYS_PTRACE: finding the namespaces of other users' processes, through /proc/PID/ns.
 */
#define WATCH CAP(SYS_ADMIN)
#define EVERY_NETNS CAP(SYS_PTRACE)

/* Root reads and writes the files that it names as it is used to. */
#define READ_FILE CAP(DAC_READ_SEARCH)
#define WRITE_FILE CAP(DAC_OVERRIDE)

/* What a verb needs to look at what happens now; below it, what its options change. NULL: of any verb. */
static const struct {
	const char *verb, *option;
	struct privileges is;
} table[] = {
	{ "stream", NULL, { .needs = WATCH } },
	{ "snapshot", NULL, { .needs = WATCH | EVERY_NETNS } },
	/* The second is for /proc/PID/fd, which only its owner can list. */
	{ "snapshot", "processes", { .more = CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH) } },
	{ "snapshot", "cgroup", { .more = CAP(DAC_READ_SEARCH) } }, /* open_by_handle_at() */
	{ "top", NULL, { .needs = WATCH, .may = EVERY_NETNS } },
	{ "record", NULL, { .needs = WATCH, .may = WRITE_FILE } },
	{ "report", NULL, { .may = READ_FILE | WRITE_FILE } },
	/* The last is for a cgroup by its id, which rules may ask for: open_by_handle_at(2). */
	{ "export",
	  NULL,
	  { .needs = WATCH | EVERY_NETNS, .may = CAP(NET_BIND_SERVICE) | CAP(DAC_READ_SEARCH) } },
	{ NULL, "netns", { .spares = EVERY_NETNS } },
	{ NULL, "read", { .spares = ALL, .may = READ_FILE } },
};

#define N_LINES (sizeof(table) / sizeof(table[0]))

static bool is_of(const char *of, const char *name)
{
	return of == name || (of && name && !strcmp(of, name));
}

struct privileges privileges_of(const char *verb)
{
	for (size_t i = 0; i < N_LINES; i++)
		if (!table[i].option && is_of(table[i].verb, verb))
			return table[i].is;
	return (struct privileges){};
}

/* The option's own line of the verb, or that of any verb; NULL: it changes nothing. */
static const struct privileges *of_option(const char *verb, const char *option)
{
	for (size_t i = 0; i < N_LINES; i++)
		if (is_of(table[i].option, option) &&
		    (!table[i].verb || is_of(table[i].verb, verb)))
			return &table[i].is;
	return NULL;
}

void privileges_change(struct privileges *p, const char *verb, const char *option)
{
	const struct privileges *change = of_option(verb, option);

	if (!change)
		return;
	p->may |= change->may;
	p->spares |= change->spares;
	p->more |= change->more;
}

static __u64 needed(const struct privileges *p)
{
	return p->spares == ALL ? 0 : (p->needs & ~p->spares) | p->more;
}

/*
 * Lowering the bounding set takes CAP_SETPCAP, which others than root rarely have; without it no_new_privs
 * alone keeps what was given up from coming back. With the inheritable set the ambient one is cleared.
 */
static bool give_up_all_but(__u64 keep)
{
	cap_t caps = cap_init();
	bool done = caps && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++) {
		if (!(keep >> cap & 1))
			cap_drop_bound(cap);
		else if (done)
			done = !cap_set_flag(caps, CAP_PERMITTED, 1, &cap, CAP_SET) &&
			       !cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, CAP_SET);
	}
	done = done && !cap_set_proc(caps);
	cap_free(caps);
	return done;
}

int privileges_take(const char *verb, const struct privileges *p)
{
	__u64 have = caps_of_process(CAP_PERMITTED), needs = needed(p), missing = needs & ~have;
	char text[CAPS_TEXT_LEN];

	if (missing) {
		err("%s: this process lacks %s", verb, caps_text(text, missing));
		remedy("run it as root, or with just %s: by setcap(8), or AmbientCapabilities= of "
		       "systemd",
		       caps_text(text, needs));
		return EXIT_REFUSED;
	}
	if (give_up_all_but(needs | (p->may & have)))
		return EXIT_DONE;
	err("%s: cannot give up the capabilities that it does not need: %s", verb, strerror(errno));
	return EXIT_REFUSED;
}

void privileges_narrow(__u64 caps)
{
	give_up_all_but(caps & caps_of_process(CAP_PERMITTED));
}

void privileges_print(const char *verb)
{
	const struct privileges p = privileges_of(verb);
	char text[CAPS_TEXT_LEN];

	printf("\nNeeds %s", p.needs ? caps_text(text, p.needs) : "no capabilities");
	if (p.may)
		printf(" and uses, if it has them, %s", caps_text(text, p.may));
	puts("; gives up all others.");
}

void privileges_print_option(const char *verb, const char *option)
{
	const struct privileges *change = of_option(verb, option);
	char text[CAPS_TEXT_LEN];

	if (!change)
		return;
	printf("With --%s it needs ", option);
	if (change->spares == ALL)
		printf("none, and uses, if it has them, %s.\n", caps_text(text, change->may));
	else if (change->spares)
		printf("no %s.\n", caps_text(text, change->spares));
	else
		printf("%s as well.\n", caps_text(text, change->more & ~privileges_of(verb).needs));
}
