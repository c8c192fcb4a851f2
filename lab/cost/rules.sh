# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: what the start of a connection and an ACK take with the rules of each
# file /rules/NAME. Prints "== NAME" before each; cost.py reads it.
bpftool struct_ops register /bpf_bbr.bpf.o >/dev/null
transfer bbr >/dev/null # what is allocated and looked up for the first time
transfer bpf_bbr >/dev/null
echo "== instrument"
transfer -f bbr_sndbuf_expand bbr

for name in $NAMES; do
	write_rules bpf_bbr <"/rules/$name"
	transfer bpf_bbr >/dev/null # its first connection clamps the parameters
	echo "== $name"
	transfer -p init -p cong_control bpf_bbr
done
echo "== end"
