# SPDX-License-Identifier: MIT
"""The same commit gives the same bits: elsewhere, at another time, for another user, with another number of jobs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.checkout import copy_of_checkout
from tests.programs import needs_cross_compiler

# Name of the folder, what scons is told, and the surroundings.
HERE = ("one", ["-j1"], {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C", "HOME": "/nowhere", "umask": "022"})
ELSEWHERE = (
    "änother $HOME place",
    ["-j16"],
    {"PYTHONHASHSEED": "99", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "USER": "somebody", "umask": "077"},
)


def build(folder: Path, words: list[str], surroundings: dict[str, str]) -> str:
    variables = {**os.environ, **surroundings}
    done = subprocess.run(
        [sys.executable, "-m", "SCons", "-Q", *words],
        cwd=folder,
        env=variables,
        umask=int(variables.pop("umask"), 8),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def made(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but what SCons keeps for itself."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".sconsign")
    }


@pytest.mark.requirement("G1")
@needs_cross_compiler
def test_every_file_of_a_build_is_the_same_in_another_checkout_and_comes_from_a_shared_cache(command, tmp_path):
    results = []
    cache = f"cache={tmp_path / 'cache'}"
    for (name, words, surroundings), more in ((HERE, [cache]), (ELSEWHERE, [])):
        folder = copy_of_checkout(tmp_path / name)
        before = set(folder.rglob("*"))
        build(folder, ["board=stm32f7", *words, *more], surroundings)
        written = {path.relative_to(folder).parts for path in set(folder.rglob("*")) - before}
        assert {parts for parts in written if parts[0] != "build" and "__pycache__" not in parts} == set()
        results.append(made(folder / "build"))
    endings = {path.rsplit(".", 1)[-1] for path in results[0]}
    assert endings >= {"c", "h", "o", "elf", "json", "ld", "map"}
    assert sorted(results[0]) == sorted(results[1])
    assert [path for path in results[0] if results[0][path] != results[1][path]] == []

    name, words, surroundings = ELSEWHERE
    shutil.rmtree(tmp_path / name / "build")
    output = build(tmp_path / name, ["board=stm32f7", cache, *words], surroundings)
    steps = {line.split()[0] for line in output.splitlines() if not line.startswith(" ")}
    assert "Retrieved" in steps and not steps & {"AIDGE", "CC", "LINK", "SCRIPT"}, output


MODEL_IN_C = "kws = env.AidgeModel('kws', 'kws.onnx')\napp = env.Program('app.elf', ['main.c', env.StaticLibrary('kws', kws)])\n"


@pytest.mark.parametrize("flags", [["-g"], ["-g3", "-O2", "-flto"]], ids=["debug", "lto"])
def test_a_firmware_with_the_flags_of_the_readme_is_the_same_at_another_place(project, tmp_path, flags):
    programs = []
    for name in ("here", "somewhere else"):
        other = type(project)(tmp_path / name)
        for file in ("main.c", "kws.onnx"):
            other.write(file, project.read(file))
        other.sconstruct(
            "env.Tool('ar')\nplace = ['$(', '-ffile-prefix-map=%s=.' % Dir('#').abspath, '$)']\n"
            f"env.Append(CCFLAGS={flags} + place, LINKFLAGS={flags} + place + ['-Wl,--build-id=none'])\n{MODEL_IN_C}"
        )
        other.build()
        kinds = ("*.elf",) if "-flto" in flags else ("*.elf", "*.o", "*.a")
        programs.append([path.read_bytes() for kind in kinds for path in sorted(other.folder.glob(kind))])
    assert programs[0] == programs[1] and len(programs[0]) == (1 if "-flto" in flags else 5)
