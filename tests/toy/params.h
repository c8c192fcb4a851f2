/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TOY_PARAMS_H
#define TOY_PARAMS_H

#include "bpf_bbr/params.h"

/* clang-format off */
#define BBR_PARAMS(C, O) \
	C(window, 1, PACKETS, BBR_V(10), 2, 1000, \
	  "the window, whatever happens") \
	BBR_SOCKET_PARAMS(C)
/* clang-format on */

struct bbr_params {
	BBR_PARAMS(BBR_PARAM_MEMBER, BBR_PARAM_MEMBER)
};

#define BBR_PARAMS_DEFAULT { BBR_PARAMS(BBR_PARAM_DEFAULT, BBR_PARAM_DEFAULT) }

#endif
