# SPDX-License-Identifier: GPL-2.0-only
"""
The command lines of a document, typed in a guest in the order in which they stand, print what the document shows. Ids, times and
versions differ; "..." stands for lines that are left out.
"""
import pathlib
import re

import pytest

from test_lab import _typed

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the reader's machine has before the first command.
BEFORE = ["bbrctl unload", "mkdir -p /sys/fs/cgroup/system.slice/nginx.service /sys/fs/cgroup/system.slice/backup.service",
          "mkdir -p /var/lib/bpf-bbr", "ip netns add w-snd", "cd /tmp || cd /"]
# What needs connections, another machine or a build folder. Their outputs are not compared.
ELSEWHERE = re.compile(r"bbrctl migrate|.* --migrate |bpftool|iperf3|ip route|sysctl|bbrmon")
VARIES = [(r"map id \d+( to \d+)?", "map id N"), (r"\d\d:\d\d:\d\d", "TIME"), (r"from [\d.]+\w* to [\d.]+\w*", "from V to V"),
          (r"^(\S+ +)\d+( +\d+ +\d+ +\d+ +\d+ +TIME)", r"\1ID\2"), (r"(bbr3?) [\d.]+\w*$", r"\1 V"),
          (r"/sys/fs/cgroup/unified/", "/sys/fs/cgroup/"), (r"^(\S+) +ID", r"\1 ID")]


def transcript(path):
    """(command, lines that it prints) in their order."""
    found, is_output = [], False
    for line in path.read_text().splitlines():
        if re.match("    [#$] ", line):
            found.append((line[6:], []))
            is_output = True
        elif line.startswith("    ") and is_output:
            found[-1][1].append(line[4:])
        elif line:
            is_output = False
    return found


def plain(line):
    for pattern, by in VARIES:
        line = re.sub(pattern, by, line.rstrip())
    return line


def is_shown(shown, printed):
    """True if the document shows what was printed."""
    if "..." in shown:
        at = shown.index("...")
        return printed[:at] == shown[:at]
    return printed == shown


@pytest.mark.parametrize("document, least", [("docs/tuning.md", 20), ("README.md", 3)])
def test_a_transcript(document, least):
    steps = [(command, shown) for command, shown in transcript(ROOT / document) if not ELSEWHERE.match(command)]
    assert len(steps) >= least
    lines = ["stty -echo cols 250", "PS1=", *(f"{{ {line}; }} >/dev/null 2>&1" for line in BEFORE)]
    for i, (command, _) in enumerate(steps):
        lines += [f"echo; echo @@{i}", command]
    status, text = _typed(["shell", "fig5"], "\r".join([*lines, "echo; echo @@end", "exit", ""]))
    assert status == 0, text
    printed = {}
    for part in re.split(r"^@@", text.replace("\r", ""), flags=re.M)[1:]:
        number, _, rest = part.partition("\n")
        printed[number] = rest.rstrip("\n").splitlines()
    wrong = []
    for i, (command, shown) in enumerate(steps):
        now = [plain(line) for line in printed.get(str(i), ["nothing"])]
        if not is_shown([plain(line) for line in shown], now):
            wrong.append("\n".join([f"# {command}", *now, "-- the document has", *map(plain, shown)]))
    assert not wrong, "\n\n".join(wrong)


def test_a_wrong_transcript_is_found(tmp_path):
    path = tmp_path / "doc.md"
    path.write_text("text\n\n    # one\n    a 1\n    ...\n    # two >file\n\nmore\n\n    no command\n")
    assert transcript(path) == [("one", ["a 1", "..."]), ("two >file", [])]
    assert is_shown(["a", "..."], ["a", "b"]) and not is_shown(["a", "..."], ["b"]) and not is_shown(["a"], ["a", "b"])
