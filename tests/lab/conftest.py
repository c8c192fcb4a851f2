# SPDX-License-Identifier: GPL-2.0-only
"""What the lab leaves is read with what the tests of the running kernel have for that."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "native"))
