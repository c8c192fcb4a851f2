# SPDX-License-Identifier: GPL-2.0-only
"""Writes a guest's memory at a breakpoint, through QEMU's gdb stub.

There is no other way to bring a counter close to wrapping: four billion packets take too long, and the kernel
lets nobody write tp->delivered. A breakpoint is at an instruction, so each run stays the same.
"""
import socket
import time

REGISTERS = {"rsi": 4, "rdi": 5}  # their places in the stub's answer to "g" on x86-64
CONNECT_S = 10


class Debugger:
    """A connection to the stub. The guest must wait for it (-S). Addresses are the kernel's virtual ones."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._left = b""
        end = time.monotonic() + CONNECT_S
        while True:
            try:
                self._socket.connect(str(path))
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def _send(self, words):
        data = words.encode()
        self._socket.sendall(b"$%s#%02x" % (data, sum(data) % 256))

    def _receive(self):
        """The next packet; None if the guest has gone."""
        while True:
            begin = self._left.find(b"$")
            end = self._left.find(b"#", begin)
            if 0 <= begin < end and len(self._left) >= end + 3:
                packet, self._left = self._left[begin + 1:end], self._left[end + 3:]
                return packet.decode()
            try:
                more = self._socket.recv(65536)
            except ConnectionError:
                more = b""
            if not more:
                return None
            self._left += more

    def _ask(self, words):
        self._send(words)
        try:
            answer = self._receive()
            self._socket.sendall(b"+")
        except ConnectionError:
            answer = None
        if answer is None or answer.startswith("E"):
            raise RuntimeError(f"the debugger's stub refuses {words}: {answer}")
        return answer

    def register(self, name):
        answer = self._ask("g")
        at = 16 * REGISTERS[name]
        return int.from_bytes(bytes.fromhex(answer[at:at + 16]), "little")

    def read(self, address, size):
        return bytes.fromhex(self._ask(f"m{address:x},{size:x}"))

    def write(self, address, data):
        self._ask(f"M{address:x},{len(data):x}:{data.hex()}")

    def run(self, address, on_stop):
        """Lets the guest run; calls on_stop(self) each time it reaches the address, until the guest ends."""
        self._ask("?")
        self._ask(f"Z0,{address:x},1")
        while True:
            self._send("c")
            if self._receive() is None:
                return
            self._socket.sendall(b"+")
            on_stop(self)
            # Steps over the breakpoint. Otherwise the guest would stop there again at once.
            for words in (f"z0,{address:x},1", "s", f"Z0,{address:x},1"):
                self._ask(words)

    def run_until(self, address, on_stop):
        """Lets the guest run until it reaches the address; calls on_stop(self), and leaves."""
        self._ask("?")
        self._ask(f"Z0,{address:x},1")
        self._send("c")
        if self._receive() is None:
            return
        self._socket.sendall(b"+")
        on_stop(self)
        self._ask(f"z0,{address:x},1")
        self.leave()

    def leave(self):
        """Lets the guest run, without a debugger."""
        self._ask("D")

    def close(self):
        self._socket.close()
