/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that say what a machine shall be:
 *
 *	[instance NAME]
 *	algorithm = bbr		as with load; may be left out for bbr
 *	default_in = N		a network namespace, as with --netns; any number of lines
 *	attach = PATH		a cgroup, as with --cgroup; any number of lines
 *
 *	[PROFILE]		of this instance; what is left out is at its default, [default] too
 *	from = PROFILE		the values of a known profile, or of the only one in a file; the first line
 *	KEY = VALUE
 *
 *	[rules]			of this instance
 *	rule = OPTIONS		as with rule add, --cgroup last
 *
 * A file that begins with the sections of an instance, as bbrctl once saved them, is of one instance's profiles and rules.
 */
#ifndef LOADER_MACHINE_FILE_H
#define LOADER_MACHINE_FILE_H

struct machine;

/*
 * Reads a file, "-" is stdin; or a folder's *.conf in their order, where a profile replaces an earlier one of the same
 * instance and name, and all else adds to what came before. path NULL: bpf-bbr.conf and then conf.d/ in /etc/bpf-bbr.
 * name: only what it says of this instance; NULL: all. EXIT_DONE, or another after printing where it is wrong. To be freed
 * in any case.
 */
int machine_file_read(const char *path, const char *name, struct machine *m);

/* Where it is by default. */
extern const char machine_file_default[];

#endif
