# SPDX-License-Identifier: GPL-2.0-only
"""
What it costs to watch every ACK or round: watching_cost.py CONNECTIONS RATE SECONDS WORDS, with the words of bbrmon: stream -j, or
record --every ack -o FILE. It makes its own namespaces and instance, watches that many busy connections of this rate, and prints
what bbrmon saw and dropped, its CPU time and its memory.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import busy
import netns
import system

ROOT = pathlib.Path(__file__).resolve().parents[3]


def measure(link, name, count, seconds, words):
    with busy.busy_connections(link, name, count), open("/dev/null", "w") as null:
        time.sleep(5)  # until all are under way
        process = subprocess.Popen([ROOT / "build/bbrmon", *words, "--name", name],
                                   stdout=null, stderr=subprocess.PIPE, text=True)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        summary = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.stderr.close()
    assert os.waitstatus_to_exitcode(status) == 0
    return summary, usage


def main(count, rate, seconds, *words):
    name, seconds = f"{system.PREFIX}_m", float(seconds)
    with contextlib.ExitStack() as stack:
        spaces = netns.Namespace(), netns.Namespace()
        for ns in spaces:
            stack.callback(ns.delete)
        link = netns.Link(*spaces)
        system.run(ROOT / "build/bbrctl", "load", "--name", name, "--set", f"max_pacing_rate={rate}")
        stack.callback(system.run, ROOT / "build/bbrctl", "unload", "--name", name)
        summary, usage = measure(link, name, count, seconds, words)
    print(summary, end="")
    print(json.dumps({"user_s": round(usage.ru_utime, 2), "system_s": round(usage.ru_stime, 2),
                      "cpu_percent": round(100 * (usage.ru_utime + usage.ru_stime) / seconds, 1),
                      "max_rss_kib": usage.ru_maxrss}))


if __name__ == "__main__":
    main(*sys.argv[1:])
