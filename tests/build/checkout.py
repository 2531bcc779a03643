# SPDX-License-Identifier: MIT
"""Copies of this checkout and of its examples, as another machine would have them, and commands in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.served import scons, served_python

ROOT = Path(__file__).resolve().parents[2]


def copy_of_checkout(folder: Path, *, compiled: bool = True) -> Path:
    """The files that git knows, as they are now; if `compiled`, with what Python keeps of the package's modules."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for kept in (ROOT / "aidge_build").rglob("__pycache__") if compiled else ():
        shutil.copytree(kept, folder / kept.relative_to(ROOT), dirs_exist_ok=True)
    return folder


def copy_of_example(name: str, folder: Path) -> Path:
    """What its user would copy: not what somebody has built there."""
    ignored = shutil.ignore_patterns("build", ".*", "__pycache__")
    return shutil.copytree(ROOT / "examples" / name, folder / name, ignore=ignored)


def scons_in(folder: Path, *words: object) -> str:
    """What `scons -Q words...` prints there; it must end well. The generator is a fork of a process that has loaded it."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "AIDGE_TEST_PYTHON": served_python()}
    exit_code, printed = scons(folder, *map(str, words), env=variables)
    assert exit_code == 0, printed
    return printed


def run_in(folder: Path, *words: object) -> str:
    """What the command prints there; it must end well, and finds this checkout's package."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
