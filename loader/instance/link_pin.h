/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pins that keep links, and so the congestion controls that they register, after bbrctl has
 * ended: /sys/fs/bpf/bpf_bbr/NAME. To find out what is loaded, tools ask the kernel instead.
 */
#ifndef LOADER_LINK_PIN_H
#define LOADER_LINK_PIN_H

#include <linux/types.h>

/*
 * Checks that the kernel can register by link, and that the pin would last. Mounts a bpffs and
 * makes the directory if need be, and removes a pin with this name whose link has ended. Returns
 * EXIT_DONE, and *why_plain is NULL or says why to register without a link; or EXIT_REFUSED after
 * printing why neither would do.
 */
int pin_prepare(const char *name, const char **why_plain);

/*
 * Says in one sentence why a pin would not last or could not be made; NULL: it would last. Prints
 * and changes nothing.
 */
const char *pin_problem(void);

/* Pins a link. Returns 0 or -errno. */
int pin_link(const char *name, int link_fd);

/*
 * Removes the pin with this name if it is this link's, or if its link has ended. Returns 0 or
 * -errno.
 */
int pin_remove(const char *name, __u32 link_id);

/* The path where the pin is, or would be. */
const char *pin_path(const char *name);

#endif
