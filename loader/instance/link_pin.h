/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pins that keep links, and so the congestion controls that they register, after bbrctl has ended:
 * /sys/fs/bpf/bpf_bbr/NAME. Nothing looks here for what is loaded; the kernel is asked for that.
 */
#ifndef LOADER_LINK_PIN_H
#define LOADER_LINK_PIN_H

#include <linux/types.h>

/*
 * Can the kernel register by link, and is there a place for the pin that lasts? Mounts a bpffs and makes
 * the directory if need be, and takes away a pin of this name whose link has ended. EXIT_DONE, and *why_plain is NULL,
 * or says why to register without a link. EXIT_REFUSED after printing why neither would do.
 */
int pin_prepare(const char *name, const char **why_plain);

/* NULL, or in one sentence why a pin would not last, or could not be made: nothing is printed or changed. */
const char *pin_problem(void);

/* 0 or -errno. */
int pin_link(const char *name, int link_fd);

/* Takes away the pin of a link, if it is where pin_link() puts it, or any whose link has ended. */
void pin_remove(const char *name, __u32 link_id);

/* Where the pin is, or would be. */
const char *pin_path(const char *name);

#endif
