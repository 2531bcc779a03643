# SPDX-License-Identifier: MIT
"""The paths of the files that are no Python modules: next to the package in a checkout, inside it when installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def kernel_folder() -> Path:
    """The folder of the export libraries that come with the tool (`ref`, ...)."""
    return _find("kernels")


def board_folder() -> Path:
    """The folder of the boards that come with the tool."""
    return _find("boards")


def scons_toolpath() -> str:
    """The tool path of a SConstruct: `env.Tool('aidge', toolpath=[aidge_build.scons_toolpath()])`."""
    return str(_find("site_scons/site_tools"))


def cmake_folder() -> Path:
    """The folder of the CMake package: `-Daidge_build_DIR=$(aidge-build doctor --cmake-dir)`."""
    return _PACKAGE / "build" / "cmake"


def gdb_script() -> Path:
    """The commands for gdb: `gdb-multiarch -x "$(aidge-build doctor --gdb-script)" app.elf`."""
    return _find("integrations") / "gdb" / "aidge.py"


def integrations_folder() -> Path:
    """The folder of the adapters for gdb, make, PlatformIO, RT-Thread and Zephyr."""
    return _find("integrations")


def example_model() -> Path:
    """The model of a starter project that was given none: it reads handwritten digits."""
    return _find("examples/digits") / "digits.onnx"


def zoo_folder() -> Path:
    """The folder of the models that `zoo:NAME` means: a folder with a card for each."""
    return _find("examples/zoo")


def with_pages(text: str) -> str:
    """The text with the places of the pages that it names as docs/NAME.md: who installed a wheel has no checkout to look in."""
    folder = _PACKAGE / "data" / "docs"
    if "docs/" not in text or not folder.is_dir():
        return text
    return re.sub(r"(?<![\w./-])docs/([\w-]+\.md)", lambda page: str(folder / page[1]), text)


def own_files() -> list[str]:
    """Returns the files that this run uses: the loaded modules of the package, the templates, and the folder of operators."""
    modules = (
        getattr(module, "__file__", None) for name, module in sorted(sys.modules.items()) if name.split(".")[0] == "aidge_build"
    )
    templates = sorted(_PACKAGE.rglob("*.j2"))
    return [*filter(None, modules), *map(str, templates), str(_PACKAGE / "operators")]


def _find(folder: str) -> Path:
    inside = _PACKAGE / "data" / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder
