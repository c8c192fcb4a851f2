#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# check_static.sh FOLDER: tries the fully static bbrctl and bbrmon of FOLDER in a root that has nothing but them, /proc,
# /sys (with a bpffs) and an empty /run. It has its own mounts and network, and unloads the instance that it loads.
set -eu
programs=$(realpath "$1")
if [ -z "${2:-}" ]; then
	root=$(mktemp -d)
	trap 'rmdir "$root"' EXIT
	unshare --mount --net "$0" "$programs" "$root"
	exit
fi
root=$2
name=bbrstatic
port=10227
# shellcheck source=tests/package/exporter.sh
. "$(dirname "$0")/exporter.sh"

die() {
	echo "check-static: $1" >&2
	exit 1
}

inside() {
	chroot "$root" "$@"
}

# Nothing else is visible there: this is an empty file system, which ends with its namespace.
mount -t tmpfs none "$root"
mkdir "$root/proc" "$root/sys" "$root/run"
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
findmnt -n -t bpf "$root/sys/fs/bpf" >/dev/null || mount -t bpf none "$root/sys/fs/bpf"
for program in bbrctl bbrmon; do
	! readelf -ldW "$programs/$program" | grep -E 'INTERP|NEEDED' || die "$program is not static"
	cp "$programs/$program" "$root/$program"
done
ip link set lo up

cleanup() {
	[ -z "${exporter:-}" ] || kill "$exporter" 2>/dev/null || true
	inside /bbrctl unload --name $name 2>/dev/null || true
}
trap cleanup EXIT

inside /bbrctl check
inside /bbrctl load --name $name --set cwnd_gain=1.5
inside /bbrctl status --name $name
inside /bbrctl show --name $name cwnd_gain | grep -qw 1.5 || die "the parameter was not set"
inside /bbrmon snapshot
# A service's name without /etc/services, and a terminal without any terminal description.
! inside /bbrmon snapshot 'dport = :http' 2>"$root/said" || die "a service is known that is listed nowhere"
grep -q 'not a port' "$root/said"
# It has no TLS, and says so instead of serving without it.
printf 'tls_server_config: {cert_file: a, key_file: b}\n' >"$root/web.yml"
! inside /bbrmon export --name $name --listen 127.0.0.1:0 --web-config /web.yml 2>"$root/said" || die "it serves without TLS"
grep -q 'line 1: this bbrmon is a static program, which has no TLS' "$root/said"
start_exporter chroot "$root" /bbrmon
# No library was opened, neither by the loader nor later.
! grep -F .so "/proc/$exporter/maps" || die "bbrmon has loaded a library"
stop_exporter
inside /bbrctl unload --name $name
echo "check-static: done"
