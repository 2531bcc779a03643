# SPDX-License-Identifier: MIT
"""`./sconsw conformance packages`: packages in the hands of the ecosystems' own tools, those that are on this machine; what was
skipped is listed with what it lacks."""

from __future__ import annotations

import os
import sys

import pytest

if __name__ == "__main__":
    os.environ["AIDGE_STRESS"] = "1"
    sys.exit(pytest.main(["-q", "-rs", "tests/target/test_package_tools.py", *sys.argv[1:]]))
