# SPDX-License-Identifier: GPL-2.0-only
"""Running bbrctl and bbrmon, both built with the sanitizers."""
import json
import os
import re
import signal
import subprocess
import time

import system
from system import wait_until

SANITIZER = re.compile(r"ERROR: AddressSanitizer|runtime error|LeakSanitizer|AddressSanitizer:")

# The exit status of both tools.
DONE, USAGE, REFUSED, NOTHING = 0, 1, 2, 3


def sanitizer_environment():
    return {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:exitcode=99",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99"}


class Result:
    def __init__(self, args, status, out, err):
        self.args, self.status, self.out, self.err = args, status, out, err

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"{' '.join(map(str, self.args))}: exit {self.status}\n{self.out}{self.err}"


def check_reach(path, args):
    """Without --name these verbs watch all instances, also those of tests in other processes."""
    watches = os.path.basename(path) == "bbrmon" and {"stream", "top", "record", "export"} & {*args}
    assert not watches or system.is_alone or {"--name", "--read", "-r", "--help"} & {*args}, \
        f"give it the mark machine_alone, or --name: bbrmon {' '.join(args)}"


class Tool:
    """One of the two programs. Calling it runs it and checks that no sanitizer reports anything."""

    def __init__(self, path, prefix=()):
        """prefix: a command that execs the tool, for start()."""
        self.path, self.prefix = str(path), prefix

    def __call__(self, *args, status=DONE, prefix=(), timeout=60, **kwargs):
        """Fails unless the tool ends with `status`; None: any status that the tool has."""
        command = [*prefix, self.path, *map(str, args)]
        if status != USAGE:
            check_reach(self.path, command)
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                              env=sanitizer_environment(), **kwargs)
        result = Result(command, done.returncode, done.stdout, done.stderr)
        assert not SANITIZER.search(result.err), result
        expected = range(4) if status is None else (status,)
        assert result.status in expected, f"expected exit {status}, got {result}"
        if result.status:
            name = os.path.basename(self.path)
            assert result.err.startswith(f"{name}: ") or "usage:" in result.err, result
        return result

    def json(self, *args, **kwargs):
        return self("-j", *args, **kwargs).json()

    def start(self, *args, **kwargs):
        """Starts it in the background; the caller must wait for it."""
        check_reach(self.path, [*map(str, args)])
        return subprocess.Popen([*self.prefix, self.path, *map(str, args)], env=sanitizer_environment(), **kwargs)


def data_of(page):
    """What a page of bbrmon report draws, read without a browser: tools/report/report_json.c writes it."""
    return json.loads(page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])


def status_of(bbrctl, name):
    """The instance in `bbrctl status`, or None."""
    return {i["name"]: i for i in bbrctl.json("status")}.get(name)


class Monitor:
    """`bbrmon stream -j` in the background, with its output in a file that is read as it grows."""

    def __init__(self, tool, directory, *args, number=0, json_lines=True):
        self.out = open(directory / f"bbrmon{number}.out", "w+")
        self.err = open(directory / f"bbrmon{number}.err", "w+")
        self.process = tool.start("stream", *(["-j"] if json_lines else []), *args,
                                  stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL)
        self.reader = open(self.out.name)
        self.lines, self.partial = [], ""
        self.events, self.summary = [], None
        self.json_lines = json_lines

    def poll(self):
        """Reads what was written since the last time. A line that is not JSON raises."""
        *lines, self.partial = (self.partial + self.reader.read()).split("\n")
        self.lines += lines
        if not self.json_lines:
            return self.events
        for line in lines:
            record = json.loads(line)
            assert self.summary is None, f"a line after the summary: {line}"
            if "summary" in record:
                self.summary = record["summary"]
            else:
                self.events.append(record)
        return self.events

    def of(self, event):
        """The events of one kind that were read so far."""
        self.poll()
        return [e for e in self.events if e["event"] == event]

    def wait_for(self, condition, what, timeout=60):
        """Waits until condition(monitor) is true. Fails at once when bbrmon has ended."""
        def ask():
            self.poll()
            answer = condition(self)
            assert answer or self.process.poll() is None, f"bbrmon ended early: {self.errors()}"
            return answer
        return wait_until(ask, what, timeout)

    def errors(self):
        with open(self.err.name) as f:
            return f.read()

    def wait(self, timeout=60, status=DONE):
        """Waits until bbrmon ends by itself. Reads the rest and returns the summary."""
        assert self.process.wait(timeout) == status, self.errors()
        assert not SANITIZER.search(self.errors()), self.errors()
        self.poll()
        assert not self.partial, f"the last line is not whole: {self.partial}"
        assert self.summary is not None or not self.json_lines, "no summary"
        return self.summary

    def stop(self):
        """Stops it as with Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def kill(self):
        """Kills it in any state. The fixture also calls this when a test failed."""
        self.process.kill()
        self.process.wait()
        for f in self.out, self.err, self.reader:
            f.close()


def pause():
    """Gives things time to get under way; nothing depends on how long."""
    time.sleep(0.2)


def lose_reader(process):
    """Reads the first line of a tool's output and closes the pipe: the tool must end with success. Returns the line."""
    try:
        line = process.stdout.readline()
        process.stdout.close()
        assert process.wait(30) == DONE
        assert b"Sanitizer" not in process.stderr.read()
        return line
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
