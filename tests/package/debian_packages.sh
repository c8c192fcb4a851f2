#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# debian_packages.sh FOLDER: installs the packages of FOLDER in the root that it runs in, tries what they contain, and
# purges them, in a network namespace of its own. It unloads the instance that it loads.
set -eu
name=bbrpackage
port=10227
# shellcheck source=tests/package/exporter.sh
. "$(dirname "$0")/exporter.sh"

die() {
	echo "$1" >&2
	exit 1
}

# All files but those that dpkg itself changes.
files() {
	find / -xdev \( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /root -o -path /tmp -o -path /run \) -prune \
		-o -print | sort
}

cleanup() {
	[ -z "${exporter:-}" ] || kill "$exporter" 2>/dev/null || true
	! command -v bbrctl >/dev/null || bbrctl unload --name $name >/dev/null 2>&1 || true
}
trap cleanup EXIT

files >/tmp/before
dpkg -i "$1"/*.deb
! ldd /usr/sbin/bbrctl /usr/sbin/bbrmon | grep 'not found' || die "a library is missing"
bbrctl check && die "check does not see that the configuration is not applied"
[ $? = 3 ] || die "check cannot load it"
bbrctl load --name $name --set cwnd_gain=1.5
bbrctl status --name $name
bbrmon snapshot
start_exporter bbrmon
stop_exporter
bbrctl unload --name $name
dpkg --purge bbrmon bpf-bbr
files >/tmp/after
diff /tmp/before /tmp/after || die "purging leaves something behind"
echo "installed, ran, purged"
