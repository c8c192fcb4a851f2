// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "bpf_bbr/events.h"
#include "cli/err.h"
#include "kernel/clock.h"
#include "top.h"

#define MESSAGE_NS (10 * NS_PER_S)
#define SAID_SIZE 4096

static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

#define N_DEADLY (sizeof(deadly) / sizeof(deadly[0]))

static const struct {
	short colour; /* -1: that of the terminal */
	int attributes;
} looks[HUES] = {
	[HUE_NONE] = { -1, 0 },		  [HUE_DIM] = { -1, A_DIM },
	[HUE_TITLE] = { -1, A_BOLD },	  [HUE_CURSOR] = { -1, A_REVERSE },
	[HUE_GREEN] = { COLOR_GREEN, 0 }, [HUE_BLUE] = { COLOR_BLUE, 0 },
	[HUE_CYAN] = { COLOR_CYAN, 0 },	  [HUE_MAGENTA] = { COLOR_MAGENTA, 0 },
	[HUE_WARN] = { COLOR_YELLOW, 0 }, [HUE_BAD] = { COLOR_RED, A_BOLD },
};

static SCREEN *screen;
static bool has_colour;
static bool is_gone;

/* To restore the terminal where curses cannot be called any more. */
static struct termios termios_before;
static char way_out[128];
static struct sigaction actions_before[N_DEADLY];

/* Messages on stderr would be written across the screen: they are kept until it is closed. */
static int stderr_before = -1, said_fd = -1;
static char said[SAID_SIZE + 1024];
static size_t said_len;
static __u64 message_ns;

static void on_crash(int sig)
{
	if (stderr_before >= 0)
		dup2(stderr_before, STDERR_FILENO);
	if (write(STDOUT_FILENO, way_out, strlen(way_out)) >= 0)
		tcsetattr(STDIN_FILENO, TCSANOW, &termios_before);
	for (size_t i = 0; i < N_DEADLY; i++)
		if (deadly[i] == sig)
			sigaction(sig, &actions_before[i], NULL);
	raise(sig);
}

static bool has_capability(const char *name)
{
	const char *s = tigetstr((char *)name);

	return s && s != (char *)-1;
}

static int add_to_way_out(int c)
{
	size_t len = strlen(way_out);

	if (len + 1 < sizeof(way_out))
		way_out[len] = c;
	return c;
}

static void add_way_out(const char *name)
{
	if (has_capability(name))
		tputs(tigetstr((char *)name), 1, add_to_way_out);
}

static void expect_crashes(void)
{
	struct sigaction action = { .sa_handler = on_crash };

	add_way_out("sgr0");
	add_way_out("rmkx");
	add_way_out("cnorm");
	add_way_out("rmcup");
	for (size_t i = 0; i < N_DEADLY; i++)
		sigaction(deadly[i], &action, &actions_before[i]);
}

static void capture_stderr(void)
{
	int fds[2];

	if (!isatty(STDERR_FILENO) || pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return;
	stderr_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	said_fd = fds[0];
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
}

static void read_said(void)
{
	ssize_t n;

	while (said_fd >= 0 &&
	       (n = read(said_fd, said + said_len, sizeof(said) - 1 - said_len)) > 0) {
		said_len += n;
		message_ns = now_ns();
		if (said_len > SAID_SIZE) { /* the latest matters most */
			memmove(said, said + said_len - SAID_SIZE, SAID_SIZE);
			said_len = SAID_SIZE;
		}
		said[said_len] = 0;
	}
}

const char *screen_message(void)
{
	const char *found = said;
	static char message[256];

	read_said();
	if (!message_ns || now_ns() - message_ns > MESSAGE_NS)
		return NULL;
	/* Finds the last line that is not a remedy: remedies are indented. */
	for (const char *line = said, *end; (end = strchr(line, '\n')); line = end + 1)
		if (*line != ' ' && end > line)
			found = line;
	snprintf(message, sizeof(message), "%.*s", (int)strcspn(found, "\n"), found);
	return message;
}

static void release_stderr(void)
{
	if (stderr_before < 0)
		return;
	read_said();
	dup2(stderr_before, STDERR_FILENO);
	close(stderr_before);
	close(said_fd);
	stderr_before = said_fd = -1;
	if (write(STDERR_FILENO, said, said_len) < 0)
		is_gone = true;
}

/* At exit(). Without curses, which may be what could not go on. */
static void give_back(void)
{
	if (!screen)
		return;
	if (write(STDOUT_FILENO, way_out, strlen(way_out)) >= 0)
		tcsetattr(STDIN_FILENO, TCSANOW, &termios_before);
	release_stderr();
}

/*
 * True if the terminal's type is known and can move the cursor. Check it before newterm(), which
 * leaks when it refuses a terminal.
 */
static bool can_show(void)
{
	bool can;
	int error;

	if (setupterm(NULL, STDOUT_FILENO, &error) == ERR)
		return false;
	can = has_capability("cup");
	del_curterm(cur_term);
	return can;
}

int screen_open(bool colour)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_refused("top: standard input and output are not a terminal\n"
				   "use --batch for a pipe or a file");
	tcgetattr(STDIN_FILENO, &termios_before);
	if (can_show())
		screen = newterm(NULL, stdout, stdin);
	if (screen)
		atexit(give_back);
	if (!screen)
		return err_refused("top: cannot use this terminal: TERM is %s\n"
				   "set TERM, or use --batch",
				   getenv("TERM") && *getenv("TERM") ? getenv("TERM") : "not set");
	expect_crashes();
	capture_stderr();
	set_escdelay(25);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	has_colour = colour && has_colors();
	if (has_colour) {
		start_color();
		use_default_colors();
		for (short i = 1; i < HUES; i++)
			init_pair(i, looks[i].colour, -1);
	}
	return EXIT_DONE;
}

void screen_close(void)
{
	for (size_t i = 0; i < N_DEADLY; i++)
		sigaction(deadly[i], &actions_before[i], NULL);
	endwin();
	delscreen(screen);
	screen = NULL;
	release_stderr();
}

/* A terminal that is gone is always ready to be read, but there is nothing to read. */
int screen_key(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	int key, ready = poll(&fd, 1, 0);

	if (ready > 0 && fd.revents & (POLLHUP | POLLERR | POLLNVAL))
		is_gone = true;
	if (is_gone)
		return -1;
	errno = 0;
	key = getch();
	if (key == ERR && ready > 0 && errno != EINTR && poll(&fd, 1, 0) > 0)
		is_gone = true;
	return key == ERR ? -1 : key;
}

bool screen_is_gone(void)
{
	return is_gone;
}

int screen_attributes(enum hue hue)
{
	return (has_colour ? COLOR_PAIR(hue) : A_NORMAL) | looks[hue].attributes;
}

enum hue mode_hue(const struct algorithm *a, unsigned int mode)
{
	static const enum hue hues[] = { HUE_GREEN, HUE_BLUE, HUE_CYAN, HUE_MAGENTA };

	return mode < a->n_modes ? hues[mode % (sizeof(hues) / sizeof(hues[0]))] : HUE_NONE;
}

void screen_put(int y, int x, enum hue hue, const char *text)
{
	if (y < 0 || y >= LINES || x < 0 || x >= COLS)
		return;
	attrset(screen_attributes(hue));
	mvaddstr(y, x, text);
	attrset(A_NORMAL);
}

void screen_put_line(int y, enum hue hue, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "%.*s", COLS, text);
	screen_put(y, 0, hue, line);
}
