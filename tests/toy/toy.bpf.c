// SPDX-License-Identifier: GPL-2.0-only
#include "algorithm.h"
#include "shell.bpf.h"

BBR_OPS(bpf_toy);
