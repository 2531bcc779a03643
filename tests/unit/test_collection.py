# SPDX-License-Identifier: MIT
"""The tests of every folder are run: pytest's own settings leave out folders called `build`."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_no_folder_of_tests_is_left_out(pytestconfig):
    left_out = pytestconfig.getini("norecursedirs")
    folders = {path.parent for path in TESTS.rglob("test_*.py")}
    assert len(folders) > 8
    assert not [folder.name for folder in folders for pattern in left_out if fnmatch(folder.name, pattern)]
