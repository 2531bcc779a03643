# SPDX-License-Identifier: MIT
"""How the code looks and what its types say, by the tools whose settings stand in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "command, remedy",
    [
        (("ruff", "format", "--check", "."), "type: ruff format"),
        (("ruff", "check", "."), "ruff check --fix mends some of it"),
        (("mypy",), "the type of each name is what its uses say"),
    ],
    ids=["formatter", "linter", "types"],
)
def test_nothing_is_found_by_the(command, remedy):
    """The cache lies where every build of the checkout puts what it makes."""
    caches = ("--cache-dir", f"build/.{command[0]}_cache")
    done = subprocess.run([sys.executable, "-m", *command, *caches], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{remedy}\n{done.stdout[-6000:]}{done.stderr[-2000:]}"


def test_a_fault_of_each_kind_is_found(tmp_path):
    (tmp_path / "wrong.py").write_text("import os\nx: int = 'a'\ny = {  }\n")
    settings = ("--config", str(ROOT / "pyproject.toml"))
    for command in (("ruff", "format", "--check", *settings), ("ruff", "check", "--no-cache", *settings), ("mypy",)):
        done = subprocess.run(
            [sys.executable, "-m", *command, "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done.stdout + done.stderr
