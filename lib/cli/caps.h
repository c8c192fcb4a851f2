/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of capabilities (capabilities(7)): CAP(BPF) | CAP(SYS_ADMIN).
 */
#ifndef LIB_CAPS_H
#define LIB_CAPS_H

#include <linux/types.h>
#include <sys/capability.h>

#define CAP(name) (1ull << CAP_##name)

#define CAPS_TEXT_LEN 256

/* "CAP_BPF, CAP_SYS_ADMIN"; what does not fit is left out. Returns buf. */
const char *caps_text(char buf[CAPS_TEXT_LEN], __u64 caps);

/*
 * The capabilities of this process: CAP_EFFECTIVE, in force now, or CAP_PERMITTED, which it may
 * take.
 */
__u64 caps_of_process(cap_flag_t set);

#endif
