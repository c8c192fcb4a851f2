#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What check_boot.py runs in its machine.
guest.py connection FILE: a transfer over loopback while FILE exists. Prints the congestion control of both ends, and whether
the bytes arrived as they were sent.
guest.py asking NAME FILE: sets NAME on a socket while FILE exists, and reads the default of a new one. Prints how often, and
how often NAME was missing or not the default.
Both print "begun" once they have begun.
guest.py serve: accepts connections at SERVICE_PORT and keeps them.
guest.py service FILE ADDRESS[=NAME]...: a service that keeps a connection to each address, for which it may choose NAME. Writes into
FILE what each uses once all are there.
They use only modules of python3-minimal."""
import itertools
import os
import socket
import sys
import threading
import time

BLOCK = bytes(range(256)) * 64
SO_MAX_PACING_RATE, RATE_BYTES_S = 47, 4_000_000  # the machine has other things to do
PAUSE_S = 0.001
SERVICE_PORT = 5001


def congestion(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()


def numbered(number):
    return number.to_bytes(8, "little") + BLOCK


def send(sock, file):
    for number in itertools.count():
        if not os.path.exists(file):
            break
        sock.sendall(numbered(number))
    sock.shutdown(socket.SHUT_WR)


def connection(file):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        client.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, RATE_BYTES_S)
        server = listener.accept()[0]
    sender = threading.Thread(target=send, args=(client, file))
    sender.start()
    print("begun", flush=True)
    equal, blocks = True, 0
    with server.makefile("rb") as received:
        while block := received.read(8 + len(BLOCK)):
            equal = equal and block == numbered(blocks)
            blocks += 1
    sender.join()
    return {"congestion": [congestion(client), congestion(server)], "blocks": blocks, "equal": equal}


def asking(name, file):
    asked = missing = other_default = 0
    print("begun", flush=True)
    with socket.socket() as sock:
        while os.path.exists(file):
            asked += 1
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
            try:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            except FileNotFoundError:
                missing += 1
            with socket.socket() as new:
                other_default += congestion(new) != name
            time.sleep(PAUSE_S)
    return {"asked": asked, "missing": missing, "other_default": other_default}


def serve():
    with socket.create_server(("0.0.0.0", SERVICE_PORT)) as listener:
        kept = []
        while True:
            kept.append(listener.accept()[0])


def connected(address, name=""):
    """A connection. At boot there is no network yet. A route decides over what was chosen before it."""
    while True:
        sock = socket.socket()
        try:
            sock.connect((address, SERVICE_PORT))
            break
        except OSError:
            sock.close()
            time.sleep(0.2)
    if name:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    return sock


def service(file, *addresses):
    pairs = [address.partition("=") for address in addresses]
    kept = {address: connected(address, name) for address, _, name in pairs}
    with open(file + ".new", "w") as f:
        f.write(repr({address: congestion(sock) for address, sock in kept.items()}))
    os.rename(file + ".new", file)
    while True:
        time.sleep(3600)


VERBS = {"connection": connection, "asking": asking, "serve": serve, "service": service}
print(repr(VERBS[sys.argv[1]](*sys.argv[2:])))
