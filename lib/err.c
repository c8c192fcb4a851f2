// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/capability.h>

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

/*
 * CAP_SYS_ADMIN is for bpf(2)'s *_GET_FD_BY_ID and *_GET_NEXT_ID, by which a loaded instance is found;
 * the others are for loading one.
 */
static const struct {
	cap_value_t cap;
	const char *name;
} caps[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
};

/* The names of those that are missing, in buf; "" if none is. */
static void missing_caps(char *buf, size_t size)
{
	cap_t have = cap_get_proc();

	buf[0] = 0;
	for (size_t i = 0; have && i < sizeof(caps) / sizeof(caps[0]); i++) {
		cap_flag_value_t set = CAP_CLEAR;

		cap_get_flag(have, caps[i].cap, CAP_EFFECTIVE, &set);
		if (set == CAP_SET)
			continue;
		if (buf[0])
			strncat(buf, ", ", size - strlen(buf) - 1);
		strncat(buf, caps[i].name, size - strlen(buf) - 1);
	}
	cap_free(have);
}

bool have_caps(const char *what)
{
	char missing[128];

	missing_caps(missing, sizeof(missing));
	if (!missing[0])
		return true;
	err("%s: this process lacks %s", what, missing);
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
