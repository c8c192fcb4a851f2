// SPDX-License-Identifier: GPL-2.0-only
/* A network that marks: sets CE in each packet that is capable of ECN. For tc, which takes it as `bpf direct-action`. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

SEC("tc")
int mark_ce(struct __sk_buff *skb)
{
	bpf_skb_ecn_set_ce(skb);
	return 0; /* TC_ACT_OK */
}

char LICENSE[] SEC("license") = "GPL";
