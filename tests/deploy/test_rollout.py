# SPDX-License-Identifier: GPL-2.0-only
"""The playbook of a rollout, with a role that only notes its calls, and a Prometheus that answers what the test wants: which
machines are touched, in which order, and which are taken back. make check-rollout does it with the real ones."""
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import urllib.parse

import pytest

from prometheus import DURATION, RULES, faster

ANSIBLE = pathlib.Path(__file__).resolve().parents[2] / "packaging/ansible"
MACHINES = "first", "second", "third"


class Prometheus(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["query"][0]
        asked = re.search(r'instance="([^:]*):10227"', query)[1]
        self.server.queries.append(query)
        fired = [{"metric": {"alertname": name}, "value": [0, "1"]} for name in self.server.fired.get(asked, ())]
        body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": fired}}
                          if self.server.status == 200 else {"status": "error", "error": "no"}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@pytest.fixture(name="prometheus")
def _prometheus():
    """fired: names of alerts by machine; status: of its answers; queries: those that it received."""
    with http.server.HTTPServer(("127.0.0.1", 0), Prometheus) as server:
        server.fired, server.status, server.queries = {}, 200, []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Rollout:
    def __init__(self, folder, prometheus):
        self.folder, self.prometheus, self.drifted, self.broken = folder, prometheus, False, "nobody"
        self.noted, self.said = [], ""

    def __call__(self, *arguments):
        """Runs the playbook. Returns whether it succeeded."""
        tasks = self.folder / "roles/bpf_bbr/tasks"
        tasks.mkdir(parents=True)
        noted, bbrctl = self.folder / "noted", self.folder / "bbrctl"
        for file, what in ("main", "apply"), ("take_back", "take back"):
            note = f"echo {what} {{{{ inventory_hostname }}}} >>{noted}"
            (tasks / f"{file}.yml").write_text(
                f"- ansible.builtin.shell: {note}; [ {{{{ inventory_hostname }}}} != {self.broken} ]\n  check_mode: false\n")
        bbrctl.write_text(f'#!/bin/sh\n[ "$*" = "apply --check" ] || exit 1\nexit {3 if self.drifted else 0}\n')
        bbrctl.chmod(0o755)
        shutil.copy(ANSIBLE / "rollout.yml", self.folder)
        (self.folder / "machines").write_text("[bpf_bbr]\n" + "".join(f"{name} ansible_connection=local\n" for name in MACHINES))
        done = ansible(self.folder, "-i", "machines", "-e", "bpf_bbr_watch=1", "-e", "ansible_become=false",
                       "-e", f"bpf_bbr_prometheus=http://127.0.0.1:{self.prometheus.server_address[1]}", *arguments, "rollout.yml")
        self.noted, self.said = noted.read_text().splitlines(), done.stdout
        return done.returncode == 0


def ansible(folder, *arguments):
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "ANSIBLE_GATHERING": "explicit",
                   "ANSIBLE_ROLES_PATH": str(ANSIBLE / "roles"), "ANSIBLE_NOCOLOR": "1",
                   "ANSIBLE_CONFIG": str(folder / "ansible.cfg")}
    (folder / "ansible.cfg").touch()
    return subprocess.run(["ansible-playbook", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, check=False, timeout=300, env=environment)


@pytest.fixture(name="rollout")
def _rollout(tmp_path, prometheus):
    return Rollout(tmp_path, prometheus)


def test_one_after_the_other(rollout, prometheus):
    assert rollout(), rollout.said
    assert rollout.noted == ["apply first", "apply second", "apply third"]
    assert len(prometheus.queries) == 3
    for query, name in zip(prometheus.queries, MACHINES):
        assert query == (f'max_over_time(ALERTS{{alertstate="firing", alertname=~"Bbr.+", instance="{name}:10227"}}[1s])')


def test_an_alert_on_the_first_stops_it(rollout, prometheus):
    prometheus.fired["first"] = ["BbrRetransmitsTooMuch", "BbrBuildsQueues", "BbrRetransmitsTooMuch"]
    assert not rollout()
    assert rollout.noted == ["apply first", "take back first"]
    assert "taken back on first: BbrBuildsQueues, BbrRetransmitsTooMuch fired" in rollout.said


def test_an_alert_on_the_second_leaves_the_first_as_it_is(rollout, prometheus):
    prometheus.fired["second"] = ["BbrBuildsQueues"]
    assert not rollout()
    assert rollout.noted == ["apply first", "apply second", "take back second"]


def test_no_answer_is_no_consent(rollout, prometheus):
    prometheus.status = 503
    assert not rollout()
    assert rollout.noted == ["apply first", "take back first"]


def test_what_cannot_be_applied_is_taken_back(rollout, prometheus):
    rollout.broken = "first"
    assert not rollout()
    assert rollout.noted == ["apply first", "take back first"]
    assert not prometheus.queries


def test_a_change_by_hand_while_it_waits_stops_it(rollout, prometheus):
    rollout.drifted = True
    assert not rollout()
    assert rollout.noted == ["apply first", "take back first"]
    assert not prometheus.queries


def test_check_mode_neither_waits_nor_asks(rollout, prometheus):
    assert rollout("--check", "-e", "bpf_bbr_watch=100000"), rollout.said
    assert rollout.noted == ["apply first", "apply second", "apply third"]
    assert not prometheus.queries


@pytest.mark.parametrize("tasks", [path.stem for path in (ANSIBLE / "roles/bpf_bbr/tasks").iterdir()])
def test_syntax_of_the_role(tasks, tmp_path):
    (tmp_path / "site.yml").write_text(
        f"- hosts: localhost\n  tasks:\n    - ansible.builtin.import_role: {{name: bpf_bbr, tasks_from: {tasks}}}\n")
    done = ansible(tmp_path, "-i", "localhost,", "--syntax-check", "site.yml")
    assert done.returncode == 0, done.stdout


def test_faster_alerts_differ_in_their_times_only(tmp_path):
    text = RULES.read_text()
    file = tmp_path / "rules.yml"
    file.write_text(faster(text, 10))
    subprocess.run(["promtool", "check", "rules", file], check=True, capture_output=True)
    assert re.sub(DURATION, "", file.read_text()) == re.sub(DURATION, "", text)
    assert faster("rate(x[5m]) offset 15m\n  for: 1d\n", 10) == "rate(x[30000ms]) offset 90000ms\n  for: 8640000ms\n"
    asked = re.sub(r"^ *(summary|action): .*$", "", text, flags=re.M)
    assert re.search(r"\d[smhd]\b", asked) and not re.search(r"\d[smhd]\b", re.sub(DURATION, "", asked))
