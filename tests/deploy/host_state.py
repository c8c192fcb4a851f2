# SPDX-License-Identifier: GPL-2.0-only
"""The state of this machine that a cluster on it could change, and must not: to compare before and after."""
import difflib
import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "package"))
import roots  # pylint: disable=wrong-import-position

# Not settings in fact: the kernel writes them.
COUNTERS = re.compile(r"fs\.(aio-nr|dentry-state|file-nr|inode-nr|inode-state|quota\.(?!warnings).*)|"
                      r"kernel\.(hung_task_detect_count|ns_last_pid|perf_event_max_sample_rate|pty\.nr|random\.(uuid|entropy_avail))|"
                      r"net\.netfilter\.nf_conntrack_count")
# Runs the programs of a root. None of them makes tables; rules come without their counters.
RULES = """
mount --rbind /proc "$1/proc"
for command in "nft --stateless list ruleset" iptables-legacy-save ip6tables-legacy-save; do
	chroot "$1" $command 2>&1 | grep -v '^# \\(Generated\\|Completed\\)' || true
done
"""


def without_counters(settings):
    """The lines of sysctl without the kernel's own."""
    return [line for line in settings if not COUNTERS.fullmatch(line.partition(" = ")[0])]


def _settings():
    done = roots.run(["sh", "-c", "sysctl -a 2>/dev/null || true"])
    return without_counters(done.splitlines())


def _cgroups():
    tops = re.findall(r"^\S+ (\S+) cgroup2? ", pathlib.Path("/proc/mounts").read_text(), re.M)
    return sorted(folder for top in tops for folder, _, _ in os.walk(top))


def _bpffs():
    return sorted(f"{folder}/{name}" for folder, folders, files in os.walk("/sys/fs/bpf") for name in [*folders, *files])


def _modules():
    path = pathlib.Path("/proc/modules")
    return sorted(line.split()[0] for line in path.read_text().splitlines()) if path.exists() else []


def read(root):
    """The state as lines by subject. root: a root of Debian with nft and iptables."""
    def lines(*command):
        return roots.run(command).splitlines()

    return {
        "settings": _settings(),
        "rules": lines("unshare", "--mount", "sh", "-euc", RULES, "sh", root.path),
        "struct_ops": lines("bpftool", "struct_ops", "list"),
        "bpffs": _bpffs(),
        "cgroups": _cgroups(),
        "mounts": pathlib.Path("/proc/self/mountinfo").read_text().splitlines(),
        "links": [re.sub(r" state \w+| qlen \d+", "", line) for line in lines("ip", "-oneline", "link")],
        "addresses": [re.sub(r"valid_lft \w+|preferred_lft \w+", "", line) for line in lines("ip", "-oneline", "address")],
        "routes": lines("ip", "route", "show", "table", "all"),
        "queues": lines("tc", "qdisc"),
        "modules": _modules(),
    }


def differences(before, after):
    """The lines that are only in one of both; none if all is as it was."""
    return [f"{what}: {line}" for what, lines in before.items()
            for line in list(difflib.unified_diff(lines, after[what], lineterm="", n=0))[2:] if line[0] in "-+"]


def processes_in(root):
    """The ids of the processes whose root is in a folder."""
    def is_in(process):
        try:
            return os.readlink(process / "root").startswith(str(root))
        except OSError:  # it has ended, or is a kernel thread
            return False
    return [int(process.name) for process in pathlib.Path("/proc").glob("[0-9]*") if is_in(process)]
