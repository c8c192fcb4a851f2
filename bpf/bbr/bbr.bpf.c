// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR version 1 as a BPF TCP congestion control.
 */
#include "shell.bpf.h"

SHELL_OPS(bpf_bbr);
