# SPDX-License-Identifier: MIT
"""Compilers: the only caller of gcc and its companions."""

from __future__ import annotations

from aidge_build.run.toolchain.build import build_program, compile_sources, link_objects
from aidge_build.run.toolchain.compiler import Compiler, find_compiler, find_host_compiler
from aidge_build.run.toolchain.disassembler import disassemble
from aidge_build.run.toolchain.link_script import render_link_script, write_link_script

__all__ = [
    "Compiler",
    "build_program",
    "compile_sources",
    "disassemble",
    "find_compiler",
    "find_host_compiler",
    "link_objects",
    "render_link_script",
    "write_link_script",
]
