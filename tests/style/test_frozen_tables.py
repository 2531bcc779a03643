# SPDX-License-Identifier: MIT
"""Whoever makes a kernel faster does not change the judge: no commit changes a timing table and a kernel at once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES, KERNELS = "boards/cores/timing/", "kernels/"


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout


def changes_both(paths: list[str]) -> bool:
    """Whether timing tables and kernels are among the paths."""
    return all(any(path.startswith(folder) for path in paths) for folder in (TABLES, KERNELS))


def changes() -> dict[str, list[str]]:
    """The changed paths of each commit that changes a table, and of what is not committed yet."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("the history is read with git, and this is no clone")
    if git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("a shallow clone has no history")
    text = git("log", "--min-parents=1", "--format=%x00%h %s", "--name-only", "--full-diff", "--", TABLES)
    commits = [block.strip().splitlines() for block in text.split("\0") if block.strip()]
    return {lines[0]: lines[1:] for lines in commits} | {"not committed": git("diff", "--name-only", "HEAD").splitlines()}


def test_no_commit_changes_a_timing_table_and_a_kernel():
    assert [commit for commit, paths in changes().items() if changes_both(paths)] == []


def test_a_change_of_both_is_noticed():
    assert changes_both(["README.md", f"{TABLES}cortex-m4.toml", f"{KERNELS}cortexm/add_int8.py"])
    assert not changes_both([f"{TABLES}cortex-m4.toml", "aidge_build/prove/timing/table.py"])
    assert not changes_both([f"{KERNELS}cortexm/add_int8.py"])
