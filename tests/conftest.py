# SPDX-License-Identifier: GPL-2.0-only
"""
Two processes share the tests: one has those that load something into the running kernel, which must not see
each other's, the other one those that need no more than a CPU, most of them for emulated machines.
"""
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
RUNNING_KERNEL = {"native", "oracle"}


@pytest.hookimpl(tryfirst=True)  # pytest-xdist looks at the marks in the same hook
def pytest_collection_modifyitems(items):
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        item.add_marker(pytest.mark.xdist_group("running" if folder in RUNNING_KERNEL else "emulated"))
