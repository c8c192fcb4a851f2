# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For scripts that try an installed bbrmon. They define die, name (an instance that is loaded) and port.
# shellcheck disable=SC2154
start_exporter() { # words that run bbrmon
	local scrape answer i

	setpriv --pdeathsig KILL "$@" export --listen "127.0.0.1:$port" &
	exporter=$!
	for ((i = 0; i < 100; i++)); do
		exec {scrape}<>"/dev/tcp/127.0.0.1/$port" && break
		sleep 0.1
	done 2>/dev/null
	printf 'GET /metrics HTTP/1.0\r\n\r\n' >&"$scrape"
	answer=$(cat <&"$scrape")
	exec {scrape}>&-
	grep '^bbrmon_build_info' <<<"$answer" || die "export does not answer: $answer"
	grep -q "bbr_instance=\"$name\"" <<<"$answer" || die "export does not know the instance"
}

stop_exporter() {
	kill "$exporter"
	wait "$exporter"
	exporter=
}
