// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <sys/prctl.h>

#include "caps.h"
#include "err.h"
#include "privileges.h"

/* The command line being read. */
static struct {
	const struct privileges_of *table;
	const char *verb;
	struct privileges is;
} command;

/*
 * The table's line for the command's verb or, if option is not NULL, for this option of the verb or
 * of any verb. NULL: there is none.
 */
static const struct privileges *find(const char *option)
{
	for (const struct privileges_of *p = command.table; p->verb || p->option; p++) {
		bool is_of_verb = p->verb && !strcmp(p->verb, command.verb);

		if (!option && !p->option && is_of_verb)
			return &p->is;
		if (option && p->option && !strcmp(p->option, option) && (is_of_verb || !p->verb))
			return &p->is;
	}
	return NULL;
}

void privileges_begin(const struct privileges_of *table, const char *verb)
{
	const struct privileges *is;

	command.table = table;
	command.verb = verb;
	is = find(NULL);
	command.is = is ? *is : (struct privileges){};
}

void privileges_add_option(const char *option)
{
	const struct privileges *change = find(option);

	if (!change)
		return;
	command.is.may |= change->may;
	command.is.spares |= change->spares;
	command.is.more |= change->more;
}

static __u64 needed(const struct privileges *p)
{
	return p->spares == PRIVILEGES_ALL ? 0 : (p->needs & ~p->spares) | p->more;
}

/*
 * Lowering the bounding set takes CAP_SETPCAP, which users other than root rarely have. Without it,
 * no_new_privs alone keeps what was given up from coming back. Clearing the inheritable set also
 * clears the ambient set.
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

int privileges_take(void)
{
	__u64 have = caps_of_process(CAP_PERMITTED), needs = needed(&command.is);
	__u64 missing = needs & ~have;
	char text[CAPS_TEXT_LEN];

	if (missing) {
		err("%s: missing %s", command.verb, caps_text(text, missing));
		remedy("run it as root, or give it only %s, with setcap(8) or systemd's "
		       "AmbientCapabilities=",
		       caps_text(text, needs));
		return EXIT_REFUSED;
	}
	if (give_up_all_but(needs | (command.is.may & have)))
		return EXIT_DONE;
	err("%s: cannot give up the capabilities it does not need: %s", command.verb,
	    strerror(errno));
	return EXIT_REFUSED;
}

void privileges_narrow(__u64 caps)
{
	give_up_all_but(caps & caps_of_process(CAP_PERMITTED));
}

void privileges_print(void)
{
	const struct privileges *is = find(NULL);
	char text[CAPS_TEXT_LEN];

	printf("\nNeeds %s", is && is->needs ? caps_text(text, is->needs) : "no capabilities");
	if (is && is->may)
		printf(" and uses, if it has them, %s", caps_text(text, is->may));
	puts("; gives up all others.");
}

void privileges_print_option(const char *option)
{
	const struct privileges *is = find(NULL), *change = find(option);
	char text[CAPS_TEXT_LEN];

	if (!change)
		return;
	printf("With --%s it needs ", option);
	if (change->spares == PRIVILEGES_ALL && change->may)
		printf("none, and uses, if it has them, %s.\n", caps_text(text, change->may));
	else if (change->spares == PRIVILEGES_ALL)
		puts("none.");
	else if (change->spares)
		printf("no %s.\n", caps_text(text, change->spares));
	else
		printf("%s as well.\n", caps_text(text, change->more & ~(is ? is->needs : 0)));
}
