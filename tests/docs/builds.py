# SPDX-License-Identifier: MIT
"""The lines for SCons and CMake on the pages: all are read by one SCons and by one CMake, each in a folder of its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from aidge_build.base.installed import cmake_folder
from tests.build.checkout import run_in, scons_in
from tests.build.known_compiler import begin_build
from tests.docs.blocks import Block
from tests.served import served

READ_BY_SCONS = re.compile(r"\benv\.|\bEnvironment\(")
SCONS = """import aidge_build
import glob, os
from SCons.Script import *
FLAGS = ["-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-O2"]
env = Environment(tools=["gcc", "gnulink"], ENV=os.environ, CC="arm-none-eabi-gcc", PROGSUFFIX=".elf")
env.Append(CCFLAGS=FLAGS, LINKFLAGS=FLAGS)
env.Tool("aidge", toolpath=[aidge_build.scons_toolpath()])
"""
APP = """kws = env.AidgeModel("kws", "models/kws.onnx", out="models", board="stm32f7")
app = env.Program("app.elf", ["main.c", kws])
"""
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(pages C)
find_package(aidge_build CONFIG REQUIRED)
"""
FIND = "find_package(aidge_build CONFIG REQUIRED)\n"
CMAKE_APP = "add_executable(app main.c)\n"


def is_for_scons(block: Block) -> bool:
    return block.language == "python" and bool(READ_BY_SCONS.search(block.text))


def folder_of(block: Block) -> str:
    return re.sub(r"\W", "_", block.where)


def read_by_scons(project: Path, folder: Path, found: list[Block]) -> str:
    """What `scons -n` says of all blocks: the commands that their lines would run."""
    folder.mkdir()
    lines = []
    for block in found:
        place = folder / folder_of(block)
        shutil.copytree(project, place)
        has_app = not re.search(r"(?<![\"'])\bapp\b", block.text) or re.search(r"^app = ", block.text, re.MULTILINE)
        known = "" if has_app else APP
        (place / "SConscript").write_text(SCONS + known + block.text)
        lines.append(f'SConscript("{place.name}/SConscript")')
    (folder / "SConstruct").write_text("\n".join(lines) + "\n")
    return scons_in(folder, "-n")


def configure_by_cmake(project: Path, folder: Path, block: Block) -> None:
    """CMake reads the block in a project of its own."""
    shutil.copytree(project, folder)
    app = CMAKE_APP if re.search(r"\bapp\b", block.text) and "add_executable(app" not in block.text else ""
    head = "" if "cmake_minimum_required" in block.text else CMAKE
    (folder / "CMakeLists.txt").write_text(head.replace(FIND, "" if FIND in block.text else FIND) + app + block.text)
    begin_build(folder / "out", "Ninja")
    words = (f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={';'.join(served('aidge_build'))}")
    run_in(folder, "cmake", "-S.", "-Bout", "-GNinja", *words)
