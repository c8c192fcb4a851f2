// SPDX-License-Identifier: GPL-2.0-only
#include "shell.bpf.h"

BBR_OPS(bpf_toy);
