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

void err(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", program);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void remedy(const char *fmt, ...)
{
	va_list args;

	fputs("  ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
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
