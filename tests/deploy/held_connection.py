#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""held_connection.py NAME: a connection over loopback with this congestion control, which sends all the time. For each line
of input it prints the connection's state as JSON. At the end of its input it closes the connection, and exits with 1 if a
byte was lost."""
import json
import socket
import sys
import threading
import time

CHUNK = bytes(8192)
PAUSE = 0.005  # seconds between two chunks


class Receiver(threading.Thread):
    def __init__(self, connection):
        super().__init__(daemon=True)
        self.connection, self.bytes, self.longest_gap = connection, 0, 0.0

    def run(self):
        last = time.monotonic()
        while got := self.connection.recv(1 << 16):
            now = time.monotonic()
            self.bytes += len(got)
            self.longest_gap = max(self.longest_gap, now - last)
            last = now


class Sender(threading.Thread):
    def __init__(self, connection):
        super().__init__(daemon=True)
        self.connection, self.bytes, self.goes_on = connection, 0, True

    def run(self):
        while self.goes_on:
            self.connection.sendall(CHUNK)
            self.bytes += len(CHUNK)
            time.sleep(PAUSE)
        self.connection.shutdown(socket.SHUT_WR)


def main():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
        connection.connect(server.getsockname())
        with server.accept()[0] as accepted:
            receiver, sender = Receiver(accepted), Sender(connection)
            receiver.start()
            sender.start()
            for _ in sys.stdin:
                name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
                now = {"congestion_control": name, "bytes": receiver.bytes, "longest_gap_s": receiver.longest_gap}
                print(json.dumps(now), flush=True)
                receiver.longest_gap = 0.0
            sender.goes_on = False
            sender.join()
            receiver.join()
    sys.exit(receiver.bytes != sender.bytes)


main()
