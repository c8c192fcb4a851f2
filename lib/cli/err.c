// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "err.h"

static const char *program = "bpf-bbr";
static bool libbpf_speaks;
static FILE *messages; /* NULL: stderr */

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (!libbpf_speaks || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, args);
}

void err_init(const char *name, bool verbose)
{
	program = name;
	libbpf_speaks = verbose;
	libbpf_set_print(print_libbpf);
}

void err_to(FILE *out)
{
	messages = out;
}

void err(const char *fmt, ...)
{
	FILE *out = messages ? messages : stderr;
	va_list args;

	fflush(stdout);
	fprintf(out, "%s: ", program);
	va_start(args, fmt);
	vfprintf(out, fmt, args);
	va_end(args);
	fputc('\n', out);
}

void remedy(const char *fmt, ...)
{
	FILE *out = messages ? messages : stderr;
	va_list args;

	fputs("  ", out);
	va_start(args, fmt);
	vfprintf(out, fmt, args);
	va_end(args);
	fputc('\n', out);
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

int err_bpf(int error, const char *what)
{
	err("%s: %s", what, strerror(error < 0 ? -error : error));
	return EXIT_REFUSED;
}

bool err_is_verbose(void)
{
	return libbpf_speaks;
}
