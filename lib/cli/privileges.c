// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* pipe2() */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "err.h"
#include "privileges.h"
#include "text.h"

#define CAPS_TEXT_LEN 256

/* "CAP_BPF, CAP_SYS_ADMIN"; what does not fit is left out. Returns buf. */
static const char *caps_text(char buf[CAPS_TEXT_LEN], __u64 caps)
{
	size_t len = 0;

	buf[0] = 0;
	for (cap_value_t cap = 0; cap < 64 && caps >> cap && len < CAPS_TEXT_LEN; cap++) {
		char *name;

		if (!(caps >> cap & 1))
			continue;
		name = cap_to_name(cap);
		for (char *c = name; c && *c; c++)
			*c = toupper((unsigned char)*c);
		len += snprintf(buf + len, CAPS_TEXT_LEN - len, "%s%s", len ? ", " : "",
				name ? name : "?");
		cap_free(name);
	}
	return buf;
}

/* The command line being read. */
static struct {
	const char *verb;
	struct privileges is;
	__u64 spares, more;
} command;

static const struct privileges_change *find(const struct privileges *of_verb, const char *option)
{
	for (const struct privileges_change *c = of_verb->changes; c && c->option; c++)
		if (!strcmp(c->option, option))
			return c;
	return NULL;
}

void privileges_begin(const char *verb, const struct privileges *of_verb)
{
	memset(&command, 0, sizeof(command));
	command.verb = verb;
	command.is = *of_verb;
}

void privileges_add_option(const char *option)
{
	const struct privileges_change *change = find(&command.is, option);

	if (!change)
		return;
	command.is.may |= change->may;
	command.spares |= change->spares;
	command.more |= change->more;
}

static __u64 needed(void)
{
	if (command.spares == PRIVILEGES_ALL)
		return 0;
	return (command.is.needs & ~command.spares) | command.more;
}

/*
 * Lowering the bounding set takes CAP_SETPCAP, which users other than root rarely have. Without it,
 * no_new_privs alone keeps what was given up from coming back, and from programs that this one
 * starts. Clearing the inheritable set also clears the ambient set.
 */
static bool give_up_all_but(__u64 keep)
{
	cap_t caps = cap_init();
	bool done = caps && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++) {
		cap_drop_bound(cap);
		if (done && keep >> cap & 1)
			done = !cap_set_flag(caps, CAP_PERMITTED, 1, &cap, CAP_SET) &&
			       !cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, CAP_SET);
	}
	done = done && !cap_set_proc(caps);
	cap_free(caps);
	return done;
}

int privileges_give_up(void)
{
	__u64 keep = needed() | command.is.may;

	if (give_up_all_but(keep & caps_of_process(CAP_PERMITTED)))
		return EXIT_DONE;
	return err_refused("%s: cannot give up the capabilities that it does not need: %s",
			   command.verb, strerror(errno));
}

int privileges_take(void)
{
	__u64 needs = needed(), missing = needs & ~caps_of_process(CAP_PERMITTED);
	char text[CAPS_TEXT_LEN];

	if (!missing)
		return privileges_give_up();
	err("%s: missing %s", command.verb, caps_text(text, missing));
	remedy("run it as root, or give it only %s, with setcap(8) or systemd's "
	       "AmbientCapabilities=",
	       caps_text(text, needs));
	return EXIT_REFUSED;
}

void privileges_narrow(__u64 caps)
{
	__u64 have = caps_of_process(CAP_PERMITTED);

	if ((have & ~caps || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) &&
	    !give_up_all_but(caps & have)) {
		err("%s: cannot give up the capabilities that it does not need: %s", command.verb,
		    strerror(errno));
		_exit(EXIT_REFUSED); /* with them it must not go on */
	}
}

/* Where the kernel has Landlock. Without it, the limit of file descriptors must do. */
static void open_no_more_files(void)
{
	const struct landlock_ruleset_attr every = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1, /* all of Linux 5.13 */
	};
	int rules = syscall(SYS_landlock_create_ruleset, &every, sizeof(every), 0);

	if (rules < 0)
		return;
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}

