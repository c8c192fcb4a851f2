// SPDX-License-Identifier: GPL-2.0-only
#include "shell.bpf.h"

SHELL_OPS(bpf_toy);
