/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that say what to set up on a machine:
 *
 *	[instance NAME]
 *	algorithm = bbr		as with load; may be left out for bbr
 *	default_in = N		a network namespace, as with --netns; any number of lines
 *	attach = PATH		a cgroup, as with --cgroup; any number of lines
 *
 *	[PROFILE]		of this instance; keys left out have their defaults ([default] too)
 *	from = PROFILE		first line: the values of a known profile, or of a file's only one
 *	KEY = VALUE
 *
 *	[rules]			of this instance
 *	rule = OPTIONS		as with rule add, --cgroup last
 *
 * A name after default_in, attach and --cgroup may be in quotes (cli/text.h).
 *
 * A file that begins with [PROFILE] or [rules], as older versions of bbrctl saved it, has the
 * profiles and rules of one instance.
 */
#ifndef LOADER_MACHINE_FILE_H
#define LOADER_MACHINE_FILE_H

struct machine;

/*
 * Reads a file ("-" is stdin), or a folder's *.conf in the order of their names. There, a profile
 * replaces an earlier one of the same instance and name, and all else adds to what came before.
 * path NULL: bpf-bbr.conf and then conf.d/ in /etc/bpf-bbr. name: only what concerns this instance;
 * NULL: all. Returns EXIT_DONE, or another status after printing what is wrong and where. The
 * caller frees m in any case.
 */
int machine_file_read(const char *path, const char *name, struct machine *m);

/* The path of the default file. */
extern const char machine_file_default[];

#endif