/* Called by exit(3), which also ends a process without memory. */
static void end_aside(int status, void *to)
{
	putc(status, to);
	_exit(fflush(to) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/*
 * Its messages go through the pipe, and behind them its status: a sanitizer, too, ends a process
 * with a status.
 */
static void look_aside(FILE *to, unsigned int descriptors, int (*look)(void *ctx), void *ctx)
{
	/* Lowering the limit closes nothing; poll(2) takes no more than the limit. */
	const struct rlimit none = {}, few = { descriptors + 1, descriptors + 1 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (on_exit(end_aside, to))
		_exit(EXIT_FAILURE);
	setvbuf(to, NULL, _IOLBF, BUFSIZ);
	err_to(to);
	privileges_narrow(0);
	open_no_more_files();
	setrlimit(RLIMIT_NOFILE, &few);
	setrlimit(RLIMIT_CORE, &none);
	exit(look(ctx));
}

/* Passes on the messages. Returns the last byte, or -1 if there is none. */
static int listen_to(FILE *from)
{
	int c, last = -1;

	while ((c = getc(from)) != EOF) {
		if (last >= 0)
			putc(last, stderr);
		last = c;
	}
	fclose(from);
	return last;
}

int privileges_aside(const char *what, unsigned int descriptors, int (*look)(void *ctx), void *ctx)
{
	FILE *from = NULL, *to = NULL;
	int fds[2], ended = 0, status;
	pid_t pid = -1;

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* a fuzzer wants to see the crash */
	return look(ctx);
#endif
	fflush(NULL);
	if (!pipe2(fds, O_CLOEXEC)) {
		from = mem_need(fdopen(fds[0], "r"));
		to = mem_need(fdopen(fds[1], "w"));
		pid = fork();
	}
	if (pid < 0) {
		err("%s: cannot be read in a separate process: %s", what, strerror(errno));
		if (from) {
			fclose(from);
			fclose(to);
		}
		return EXIT_REFUSED;
	}
	if (!pid)
		look_aside(to, descriptors, look, ctx);
	fclose(to);
	status = listen_to(from);
	while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
		;
	if (!ended && status >= 0)
		return status;
	if (status >= 0)
		putc(status, stderr);
	return err_refused(
		"%s: cannot be read: the process without privileges that looked at it died: %s\n"
		"the file is damaged, or made to do harm",
		what, WIFSIGNALED(ended) ? strsignal(WTERMSIG(ended)) : "it ended early");
}

void privileges_print(const struct privileges *of_verb)
{
	char needs[CAPS_TEXT_LEN] = "no capabilities", may[CAPS_TEXT_LEN];
	char *text AUTO_FREE = NULL;

	if (of_verb->needs)
		caps_text(needs, of_verb->needs);
	text = mem_format("Needs %s%s%s; gives up all others.", needs,
			  of_verb->may ? " and uses, if it has them, " : "",
			  of_verb->may ? caps_text(may, of_verb->may) : "");
	putchar('\n');
	text_print_wrapped(stdout, text, 0, 0, TEXT_WIDTH, false);
}

void privileges_print_option(const struct privileges *of_verb, const char *option)
{
	const struct privileges_change *change = find(of_verb, option);
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
		printf("%s as well.\n", caps_text(text, change->more & ~of_verb->needs));
}

__u64 caps_of_process(cap_flag_t set)
{
	cap_t have = cap_get_proc();
	__u64 caps = 0;

	for (cap_value_t cap = 0; have && cap < cap_max_bits() && cap < 64; cap++) {
		cap_flag_value_t value = CAP_CLEAR;

		if (!cap_get_flag(have, cap, set, &value) && value == CAP_SET)
			caps |= 1ull << cap;
	}
	cap_free(have);
	return caps;
}
