/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that a command writes for its user.
 *
 * A file that the user named may be a link to something that exists, as with cp(1): a device, a
 * pipe, or another file. A file that only the program named is never reached through a link, be it
 * symbolic or hard: whoever may write to its directory could aim it at any file. No file is created
 * through a symbolic link.
 */
#ifndef LIB_OUTPUT_FILE_H
#define LIB_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <sys/stat.h>

/*
 * Opens the file, or creates it; it keeps its contents unless the flags, those of open(2), have
 * O_TRUNC. Returns a descriptor, or -1 after printing why.
 */
int output_open_fd(const char *path, int flags, bool is_named);

/*
 * Opens the file already, and keeps its contents, before a reader of what anybody may have written
 * gives up the privileges that this may take. output_open() uses it. output_forget() closes what it
 * did not use, and removes it if output_reach() had created it. Returns an exit status.
 */
int output_reach(const char *path, bool is_named);
void output_forget(void);

/* True if it is still the file that has this name. Check this before you remove it. */
bool output_is_named_so(int fd, const char *path);

/* As output_open_fd(), for an empty file; a named "-" is stdout. NULL: has printed why. */
FILE *output_open(const char *path, bool is_named);

/*
 * Closes it, or flushes stdout, whose path does not matter. Returns EXIT_REFUSED after printing why
 * it cannot be written, otherwise EXIT_DONE, also if the reader of stdout has gone, as with
 * `| head`: then it has what it wanted.
 */
int output_close(FILE *out, const char *path);

/*
 * Replaces a file of a folder, as a whole, by these parts; NULL ends them. Whoever reads it sees
 * the old file or the new one, also after a crash or a power cut. The new one has the owner and the
 * mode of `like`; NULL: the caller's, 0600. It is written to .NAME.new first, which a call that was
 * killed leaves, and the next one replaces. Returns 0, or an errno with the old file in place.
 */
int output_replace(int folder, const char *name, const struct stat *like, const char *const part[]);

#endif
