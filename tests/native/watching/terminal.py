# SPDX-License-Identifier: GPL-2.0-only
"""A terminal whose screen a test can read: a pane of a private tmux server."""
import contextlib
import fcntl
import itertools
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from system import PREFIX, run, wait_until
from tool import SANITIZER, sanitizer_environment

numbers = itertools.count()


class Terminal:
    """
    A shell in a pane. A command that it runs leaves its exit status and the terminal's settings in files,
    so tests need not read them from the screen.
    """

    def __init__(self, directory, width=80, height=24, leaks=True, **environment):
        """
        leaks=False turns off the search for leaks at a program's exit, for a terminal that is closed.
        That search stops the process with the SIGSTOP of PTRACE_ATTACH and waits for it to stop. It waits for
        ever if a SIGCONT cancels that SIGSTOP, and the kernel sends a SIGCONT when the shell of a closed
        terminal ends.
        """
        self.socket = f"{PREFIX}_{next(numbers)}"
        self.directory = directory / self.socket
        self.directory.mkdir()
        for name in "rc", "err", "before", "after":
            (self.directory / name).touch()
        self.width, self.height = width, height
        variables = {**sanitizer_environment(), "LC_ALL": "C.UTF-8", "PS1": "$ ", **environment}
        # A report goes to a file: the screen may be gone by then.
        variables["ASAN_OPTIONS"] += f":log_path={self.directory}/sanitizer"
        variables["UBSAN_OPTIONS"] += f":log_path={self.directory}/sanitizer"
        if not leaks:
            variables["ASAN_OPTIONS"] += ":detect_leaks=0"
        self.shell = ["env", "-u", "TMUX", *(f"{k}={v}" for k, v in environment.items()),
                      "bash", "--norc", "--noprofile", "-i"]
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, *self.shell,
                  env=variables)
        self.wait_for(lambda text: "$" in text, "the shell's prompt")

    def tmux(self, *args, **kwargs):
        return run("tmux", "-L", self.socket, *args, **kwargs).stdout

    def start(self, *command):
        """Runs a command in the shell."""
        words = " ".join(f"'{word}'" for word in command)
        d = self.directory
        self.type(f"stty -g >{d}/before; {words} 2>{d}/err; echo $? >{d}/rc; stty -g >{d}/after", "Enter")

    def start_with_stderr(self, *command):
        """The same, but the command's messages go to the terminal."""
        words = " ".join(f"'{word}'" for word in command)
        d = self.directory
        self.type(f"stty -g >{d}/before; {words}; echo $? >{d}/rc; stty -g >{d}/after", "Enter")

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def lines(self, *options):
        """The lines that the screen shows now."""
        return self.tmux("capture-pane", "-p", *options).rstrip("\n").split("\n")

    def text(self, *options):
        return "\n".join(self.lines(*options))

    def wait_for(self, condition, what):
        """Waits until condition(text) is true for the text on the screen. Returns its lines."""
        seen = ""

        def ask():
            nonlocal seen
            seen = self.text()
            return condition(seen)
        try:
            wait_until(ask, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen is\n{seen}") from None
        return seen.split("\n")

    def resize(self, width, height):
        self.width, self.height = width, height
        self.tmux("resize-window", "-x", width, "-y", height)

    def read(self, name):
        return (self.directory / name).read_text().strip()

    def status(self):
        """The exit status. Waits until the program has ended and the terminal's settings are in their file."""
        wait_until(lambda: self.read("after"), "the program ends")
        return int(self.read("rc"))

    def is_restored(self):
        """True if the terminal has its old settings, the shell's screen and a visible cursor."""
        return self.read("after") == self.read("before") and \
            self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]

    def sanitizer_reports(self):
        return [text for f in self.directory.glob("sanitizer*") if SANITIZER.search(text := f.read_text())]

    def pane_pid(self):
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def program(self, name):
        """Waits for a process of this name in the terminal. Returns its pid."""
        def find():
            pids = run("pgrep", "-x", name, "-s", self.pane_pid(), check=False).stdout.split()
            return int(pids[0]) if pids else None
        return wait_until(find, f"{name} runs")

    def kill_pane(self):
        self.tmux("kill-pane")

    def close(self):
        if self.is_served():  # a stopped process would not end with its terminal
            for pid in run("pgrep", "-s", self.pane_pid(), check=False).stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, check=False)
        path = f"/tmp/tmux-{os.getuid()}/{self.socket}"
        wait_until(lambda: not self.is_served(), "the tmux of this test ends")
        if os.path.exists(path):
            os.unlink(path)

    def is_served(self):
        return subprocess.run(["tmux", "-L", self.socket, "has-session"],
                              capture_output=True, check=False).returncode == 0


COLOUR = re.compile(r"\033\[(?:\d+;)*(?:3[0-7]|4[0-7]|38;5;\d+|9[0-7])(?:;\d+)*m")


class RawTerminal:
    """A program on a terminal of its own. All that it writes is there, not only what a screen shows in the end."""

    def __init__(self, *command, rows=40, columns=120):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(command[0], [*map(str, command)], {**sanitizer_environment(), "TERM": "xterm"})

    def read(self, seconds):
        """What it writes in this time, at most until the first bytes."""
        return os.read(self.fd, 1 << 16) if select.select([self.fd], [], [], seconds)[0] else b""

    def wait_for(self, text, limit_s=60):
        """The seconds until it has written this text, and all that it has written until then."""
        began, got = time.monotonic(), b""
        while text not in got:
            assert time.monotonic() < began + limit_s, f"no {text!r}: {got[-500:]}"
            got += self.read(1)
        return time.monotonic() - began, got

    def pass_time(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def key(self, key, shows):
        """The seconds from a key to a text."""
        os.write(self.fd, key)
        return self.wait_for(shows)[0]

    def peak_kb(self):
        with open(f"/proc/{self.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))

    def close(self):
        os.kill(self.pid, signal.SIGINT)
        with contextlib.suppress(OSError):  # EIO: it has ended
            while os.read(self.fd, 1 << 16):
                pass
        os.close(self.fd)
        os.waitpid(self.pid, 0)
