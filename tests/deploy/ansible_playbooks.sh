#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# ansible_playbooks.sh FOLDER OTHERS: runs the role and the playbook in FOLDER/ansible, with the tarball of
# static programs in FOLDER, on the root that it runs in. OTHERS is a file with what is loaded here and is not
# ours: each configuration includes it. Connects to nothing but Prometheus in its own network namespace.
set -eu
folder=$1
others=$2
name=bbransible
export PATH=/usr/local/sbin:$PATH
export ANSIBLE_ROLES_PATH=$folder/ansible/roles ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false
cd "$folder"

die() {
	echo "check-ansible: $1" >&2
	exit 1
}

say() {
	echo "check-ansible: $1"
}

cleanup() {
	[ -z "${prometheus:-}" ] || kill "$prometheus" || true
	[ -z "${exporter:-}" ] || kill "$exporter" || true
	! command -v bbrctl >/dev/null || bbrctl apply "$others" || true
}
trap cleanup EXIT

# variables FILE CONFIGURATION: writes the variables of the playbooks.
variables() {
	{
		echo "bpf_bbr_tarball: $(echo "$folder"/*.tar.gz)"
		echo "bpf_bbr_services: false" # nothing here starts services
		echo "bpf_bbr_config: |"
		{
			echo "$2"
			cat "$others"
		} | sed 's/^/  /'
	} >"$1"
}

# play NAME CHANGED ARGUMENTS: fails unless this many tasks changed something on each machine.
play() {
	local what=$1 changed=$2
	shift 2
	ansible-playbook "$@" >said 2>&1 || {
		cat said
		die "$what: failed"
	}
	grep -q "changed=$changed .*failed=0" said || {
		cat said
		die "$what: not $changed changes"
	}
	say "$what: changed=$changed"
}

cat >site.yml <<EOF
- hosts: all
  gather_facts: false
  roles: [bpf_bbr]
EOF
cat >machines <<EOF
[bpf_bbr]
first ansible_connection=local
second ansible_connection=local
third ansible_connection=local
EOF
variables good.yml "[instance $name]
[default]
cwnd_gain = 2.5"
variables tuned.yml "[instance $name]
[default]
cwnd_gain = 2.75"
variables broken.yml "[instance $name]
[default]
cwnd_gian = 2.5"
variables sick.yml "[instance $name]
[default]
cwnd_gain = 3
[instance bbrsick]"

ansible-lint --offline --profile production ansible/roles/bpf_bbr ansible/rollout.yml || die "ansible-lint finds something"
ansible-playbook --syntax-check -i machines ansible/rollout.yml

one=(-i machines --limit first site.yml -e)
play "check mode on a new machine" 3 --check --diff "${one[@]}" @good.yml
! command -v bbrctl || die "check mode has installed something"
# The five: the tarball, the programs, the folder, the configuration, and applying it.
play "the first time" 5 "${one[@]}" @good.yml
bbrctl show --name $name cwnd_gain | grep -qw 2.5 || die "nothing was applied"
play "the second time" 0 "${one[@]}" @good.yml
play "check mode" 0 --check --diff "${one[@]}" @good.yml
bbrctl set --name $name cwnd_gain=3
play "check mode after a change by hand" 1 --check --diff "${one[@]}" @good.yml
bbrctl show --name $name cwnd_gain | grep -qw 3 || die "check mode has changed something"
play "after a change by hand" 1 "${one[@]}" @good.yml
bbrctl show --name $name cwnd_gain | grep -qw 2.5 || die "the change by hand was not taken back"
play "check mode of another configuration" 1 --check --diff "${one[@]}" @tuned.yml
grep -q '^+cwnd_gain = 2.75' said || die "check mode does not show what would change"
play "another configuration" 2 "${one[@]}" @tuned.yml
! ansible-playbook "${one[@]}" @broken.yml >said || die "a broken configuration is taken"
grep -q cwnd_gian said || die "it is not said what is wrong with a configuration"
grep -q 2.75 /etc/bpf-bbr/bpf-bbr.conf || die "a broken configuration was written"
say "a broken configuration is refused, and the old one stays"

# A rollout, with an alert on what the exporter reports about this machine.
bbrmon export --every 1s >/dev/null &
exporter=$!
cat >rules.yml <<EOF
groups: [{name: bbr, rules: [{alert: BbrSick, expr: 'bbr_instance_info{bbr_instance="bbrsick"} == 1'}]}]
EOF
cat >prometheus.yml <<EOF
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: bbr
    static_configs: [{targets: ["127.0.0.1:10227"], labels: {instance: "first:10227"}}]
EOF
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address=127.0.0.1:9090 2>prometheus.log &
prometheus=$!
for ((i = 0; i < 300; i++)); do
	! promtool query instant http://127.0.0.1:9090 'bbr_instance_info' 2>/dev/null | grep -q $name || break
	sleep 0.1
done
rollout=(-i machines ansible/rollout.yml -e bpf_bbr_prometheus=http://127.0.0.1:9090 -e ansible_become=false -e bpf_bbr_watch=10)
play "a rollout" 0 "${rollout[@]}" -e @tuned.yml
[ "$(grep -c 'ok=.*failed=0' said)" = 3 ] || die "the rollout did not reach all machines"
! ansible-playbook "${rollout[@]}" -e @sick.yml >said || die "the alert did not stop the rollout"
grep -q 'taken back on first' said || {
	cat said
	die "it is not said that the rollout was taken back"
}
! grep -E '(ok|changed|fatal): \[(second|third)' said || die "the others were touched"
bbrctl show --name $name cwnd_gain | grep -qw 2.75 || die "the first machine has not got back what it had"
! bbrctl status | grep bbrsick || die "the first machine keeps what was bad"
say "a rollout that an alert stops: the first machine is as before, the others were not touched"
