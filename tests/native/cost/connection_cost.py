#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
What a connection of bpf_bbr and of bpf_bbr3 costs the host beside its ACKs: kernel memory of a pair of sockets, CPU time of a
short connection, the same while `bbrmon stream` watches it, and of loading. Prints each beside that of the kernel's reno, and the
ratio. Run it as root:

    tests/native/cost/connection_cost.py [CONNECTIONS [RUNS]]
"""
import argparse
import ctypes
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLONE_NEWNET = 0x40000000
SHORT = 1500  # short connections in a run
PEER = "reno"


def slab_bytes():
    return 1024 * int(re.search(r"^Slab: *(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.MULTILINE)[1])


def connect(listener, name):
    """A pair of sockets. The sender's congestion control has the name, and has sent a byte."""
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    sender.connect(listener.getsockname())
    receiver, _ = listener.accept()
    sender.send(b"x")
    receiver.recv(1)
    return sender, receiver


def memory(listener, name, connections):
    """Bytes of slab for each pair."""
    time.sleep(1)  # what was freed is given back after a grace period
    before = slab_bytes()
    pairs = [connect(listener, name) for _ in range(connections)]
    return (slab_bytes() - before) / len(pairs)


def short_us(listener, name):
    """CPU time of a short connection, from connect() to both close()."""
    begin = time.process_time()
    for _ in range(SHORT):
        for end in connect(listener, name):
            end.close()
    return (time.process_time() - begin) / SHORT * 1e6


def watched_us(listener, name):
    """The same while bbrmon watches it, which sees a begin and an end of each."""
    with subprocess.Popen([ROOT / "build/bbrmon", "stream", "--name", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as monitor:
        try:
            time.sleep(1)  # until it watches
            return short_us(listener, name)
        finally:
            monitor.terminate()


def load(algorithm):
    """Loads it under a name of its own. Returns the name and the CPU seconds in the kernel."""
    name = f"cost_{os.getpid()}"[:13] + algorithm[3:]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
    subprocess.run([ROOT / "build/bbrctl", "load", "--name", name, "--algorithm", algorithm], check=True, stdout=subprocess.DEVNULL)
    return name, resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime - before


def unload(name):
    subprocess.run([ROOT / "build/bbrctl", "unload", "--name", name], check=True, stdout=subprocess.DEVNULL)


def measure(connections, runs):
    """algorithm or PEER -> (bytes, microseconds, how many times that if it is watched, CPU seconds of load): the medians of the runs
    in turns. Nobody watches PEER."""
    found = {name: ([], [], [], []) for name in (PEER, "bbr", "bbr3")}
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        for _ in range(runs):
            for algorithm, figures in found.items():
                name, cpu = (PEER, 0) if algorithm == PEER else load(algorithm)
                try:
                    short_us(listener, name)  # what is allocated for the first time
                    size, us = memory(listener, name, connections), short_us(listener, name)
                    watched = 1 if algorithm == PEER else watched_us(listener, name) / us
                    for figure, value in zip(figures, (size, us, watched, cpu)):
                        figure.append(value)
                finally:
                    if algorithm != PEER:
                        unload(name)
    return {name: [statistics.median(values) for values in figures] for name, figures in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("connections", nargs="?", type=int, default=4000)
    parser.add_argument("runs", nargs="?", type=int, default=5)
    args = parser.parse_args()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "a network namespace of its own")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    found = measure(args.connections, args.runs)
    print(f"{'':8}{'kB a pair':>11}{'x reno':>8}{'short, us':>11}{'x reno':>8}{'watched':>9}{'load, s':>9}")
    for name, (size, us, watched, cpu) in found.items():
        print(f"{name:8}{size / 1000:11.2f}{size / found[PEER][0]:8.2f}{us:11.1f}{us / found[PEER][1]:8.2f}{watched:9.2f}{cpu:9.2f}")


if __name__ == "__main__":
    main()
