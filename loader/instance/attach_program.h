/* SPDX-License-Identifier: GPL-2.0-only */
/* The program that gives a cgroup's connections a congestion control (bpf/attach.bpf.c). */
#ifndef LOADER_ATTACH_PROGRAM_H
#define LOADER_ATTACH_PROGRAM_H

struct attachment;

/*
 * Loads it for an attachment, and attaches nothing yet. Returns a file descriptor, or -1 after
 * printing why.
 */
int attach_program_load(const struct attachment *at);

/* Attaches it to a cgroup, in place of the attached program replaced_fd (-1: beside any). */
int attach_program(int prog_fd, int cgroup_fd, int replaced_fd, const char *path);
int detach_program(int prog_fd, int cgroup_fd, const char *path);

#endif
