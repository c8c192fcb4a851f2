// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE /* vasprintf() */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "err.h"
#include "text.h"

#define MESSAGE_MAX 40000 /* with the paths of two cgroups, in quotes, and a remedy with them */

static const char *program = "bpf-bbr";
static bool libbpf_speaks;
static FILE *messages; /* NULL: stderr */
static bool is_mute;

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (!libbpf_speaks || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, args);
}

void streams_begin(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			exit(EXIT_REFUSED); /* there may be no stream for a message */
}

void err_init(const char *name, bool verbose)
{
	program = name;
	libbpf_speaks = verbose;
	libbpf_set_print(print_libbpf);
}

bool err_value(const char *option, const char *value, const char *why)
{
	err("%s %s: %s", option, value, why);
	return false;
}

void err_to(FILE *out)
{
	messages = out;
}

void err_mute(bool mute)
{
	is_mute = mute;
}

/*
 * A message quotes what others wrote: arguments, names, lines of files. No control character of it
 * may reach the terminal.
 */
static void print_line(const char *begin, const char *between, const char *message)
{
	FILE *out = messages ? messages : stderr;

	fprintf(out, "%s%s", begin, between);
	text_print(out, message);
	fputc('\n', out);
}

/* The newline before a remedy is the format's: one in an argument is none. */
int err_status(int status, const char *fmt, ...)
{
	char text[MESSAGE_MAX], first[1024];
	size_t end = strcspn(fmt, "\n"), len;
	va_list args;

	if (is_mute)
		return status;
	fflush(stdout);
	snprintf(first, sizeof(first), "%.*s", (int)end, fmt);
	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), first, args);
	va_end(args);
	print_line(program, ": ", text);
	if (!fmt[end] || len >= sizeof(text) - 1)
		return status;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	print_line("", "  ", text + len + 1);
	return status;
}

void remedy(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list args;

	if (is_mute)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	print_line("", "  ", text);
}

void note(const char *fmt, ...)
{
	va_list args;

	if (!libbpf_speaks)
		return;
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

/* True if BPF programs may not read the kernel's memory; false also without securityfs. */
static bool is_locked_down(void)
{
	char text[128];

	return text_first_line("/sys/kernel/security/lockdown", text, sizeof(text)) &&
	       strstr(text, "[confidentiality]");
}

int err_bpf(int error, const char *what)
{
	if (!error)
		return EXIT_DONE;
	err("%s: %s", what, strerror(error < 0 ? -error : error));
	if ((abs(error) == EINVAL || abs(error) == EPERM) && is_locked_down())
		remedy("the kernel is locked down for confidentiality, so no BPF program may read "
		       "its memory; boot it with lockdown=integrity, or without lockdown");
	return EXIT_REFUSED;
}

bool err_is_verbose(void)
{
	return libbpf_speaks;
}

void mem_check(bool has)
{
	if (has)
		return;
	err("out of memory");
	exit(EXIT_REFUSED);
}

void *mem_need(void *memory)
{
	mem_check(memory);
	return memory;
}

void *mem_new(size_t n, size_t size)
{
	return mem_need(calloc(n ? n : 1, size));
}

void *mem_grow(void *list, size_t n, size_t size)
{
	return n & (n - 1) ? list : mem_need(reallocarray(list, n ? 2 * n : 1, size));
}

char *mem_copy(const char *text)
{
	return mem_need(strdup(text));
}

char *mem_format(const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	mem_check(len >= 0);
	return text;
}

char *mem_join(char *list, const char *between, const char *word)
{
	char *longer = mem_format("%s%s%s", list, *list ? between : "", word);

	free(list);
	return longer;
}

void auto_free(void *pointer)
{
	void *memory;

	memcpy(&memory, pointer, sizeof(memory));
	free(memory);
}

void auto_close(const int *fd)
{
	int before = errno;

	if (*fd >= 0)
		close(*fd);
	errno = before;
}

void auto_fclose(FILE *const *file)
{
	int before = errno;

	if (*file)
		fclose(*file);
	errno = before;
}

void auto_closedir(DIR *const *dir)
{
	int before = errno;

	if (*dir)
		closedir(*dir);
	errno = before;
}
