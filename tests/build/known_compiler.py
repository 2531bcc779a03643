# SPDX-License-Identifier: MIT
"""Build folders of CMake that begin with what an earlier one has found out about the compiler: five sixths of a configuration."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from pathlib import Path

WORKS = "-DCMAKE_C_COMPILER_WORKS=1"


def begin_build(folder: Path, generator: str, *words: str) -> None:
    """Writes a build folder, if there is none, as if CMake had looked for the C compiler there once, given the same words."""
    if not folder.exists():
        for name, text in _found(generator, words).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


@functools.cache
def _found(generator: str, words: tuple[str, ...]) -> dict[str, str]:
    """The files that say which compiler there is; they name no build folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES C)\n")
        command = ["cmake", "-S", folder, "-B", folder / "build", "-G", generator, WORKS, *words]
        subprocess.run(command, check=True, capture_output=True)
        build = folder / "build"
        texts = {str(path.relative_to(build)): path.read_text() for path in build.glob("CMakeFiles/*/CMake*.cmake")}
        cache = (build / "CMakeCache.txt").read_text().splitlines()
    entries = [line for line in cache if re.match(r"[\w-]+:", line) and name not in line]
    return {**texts, "CMakeCache.txt": "\n".join(entries) + "\n"}
