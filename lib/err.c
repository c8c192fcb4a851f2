// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "caps.h"
#include "err.h"

static const char *program = "bpf-bbr";
static bool libbpf_speaks;
static __u64 needed; /* capabilities */

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

void err_needs(__u64 caps)
{
	needed = caps;
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

bool have_caps(const char *what)
{
	__u64 missing = needed & ~caps_of_process(CAP_EFFECTIVE);
	char text[CAPS_TEXT_LEN];

	if (!missing)
		return true;
	err("%s: this process lacks %s", what, caps_text(text, missing));
	remedy("run it as root: sudo %s ...", program);
	return false;
}

int err_bpf(int error, const char *what)
{
	if (error < 0)
		error = -error;
	if ((error == EPERM || error == EACCES) && !have_caps(what))
		return EXIT_REFUSED;
	err("%s: %s", what, strerror(error));
	return EXIT_REFUSED;
}
