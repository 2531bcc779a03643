# SPDX-License-Identifier: MIT
"""Functions of the verbs that read a linked program: its memories, the bound of its stack, and the owners of its code."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from aidge_build.base.errors import AidgeError, CheckFailed, MissingTool
from aidge_build.base.options import CHECK, add_options, options_named
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.boards import Region, load_board
from aidge_build.boards.cores import NO_STACK, THUMB, Core, core_of_machine
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf import Claim, Image, StackBound, StackUse
from aidge_build.prove.elf.findings import ERROR
from aidge_build.prove.elf.identity_proof import check_identity
from aidge_build.prove.elf.link_map import describes, memories_of, undeclared_memories
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.stack_place import stack_begin
from aidge_build.run.toolchain import disassemble
from aidge_build.run.toolchain.program_stack import program_stack


def add_memory_arguments(parser: argparse.ArgumentParser) -> None:
    """`--board`, or `--region` for each memory, or `--map`."""
    add_options(parser, options_named(CHECK, "board", "region", "map", "board-path"))


def add_agreed_arguments(parser: argparse.ArgumentParser) -> None:
    """`--shares` and `--weights-in`: what the check of a program takes for granted; `--dma-arrays`: what it cannot know."""
    add_options(parser, options_named(CHECK, "shares", "weights-in", "dma-arrays"))


def cache_line_of(arguments: argparse.Namespace) -> int | None:
    """The bytes of a line of the board's data cache; 0 where it has none, None where no board is named."""
    return load_board(arguments.board, arguments.board_path).dma_line if arguments.board else None


def add_objects_argument(parser: argparse.ArgumentParser) -> None:
    """`--objects`, once with several files or several times."""
    parser.add_argument(
        "--objects",
        action="extend",
        nargs="+",
        default=[],
        type=Path,
        metavar="FILE",
        help="object files of the models, to compare code and constants with the program (default: none)",
    )


@dataclass(frozen=True)
class Memories:
    """The memories that a program is compared with, and who says so; no regions where nobody does.

    A map tells the memories that the linker script names: bytes outside were put there by the script, too, or by the linker into
    memories that the script names in sections alone (`undeclared`). `silent_map` is a map of the program that names none.
    `link_map` is the text of the program's map, whoever says the memories; "" without one.
    """

    regions: tuple[Region, ...]
    source: str = ""
    are_all: bool = True
    silent_map: str = ""
    undeclared: tuple[str, ...] = ()
    link_map: str = field(default="", repr=False)


def memories(arguments: argparse.Namespace, image: Image) -> Memories:
    """Returns the memories of the board, of the command, or of the linker's map: `--map`, or a map in the program's folder."""
    if arguments.map and not arguments.board and not arguments.region:
        found = _of_map(Path(arguments.map), image)
        if found.silent_map:
            raise AidgeError(
                "its linker script names no memories", where=arguments.map, hint="name --board or --region", code="MAP"
            )
        return found
    beside = _beside(image)
    if arguments.board:
        regions = _with_script_names(load_board(arguments.board, arguments.board_path).regions, beside.regions)
        return Memories(regions, f"board {arguments.board}", link_map=beside.link_map)
    if arguments.region:
        return Memories(tuple(map(_parse_region, arguments.region)), "--region", link_map=beside.link_map)
    return beside


def _with_script_names(regions: Sequence[Region], scripted: Sequence[Region]) -> tuple[Region, ...]:
    """The regions of a board with the names that the linker script has for memories that begin at the same addresses."""
    names = {region.origin: region.name for region in scripted}
    return tuple(replace(region, script_name=names.get(region.origin, "")) for region in regions)


def _beside(image: Image) -> Memories:
    """Returns the memories of a map of this program in the same folder."""
    elf = Path(image.path)
    own_names = (f"{elf.name}.map", f"{elf.stem}.map")
    silent = Memories(())
    for path in sorted(elf.parent.glob("*.map"), key=lambda path: (path.name not in own_names, path.name)):
        try:
            found = _of_map(path, image)
        except AidgeError:
            continue  # of another program, or from before this link
        if not found.silent_map:
            return found
        silent = found
    return silent


