# SPDX-License-Identifier: GPL-2.0-only
"""The alerts for Prometheus: each fires and stays silent when it should, and uses only metrics that exist."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "packaging/prometheus/bpf-bbr.rules.yml"
CASES = RULES.with_name("bpf-bbr.test.yml")


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_and_their_cases():
    promtool("check", "rules", RULES)
    promtool("test", "rules", CASES)


def test_each_alert_has_a_case_in_which_it_fires():
    alerts = set(re.findall(r"alert: (\w+)", RULES.read_text()))
    fired = set(re.findall(r"alertname: (\w+)\n +exp_alerts:", CASES.read_text()))
    assert len(alerts) > 5 and fired == alerts


def test_every_metric_exists():
    """The manual lists the metrics; the tests of export compare it with what is served."""
    expressions = re.findall(r"expr: (?:>\n)?(.*?)\n +(?:for|labels):", RULES.read_text(), re.S)
    asked = set(re.findall(r"\b(bbr(?:mon)?_\w+)", "\n".join(expressions))) - {"bbr_instance"}
    manual = (ROOT / "docs/man/bbrmon.8").read_text()
    assert len(asked) > 8
    for metric in asked:
        assert re.search(rf"\b{metric.removesuffix('_bucket')}\b", manual), metric
