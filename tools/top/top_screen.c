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
#include "top_screen.h"

#define MESSAGE_NS (10 * NS_PER_S)
#define SAID_SIZE 4096

static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

#define N_DEADLY (sizeof(deadly) / sizeof(deadly[0]))

static SCREEN *screen;
static bool has_colour;
static bool is_gone;

/* To restore the terminal where curses cannot be called any more. */
static struct termios termios_before;
static char way_out[128];
static struct sigaction actions_before[N_DEADLY];

/* Messages on stderr would be written across the screen: they are kept until it is closed. */
static int stderr_before = -1, said_fd = -1;
static char said[SAID_SIZE];
static size_t said_len;
static char message[256];
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

/* Adds a capability without its padding, which only old terminals need. */
static void add_way_out(const char *name)
{
	const char *s = tigetstr((char *)name);
	size_t len = strlen(way_out);

	if (!has_capability(name))
		return;
	while (*s && len + 1 < sizeof(way_out)) {
		if (s[0] == '$' && s[1] == '<' && strchr(s, '>'))
			s = strchr(s, '>') + 1;
		else
			way_out[len++] = *s++;
	}
	way_out[len] = 0;
}

static void expect_crashes(void)
{
	struct sigaction action = { .sa_handler = on_crash };

	way_out[0] = 0;
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

static void note_said(const char *text, size_t len)
{
	if (said_len + len > sizeof(said)) { /* the latest matters most */
		size_t gone = said_len + len - sizeof(said);

		gone = gone < said_len ? gone : said_len;
		memmove(said, said + gone, said_len - gone);
		said_len -= gone;
	}
	memcpy(said + said_len, text, len);
	said_len += len;
}

static void read_said(void)
{
	char text[1024];
	ssize_t n;

	while (said_fd >= 0 && (n = read(said_fd, text, sizeof(text))) > 0) {
		note_said(text, n);
		message_ns = now_ns();
	}
}

/* Finds the last line that is not a remedy: remedies are indented. */
static void find_message(void)
{
	const char *from = said, *found = said, *end = said + said_len, *line;
	size_t len;

	while ((line = memchr(from, '\n', end - from))) {
		if (*from != ' ' && line > from)
			found = from;
		from = line + 1;
	}
	len = strnlen(found, end - found);
	if (memchr(found, '\n', len))
		len = (const char *)memchr(found, '\n', len) - found;
	if (len >= sizeof(message))
		len = sizeof(message) - 1;
	memcpy(message, found, len);
	message[len] = 0;
}

const char *screen_message(void)
{
	read_said();
	if (!message_ns || now_ns() - message_ns > MESSAGE_NS)
		return NULL;
	find_message();
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

static void choose_colours(void)
{
	static const short colours[HUES] = {
		[HUE_NONE] = -1,	   [HUE_DIM] = -1,
		[HUE_TITLE] = -1,	   [HUE_CURSOR] = -1,
		[HUE_GREEN] = COLOR_GREEN, [HUE_BLUE] = COLOR_BLUE,
		[HUE_CYAN] = COLOR_CYAN,   [HUE_MAGENTA] = COLOR_MAGENTA,
		[HUE_WARN] = COLOR_YELLOW, [HUE_BAD] = COLOR_RED,
	};

	start_color();
	use_default_colors();
	for (short i = 1; i < HUES; i++)
		init_pair(i, colours[i], -1);
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
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		err("top: standard input and output are not a terminal");
		remedy("use --batch for a pipe or a file");
		return EXIT_REFUSED;
	}
	tcgetattr(STDIN_FILENO, &termios_before);
	if (can_show())
		screen = newterm(NULL, stdout, stdin);
	if (screen)
		atexit(give_back);
	if (!screen) {
		err("top: cannot use this terminal: TERM is %s",
		    getenv("TERM") && *getenv("TERM") ? getenv("TERM") : "not set");
		remedy("set TERM, or use --batch");
		return EXIT_REFUSED;
	}
	expect_crashes();
	capture_stderr();
	set_escdelay(25);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	has_colour = colour && has_colors();
	if (has_colour)
		choose_colours();
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
	static const int more[HUES] = { [HUE_DIM] = A_DIM,
					[HUE_TITLE] = A_BOLD,
					[HUE_CURSOR] = A_REVERSE,
					[HUE_BAD] = A_BOLD };

	return (has_colour ? COLOR_PAIR(hue) : A_NORMAL) | more[hue];
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
