# SPDX-License-Identifier: MIT
"""The wheel is the same tool: kernels, boards and the SCons tool are in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from aidge_build.installed import board_folder, cmake_folder, kernel_folder, scons_toolpath
from tests.build.checkout import ROOT, copy_of_checkout

PROBE = (
    "import aidge_build, json; from aidge_build import installed as i; from aidge_build.boards import "
    "list_boards; print(json.dumps("
    "[aidge_build.__file__, str(i.kernel_folder()), str(i.board_folder()), aidge_build.scons_toolpath(), list_boards()]))"
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the unpacked wheel, made from a clone without build litter."""
    pytest.importorskip("setuptools")
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    folder = tmp_path_factory.mktemp("wheel")
    copy_of_checkout(folder / "source")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--disable-pip-version-check",
            "-w",
            folder,
            folder / "source",
        ],
        check=True,
    )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site-packages")
    return folder / "site-packages"


def probe(package: Path) -> list:
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_the_wheel_holds_every_data_file_of_the_checkout(installed):
    for folder, inside in (
        (kernel_folder(), "kernels"),
        (board_folder(), "boards"),
        (Path(scons_toolpath()), "site_scons/site_tools"),
    ):
        tracked = (
            subprocess.run(["git", "ls-files", "-z", "."], cwd=folder, capture_output=True, check=True)
            .stdout.decode()
            .split("\0")
        )
        for name in filter(None, tracked):
            if (folder / name).is_file():
                assert (installed / "aidge_build" / "data" / inside / name).read_bytes() == (folder / name).read_bytes(), name


def test_the_wheel_holds_the_cmake_package(installed):
    for path in cmake_folder().iterdir():
        assert (installed / "aidge_build" / "cmake" / path.name).read_bytes() == path.read_bytes()


def test_the_installed_package_finds_its_own_data(installed):
    where, kernels, boards, toolpath, names = probe(installed)
    assert all(Path(path).is_relative_to(installed) for path in (where, kernels, boards, toolpath))
    assert "stm32f7" in names and (Path(toolpath) / "aidge.py").is_file()


def test_importing_the_package_imports_nothing_else_of_it():
    code = (
        "import sys, aidge_build; print(sorted(name for name in sys.modules if name.split('.')[0] in "
        "{'aidge_build', 'numpy', 'onnx'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['aidge_build']"
