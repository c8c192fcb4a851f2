# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: what an ACK takes with the objects /NAME_VERSION.bpf.o of each compiler in $VERSIONS, NAME
# being bpf_bbr or bpf_bbr3, in turns with the kernel's bbr. Prints "== NAME_VERSION" before each; cost.py reads it.
declare -A id
for version in $VERSIONS; do
	for name in bpf_bbr bpf_bbr3; do
		cc=${name#bpf_}_$version
		bbrctl load --name "$cc" --object "/${name}_$version.bpf.o" >/dev/null
		id[$cc]=$(newest cong_control)
		transfer "$cc" >/dev/null # what is allocated and looked up for the first time
	done
done
transfer bbr >/dev/null
echo "== instrument"
transfer -f bbr_sndbuf_expand bbr

for ((i = 0; i < TURNS; i++)); do
	echo "== bbr $i"
	transfer -f bbr_main bbr
	for cc in "${!id[@]}"; do
		echo "== $cc $i"
		transfer -i "${id[$cc]}" "$cc"
	done
done
echo "== end"
