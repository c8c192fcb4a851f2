# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon export in the background, and a private Prometheus that scrapes it."""
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import urllib.parse
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as classic

from system import wait_until
from tool import DONE, SANITIZER

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


class Usage:
    """What a process has used so far: seconds of CPU time; kilobytes, now and at most."""

    def __init__(self, pid):
        self.cpu = int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        self.rss, self.most = (int(status[key].split()[0]) for key in ("VmRSS", "VmHWM"))


class Samples:
    """Samples of one scrape, by name."""

    def __init__(self, text):
        self.families = {f.name: f for f in text_string_to_metric_families(text)}
        self.samples = [s for f in self.families.values() for s in f.samples]

    def of(self, name, **labels):
        """The samples of this name that have these labels."""
        return [s for s in self.samples if s.name == name
                and all(s.labels.get(k) == v for k, v in labels.items())]

    def sum(self, name, **labels):
        return sum(s.value for s in self.of(name, **labels))


class Exporter:
    def __init__(self, tool, directory, *args, number=0, listen="127.0.0.1:0"):
        self.out = open(directory / f"export{number}.out", "w+")
        self.err = open(directory / f"export{number}.err", "w+")
        self.process = tool.start("export", "--listen", listen, *args, stdout=self.out, stderr=self.err,
                                  stdin=subprocess.DEVNULL)
        try:
            self.url = wait_until(self._url, "bbrmon export says where it listens")
        except BaseException:
            self.kill()
            raise

    def _url(self):
        with open(self.out.name) as f:
            line = f.read()
        assert line or self.process.poll() is None, f"bbrmon ended early: {self.errors()}"
        return line.rstrip("\n") if line.endswith("\n") else None

    def errors(self):
        with open(self.err.name) as f:
            return f.read()

    @property
    def address(self):
        parts = urllib.parse.urlsplit(self.url)
        return parts.hostname, parts.port

    def request(self, method, path, headers=None, body=None):
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def text(self, accept=OPENMETRICS):
        status, _, text = self.request("GET", "/metrics", {"Accept": accept})
        assert status == 200, text
        return text

    def scrape(self):
        return Samples(self.text())

    def wait_for(self, condition, what, timeout=60):
        """Scrapes until condition(samples) is true. Returns the samples."""
        def ask():
            samples = self.scrape()
            return samples if condition(samples) else None
        return wait_until(ask, what, timeout)

    def connect(self):
        return socket.create_connection(self.address, timeout=60)

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        assert self.process.wait(60) == DONE, self.errors()
        assert not SANITIZER.search(self.errors()), self.errors()

    def kill(self):
        self.process.kill()
        self.process.wait()
        for f in self.out, self.err:
            f.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


class Prometheus:
    """Scrapes one exporter every second, and keeps its data below the given directory."""

    def __init__(self, directory, exporter):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = directory / "prometheus.yml"
        config.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "bbr",
                                "static_configs": [{"targets": [urllib.parse.urlsplit(exporter.url).netloc]}]}],
        }))
        self.log = open(directory / "prometheus.log", "w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory / 'tsdb'}",
             f"--web.listen-address={urllib.parse.urlsplit(self.url).netloc}"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def errors(self):
        with open(self.log.name) as f:
            return f.read()

    def query(self, expression):
        """[(labels, value)]; an error raises."""
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{query}", timeout=60) as answer:
            result = json.load(answer)
        assert result["status"] == "success", result
        return [(r["metric"], float(r["value"][1])) for r in result["data"]["result"]]

    def value(self, expression):
        """The value of an expression with one result; None if there is none yet."""
        assert self.process.poll() is None, self.errors()
        try:
            found = self.query(expression)
        except (urllib.error.URLError, ConnectionError):  # not ready yet
            return None
        assert len(found) < 2, found
        return found[0][1] if found else None

    def wait_for(self, expression, expected, timeout=60):
        """Waits until the expression has the expected value, or, if expected is a function, until that is true of the value."""
        is_it = expected if callable(expected) else lambda value: value == expected
        last = []

        def ask():
            last[:] = [self.value(expression)]
            return last[0] is not None and is_it(last[0])
        try:
            wait_until(ask, expression, timeout)
        except AssertionError:
            raise AssertionError(f"{expression} is {last}, not {expected}") from None

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()
