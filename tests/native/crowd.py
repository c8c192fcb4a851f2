# SPDX-License-Identifier: GPL-2.0-only
"""
Many connections at once, between two namespaces, held by separate processes, because one process may not open as many
files as they need. As a program, given to `python3`:

    crowd.py serve N                  prints its port; accepts N connections
    crowd.py connect ADDRESS PORT FROM TO CC...

Each prints a line when all connections exist, and holds them until its standard input ends. Connection number i uses
CC i modulo the number of CCs. Each has sent BYTES bytes.
"""
import socket
import struct
import subprocess
import sys

BYTES = 4000
PER_PROCESS = 15000


def serve(n):
    listener = socket.create_server(("0.0.0.0", 0), backlog=4096)
    print(listener.getsockname()[1], flush=True)
    held = []
    for _ in range(int(n)):
        sock = listener.accept()[0]
        held.append(sock)
    for sock in held:
        left = BYTES
        while left:
            left -= len(sock.recv(left))
    return held


def connect(address, port, first, last, *names):
    held = []
    for i in range(int(first), int(last)):
        sock = socket.socket()
        # Closing sends a reset, which leaves nothing behind.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, names[i % len(names)].encode())
        sock.connect((address, int(port)))
        sock.sendall(bytes(BYTES))
        held.append(sock)
    return held


class Crowd:
    """Connections from the first end of a link to the second; close() must be called."""

    def __init__(self, link, n, names):
        self.processes = []
        client, server = link.ends
        try:
            for first in range(0, n, PER_PROCESS):
                last = min(n, first + PER_PROCESS)
                serving = self._start(server, "serve", last - first)
                port = serving.stdout.readline().strip()
                assert port, "a server of the crowd has ended early"
                self._start(client, "connect", link.v4[1], port, first, last, *names)
            for process in self.processes:
                assert process.stdout.readline() == "held\n", "a process of the crowd has ended early"
        except BaseException:
            self.close()
            raise

    def _start(self, ns, *args):
        process = ns.popen(sys.executable, __file__, *args, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            process.stdin.close()
        for process in reversed(self.processes):
            process.wait(60)
            process.stdout.close()


if __name__ == "__main__":
    connections = {"serve": serve, "connect": connect}[sys.argv[1]](*sys.argv[2:])
    print("held", flush=True)
    sys.stdin.read()
