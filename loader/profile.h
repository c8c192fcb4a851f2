/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parameters of a loaded instance.
 */
#ifndef LOADER_PROFILE_H
#define LOADER_PROFILE_H

#include "bpf_bbr/params.h"

/* The parameters in force, each within its range. 0 or -errno. */
int profile_read(int params_fd, struct bbr_params *p);

/* Puts p in force, all of it at once for every ACK that is processed from now on. 0 or -errno. */
int profile_write(int params_fd, const struct bbr_params *p);

#endif
