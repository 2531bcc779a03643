# SPDX-License-Identifier: MIT
"""Compares the core of a program with the core that a model's code was generated for, and both with the board."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from aidge_build.boards.board import Board
from aidge_build.boards.cores import FPU, FPU_NAME, MVE, Core, find_core, runs_code_of
from aidge_build.boards.instruction_sets import instruction_set
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.findings import ERROR, NOTE, WARNING, Finding
from aidge_build.prove.elf.image import Image

_OTHER = "name the board of this program; or build the program for this board"
# RISC-V's extensions with a letter; V is of any size.
_LETTERS = {"i": "32 registers", **{name: name.upper() for name in "mafd"}, "zca": "C", "zve32x": "V"}


def check_machine(image: Image, claim: Claim, folders: Sequence[Path] = ()) -> Iterator[Finding]:
    """Yields MEM13. The program's architecture is the largest of all its objects: the linker writes it into the attributes.

    Generated constants and code are little-endian. `folders` are folders of boards, which may define cores."""
    if image.is_big_endian:
        yield Finding(
            "MEM13",
            ERROR,
            f"the code and the constants of model {claim.model} are little-endian, the program is big-endian",
            "compile without -mbig-endian",
        )
    core = find_core(claim.cpu.partition("+")[0], folders)
    if core is None:
        return
    what = f"model {claim.model} was generated for {claim.cpu}" + (f" ({core.architecture})" if core.architecture else "")
    unused = f"{what}, the program is for {image.architecture}: kernels that are made for it are not used"
    if core.is_native or core.is_portable:
        if image.architecture:
            yield Finding("MEM13", WARNING, unused)
    elif image.machine not in core.machines:
        yield Finding("MEM13", ERROR, f"model {claim.model} was generated for {claim.cpu}, the program is for {image.machine}")
    elif image.has_64_bits != (core.pointer_bytes == 8):
        bits = 64 if image.has_64_bits else 32
        yield Finding(
            "MEM13", ERROR, f"model {claim.model} was generated for {claim.cpu}, the program has pointers of {bits} bits"
        )
    elif core.architecture and image.architecture:
        if not runs_code_of(image.architecture, core.architecture, folders):
            yield Finding("MEM13", ERROR, f"{what}, the program is for {image.architecture}")
        elif image.architecture != core.architecture:
            yield Finding("MEM13", WARNING, unused)
        else:
            yield from _check_fpu(image, claim, core)


def _check_fpu(image: Image, claim: Claim, core: Core) -> Iterator[Finding]:
    """Yields MEM13 if program and model differ in the FPU: library functions take about eight times as many instructions."""
    if claim.features is None or image.units is None:
        return
    if FPU in claim.features and not image.units.fpu_version:
        yield Finding(
            "MEM13",
            ERROR,
            f"model {claim.model} was generated for {claim.cpu} with an FPU, the program is compiled without one: layers take "
            "many times the instructions",
            f"generate {claim.model} with --cpu={claim.cpu} and without --fpu (for a board: --fpu=none), or compile with "
            "-mfloat-abi=hard (or softfp)",
        )
    elif FPU not in claim.features and FPU in core.may_have and image.units.fpu_version:
        yield Finding(
            "MEM13",
            NOTE,
            f"model {claim.model} was generated for {claim.cpu} without an FPU, which the program uses: float layers are slower",
            f"generate {claim.model} with --fpu=auto",
        )


def check_board(image: Image, claims: Sequence[Claim], board: Board, folders: Sequence[Path] = ()) -> Iterator[Finding]:
    """Yields MEM13 if the program, or a model in it, is for another core than the board has, or uses units that the board
    lacks."""
    core = board.core
    is_run = image.architecture in core.runs and _version(image.architecture) == _version(core.architecture)
    if core.machines and image.machine not in core.machines:
        yield _other(f"the program is for {image.machine}, board {board.name} has {board.cpu}")
    elif image.architecture and core.runs and not is_run:
        yield _other(f"the program is for {image.architecture}, board {board.name} has {board.cpu} ({core.architecture})")
    elif missing := _missing_extensions(image, core):
        yield _other(f"the program is for {image.extensions}, board {board.name} has {board.cpu}, without {', '.join(missing)}")
    else:
        yield from (
            _other(f"the program uses {what}, board {board.name} has {has}", hint) for what, has, hint in _lacking(image, board)
        )
        for claim in claims:
            yield from _check_claimed(claim, board, folders)


def _missing_extensions(image: Image, core: Core) -> list[str]:
    """Returns RISC-V's letters that the program was compiled for and the core has not. Extensions with other names are not
    compared: a core's file names the ones that kernels and compiler use."""
    wanted, own = instruction_set(image.extensions), core.instruction_set
    if wanted is None or own is None:
        return []
    return [letter for name, letter in _LETTERS.items() if name in wanted.extensions - own.extensions]


def _version(architecture: str) -> str:
    """Returns the 7 of "v7E-M". Firmware does not run on a core of a later version, unlike an application: the system registers
    differ."""
    return re.split(r"\D", architecture[1:])[0]


def _other(text: str, hint: str = _OTHER) -> Finding:
    return Finding("MEM13", ERROR, text, hint)


def _lacking(image: Image, board: Board) -> Iterator[tuple[str, str, str]]:
    """Yields (unit that the program uses, unit that the board has, hint); the compiler derives an FPU "auto" from the core's
    name."""
    units, fpu = image.units, board.chip_fpu or board.fpu
    if units is None:
        return
    known = FPU_NAME.fullmatch(fpu)
    if units.fpu_version and FPU not in board.features and not board.chip_fpu:
        may_have = FPU in board.core.may_have
        yield "an FPU", "none", _if_there(board, f"fpv{units.fpu_version}-sp-d16", "-mfloat-abi=soft") if may_have else _OTHER
    elif known and units.fpu_version > int(known[1]):
        yield f"version {units.fpu_version} of the FPU's instructions", fpu, _OTHER
    elif known and known[2] and units.has_double:
        yield "an FPU in double precision", fpu, _if_there(board, f"fpv{known[1]}-d16", f"-mfpu={fpu}")
    if units.has_vectors and MVE not in board.features:
        yield "MVE", "none", _OTHER


def _if_there(board: Board, fpu: str, flag: str) -> str:
    """Returns the hint for firmware that may use more units of the chip than its board file names."""
    return (
        f'if the chip has it, say chip_fpu = "{fpu}" in a board file with extends = "{board.name}" (docs/howto-board.md); '
        f"else compile with {flag}, or name the board of this program"
    )


def _check_claimed(claim: Claim, board: Board, folders: Sequence[Path]) -> Iterator[Finding]:
    """Yields MEM13 for a model of another core: an error for a later core, with instructions that the board's core may lack;
    otherwise a note if both cores have one architecture."""
    core = find_core(claim.cpu.partition("+")[0], folders)
    if core is None or core.name == board.core.name or not core.architecture:
        return
    text = f"model {claim.model} was generated for {claim.cpu}, board {board.name} has {board.cpu}"
    if board.core.name in core.later_than:
        yield _other(text)
    elif core.architecture == board.core.architecture:
        yield Finding(
            "MEM13", NOTE, f"{text}: it runs there, with the kernels for {claim.cpu}", f"generate it with --board={board.name}"
        )
