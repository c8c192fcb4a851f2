# SPDX-License-Identifier: GPL-2.0-only
"""
One end of a connection as a separate process, given to `python3 -c`, so that it runs where the tests' files
cannot be read. It prints one JSON object.

    receive                          prints its port first
    send ADDRESS PORT CC SIZE
"""
import hashlib
import json
import os
import random
import socket
import sys

BLOCK = 1 << 20


def receive():
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    sock = listener.accept()[0]
    digest, received = hashlib.sha256(), 0
    buffer = memoryview(bytearray(BLOCK))
    while n := sock.recv_into(buffer):
        digest.update(buffer[:n])
        received += n
    return {"bytes": received, "sha256": digest.hexdigest()}


def send(address, port, cc, size):
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    sock.connect((address, int(port)))
    block = bytearray(random.Random(2).randbytes(BLOCK))
    digest, left, number = hashlib.sha256(), int(size), 0
    while left:
        block[:8] = number.to_bytes(8, "big")  # no two blocks are the same
        part = memoryview(block)[:left]
        sock.sendall(part)
        digest.update(part)
        left -= len(part)
        number += 1
    used = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
    sock.close()
    return {"bytes": int(size), "sha256": digest.hexdigest(), "cc": used, "uid": os.geteuid(),
            "capabilities": capabilities()}


def capabilities():
    with open("/proc/self/status") as f:
        return int(dict(line.split(":\t") for line in f if ":\t" in line)["CapEff"], 16)


if __name__ == "__main__":
    print(json.dumps({"receive": receive, "send": send}[sys.argv[1]](*sys.argv[2:])), flush=True)
