# SPDX-License-Identifier: GPL-2.0-only
"""
bbrmon export in the background, a private Prometheus that scrapes it, and clients that only hold connections. These are
a program, given to `python3`:

    exporter.py hold ADDRESS PORT N FROM WHAT   prints a line when it has made N connections, and holds them until it is
                                                killed: one that is closed is made again. FROM: same, many (addresses). WHAT:
                                                idle, half (a request), deaf (a request, and never reads).
"""
import base64
import contextlib
import http.client
import json
import pathlib
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
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

    def request(self, method, path, headers=None, body=None, timeout=60, tls=None):
        """tls: an ssl.SSLContext of the client."""
        if tls:
            connection = http.client.HTTPSConnection(*self.address, timeout=timeout, context=tls)
        else:
            connection = http.client.HTTPConnection(*self.address, timeout=timeout)
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

    def __init__(self, directory, exporter, **options):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = directory / "prometheus.yml"
        config.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "bbr", **options,
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


def basic(user, password):
    """The header of a request with this password."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class Certificates:
    """A private authority, and certificates by it."""

    def __init__(self, directory):
        self.directory = directory
        directory.mkdir(exist_ok=True)
        self._openssl("req", "-x509", "-subj", "/CN=ca", "-addext", "basicConstraints=critical,CA:true", *self._new("ca"))

    def _new(self, name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-keyout", self.key(name), "-out", self.cert(name))

    @staticmethod
    def _openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, timeout=60)

    def cert(self, name):
        return str(self.directory / f"{name}.crt")

    def key(self, name):
        return str(self.directory / f"{name}.key")

    def make(self, name, use, common=None):
        """use: serverAuth or clientAuth."""
        self._openssl("req", "-x509", "-subj", f"/CN={common or name}", "-CA", self.cert("ca"), "-CAkey", self.key("ca"),
                      "-addext", "basicConstraints=critical,CA:false", "-addext", f"extendedKeyUsage={use}",
                      "-addext", "subjectAltName=IP:127.0.0.1", *self._new(name))

    def client(self, name=None):
        """What a client trusts, and with which certificate it comes."""
        context = ssl.create_default_context(cafile=self.cert("ca"))
        if name:
            context.load_cert_chain(self.cert(name), self.key(name))
        return context


SENT = {"idle": b"", "half": b"GET /metrics HTTP/1.1\r\nHos", "deaf": b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"}
AGAIN = 0.5  # seconds until a closed connection is made again: thousands are load enough


def hold(address, port, n, from_, what):
    """Runs until it is killed, or until standard input ends, when the test is gone."""
    held, again, number = {}, [], 0
    poller = select.epoll()
    poller.register(0, select.EPOLLIN | select.EPOLLHUP)

    def connect():
        nonlocal number
        number += 1
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        if from_ == "many":
            sock.bind((f"127.{number % 100 + 1}.{number // 100 % 250}.1", 0))
        sock.settimeout(20)
        try:
            sock.connect((address, port))
            sock.sendall(SENT[what])
        except OSError:  # too many at once: the kernel or the exporter has ended it
            sock.close()
            again.append(time.monotonic() + AGAIN)
            return
        held[sock.fileno()] = sock
        poller.register(sock, select.EPOLLRDHUP | select.EPOLLHUP)

    for _ in range(n):
        connect()
    print("held", flush=True)
    while True:
        for fd, _ in poller.poll(0.1):
            if fd == 0:
                return
            poller.unregister(fd)
            held.pop(fd).close()
            again.append(time.monotonic() + AGAIN)
        while again and again[0] < time.monotonic():
            again.pop(0)
            connect()


@contextlib.contextmanager
def holders(ns, exporter, n, from_, what):
    """n connections that are held in the exporter's namespace."""
    process = ns.popen(sys.executable, __file__, "hold", *exporter.address, n, from_, what,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()  # it may be waiting for a connection
        process.wait()
        process.stdin.close()
        process.stdout.close()


if __name__ == "__main__":
    hold(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