def _of_map(path: Path, image: Image) -> Memories:
    text = read_regular(path, LARGEST_TEXT_BYTES, "MAP").decode(errors="replace")
    if not describes(text, image):
        raise AidgeError(
            "it is not the map of this program",
            where=str(path),
            hint=f"link with -Wl,-Map={path.name}; it must come from GNU ld",
            code="MAP",
        )
    regions, undeclared = memories_of(text, image), undeclared_memories(text)
    silent = "" if regions or undeclared else path.name
    return Memories(regions, "" if silent else path.name, silent != "", silent, undeclared, text)


def _parse_region(text: str) -> Region:
    name, _, numbers = text.partition("=")
    fields = numbers.split(",")
    try:
        origin, length, words = int(fields[0], 0), int(fields[1], 0), fields[2:]
        kind = words.pop(0) if words[:1] != ["normal"] and words else ""
        if not name or kind not in ("", "ram", "flash") or words not in ([], ["normal"]):
            raise ValueError
    except (ValueError, IndexError):
        raise AidgeError(
            f"'{text}' is not NAME=ORIGIN,LENGTH[,KIND][,normal]",
            where="--region",
            hint="--region FLASH=0x08000000,0x100000,flash, or --region SDRAM=0xC0000000,0x800000,ram,normal",
            code="USAGE",
        ) from None
    return Region(name, origin, length, kind, (), normal=bool(words))


def _computing(image: Image, claims: tuple[Claim, ...]) -> tuple[str, ...]:
    """Returns the linked functions of each model that compute; its first such function if none is linked."""
    found: list[str] = []
    for claim in claims:
        found += [name for name in claim.computing if image.symbol(name) is not None] or claim.computing[:1]
    return tuple(found)


def core_of(arguments: argparse.Namespace, image: Image) -> Core | None:
    """Returns the core of the board that the command names, if the program is for it, or else a core that runs such programs."""
    if arguments.board:
        core = load_board(arguments.board, arguments.board_path).core
        if image.machine in core.machines:
            return core
    return core_of_machine(image.machine, arguments.board_path)


def code_of(elf: Path, image: Image, core: Core | None) -> Code | None:
    """The code of a program; None where no tool of this machine reads it."""
    if core is None or core.stack != THUMB:
        return None
    try:
        return Code(image, read_disassembly(disassemble(elf, core)))
    except MissingTool:
        return None


def stack_of(elf: Path, image: Image, claims: tuple[Claim, ...], core: Core | None, *, required: bool) -> StackUse | None:
    """Returns the bounds of the stack; None for a computer's programs, where nobody counts the stack. `required`: or an error."""
    if core is None or core.stack == NO_STACK:
        if required:
            raise AidgeError(
                f"a stack bound needs a program for Cortex-M or RISC-V, this one is for {image.machine}",
                where=str(elf),
                code="STK02",
                hint="leave out the budget: for this machine measure it, with a stack that is filled with a pattern",
            )
        if core is not None and core.is_native:
            return None
        unread = StackBound(None, (), f"the program is for {image.machine}, code is read for Cortex-M and RISC-V alone")
        return StackUse(unread, {}, unread, None, is_read=False)
    try:
        return program_stack(image, core, _computing(image, claims))
    except MissingTool as error:
        if required:
            raise
        missing = StackBound(None, (), error.what)
        return StackUse(missing, {}, missing, None, begin=stack_begin(image))


def require_identity(image: Image, claim: Claim) -> None:
    """CheckFailed if the linked code is not the code of the claim: another header, or code of another generation."""
    for finding in check_identity(image, claim):
        if finding.severity == ERROR:
            raise CheckFailed(finding.text, where=image.path, code=finding.code, hint=finding.hint or "link it again")
