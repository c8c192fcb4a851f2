# SPDX-License-Identifier: GPL-2.0-only
"""A Prometheus with the alerts of packaging/prometheus, in the network namespace of this process."""
import json
import pathlib
import re
import urllib.error
import urllib.parse
import urllib.request

RULES = pathlib.Path(__file__).resolve().parents[2] / "packaging/prometheus/bpf-bbr.rules.yml"
ADDRESS = "127.0.0.1:9090"
SCRAPED_EVERY_S = 5
# Every duration in the rules: of a range, of an offset, and how long a condition must hold.
DURATION = r"(\[|\boffset |\bfor: )(\d+)(ms|[smhd])(?=\]|\b)"
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def faster(rules, factor):
    """The text of some rules with every time divided by a whole number, and nothing else changed."""
    return re.sub(DURATION, lambda found: f"{found[1]}{int(found[2]) * MILLISECONDS[found[3]] // factor}ms", rules)


class Prometheus:
    """ports: of the machines' metrics on this loopback, by name. folder: for its files. Its durations are divided by factor."""

    def __init__(self, folder, ports, factor):
        self.folder = folder
        targets = [{"targets": [f"127.0.0.1:{port}"], "labels": {"instance": f"{name}:10227"}} for name, port in ports.items()]
        (folder / "rules.yml").write_text(faster(RULES.read_text(), factor))
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": f"{SCRAPED_EVERY_S}s", "evaluation_interval": f"{SCRAPED_EVERY_S}s"},
            "rule_files": ["rules.yml"], "scrape_configs": [{"job_name": "bbr", "static_configs": targets}]}))

    def command(self):
        return ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                f"--web.listen-address={ADDRESS}", "--log.level=error"]

    def __call__(self, query):
        """The series that a query finds, as labels and value."""
        with urllib.request.urlopen(f"http://{ADDRESS}/api/v1/query?query={urllib.parse.quote(query)}", timeout=30) as answer:
            found = json.load(answer)["data"]["result"]
        return [(series["metric"], float(series["value"][1])) for series in found]

    def reads(self):
        """Number of machines that it reads; 0 while Prometheus itself does not answer."""
        try:
            return len(self("up == 1"))
        except urllib.error.URLError:
            return 0

    def fire(self):
        """The alerts that fire now, each with its machine."""
        return self._alerts('ALERTS{alertstate="firing", alertname=~"Bbr.+"}')

    def fired(self, seconds):
        """The alerts that fired in this time, each with its machine."""
        return self._alerts(f'max_over_time(ALERTS{{alertstate="firing", alertname=~"Bbr.+"}}[{seconds}s])')

    def _alerts(self, query):
        return {(labels["alertname"], labels.get("instance", "all").partition(":")[0]) for labels, _ in self(query)}

    def resent_percent(self, name, seconds):
        """The highest share of retransmitted bytes, in percent, that a machine had over half a minute in this time."""
        of = f'{{instance="{name}:10227"}}[30s]))'
        share = f"sum(rate(bbr_retransmitted_bytes_total{of} / sum(rate(bbr_sent_bytes_total{of}"
        ((_, highest),) = self(f"max_over_time(({share})[{seconds}s:{SCRAPED_EVERY_S}s])")
        return 100 * highest
