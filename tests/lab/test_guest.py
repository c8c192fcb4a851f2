# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory itself: a run is a function of its inputs."""
import pytest

import guest
import kernels
import matrix

SCRIPT = """
flow -l 5001 &
sleep 0.1
flow -c 127.0.0.1 -p 5001 -C reno -m 20000 -i 20 send:500 pause:100 bytes:100000
echo data >/dev/ttyS1
date +%s
exit 3
"""


@pytest.fixture(scope="module")
def kernel():
    return kernels.find("6.12")


def image(kernel, script=SCRIPT):
    return guest.initramfs(kernel, script, programs=[matrix.BUILD / "flow"])


def test_same_inputs_same_bytes(kernel):
    assert image(kernel) == image(kernel)
    first, second = (guest.run(kernel, image(kernel)) for _ in range(2))
    assert first == second
    assert first.status == 3 and first.data == b"data\n"
    assert '"wrong_bytes":0' in first.console
    assert first.console.splitlines()[-1].startswith("17672256")  # the first of January 2026


def test_other_inputs_another_hash(kernel):
    short = "exit 0\n"
    one = guest.run(kernel, image(kernel, short))
    other = guest.run(kernel, image(kernel, short + "# a comment\n"))
    assert one.status == other.status == 0
    assert one.inputs != other.inputs


def test_a_guest_that_does_not_come_to_its_end(kernel):
    result = guest.run(kernel, image(kernel, "echo so far\npoweroff -f\nsleep 1000\n"))
    assert result.status == -1
    assert result.console.startswith("so far")


def test_unknown_kernel():
    with pytest.raises(kernels.LabError, match="known are 5.10, 6.1"):
        kernels.find("5.4")


def test_own_kernel(kernel):
    own = kernels.find(f"{kernel.image}:{kernel.modules}")
    assert (own.image, own.modules) == (kernel.image, kernel.modules)
