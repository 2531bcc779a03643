# SPDX-License-Identifier: MIT
"""Instructions and branches of linked code that vectors, and calls that must be refused, execute on an emulated core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aidge_build.base.errors import CheckFailed
from aidge_build.boards import Board
from aidge_build.contract.thumb.instruction import CONDITIONS
from aidge_build.plan.program import Program
from aidge_build.prove.elf import read_image
from aidge_build.prove.elf.start_up import START_UP_NAMES
from aidge_build.prove.timing.estimate import Cycles, Edge, Executed, Timing
from aidge_build.prove.timing.instructions import Instruction
from aidge_build.run.emulate import Counted, run_program
from aidge_build.run.emulate.estimate import program_timing
from aidge_build.run.toolchain import build_program
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import Vectors
from tools.safety.misuse import misuse

_JUMPS = ("cbz", "cbnz", *(f"b{condition}" for condition in CONDITIONS))
Place = tuple[str, int]  # a function and a distance from its begin


@dataclass(frozen=True)
class OnCore:
    """The instructions of a model and its kernels, and the number in each function that never ran; the ways of conditional jumps,
    and how many were taken."""

    instructions: int
    idle: Counter[str]
    ways: int
    taken: int


@dataclass(frozen=True)
class _Kept(Timing):
    """A timing that keeps the edges between blocks of instructions, and estimates nothing."""

    edges: list[Edge] = field(default_factory=list, repr=False)

    def cycles(self, executed: Executed, layers: Sequence[int]) -> tuple[Cycles | None, dict[int, Cycles]]:
        self.edges.extend(executed.edges)
        return None, {}


def measure_on(program: Program, board: Board, vectors: Vectors, folder: Path) -> OnCore:
    """Links the program twice, with the vectors and with the calls that must be refused, and counts what runs in either. The
    board has a core of Arm and an emulator."""
    runs = [execute(program, board, vectors, folder).elf, _misused(program, board, folder)]
    there: dict[Place, Instruction] = {}
    executed, taken = set[Place](), set[tuple[Place, bool]]()
    for elf in runs:
        begins, kept = _begins(elf, program.name), _timing(elf, board)
        result = run_program(elf, board, work_folder=folder, counted=Counted("main", timing=kept))
        if result.exit_code != 0:
            raise CheckFailed(f"ends with {result.exit_code}", where=str(elf), code="RUN")
        there |= {_place(begins, address): one for address, one in kept.instructions.items() if address in begins}
        executed |= {_place(begins, address) for address in _executed(kept, begins)}
        taken |= {(_place(begins, address), jumps) for address, jumps in _taken(kept) if address in begins}
    jumps = sum(one.mnemonic in _JUMPS for one in there.values())
    return OnCore(len(there), Counter(name for name, _ in there.keys() - executed), 2 * jumps, len(taken))


def _misused(program: Program, board: Board, folder: Path) -> Path:
    source = folder / "misuse.c"
    source.write_text(misuse(program))
    sources = [folder / program.code_file, folder / f"{program.name}_weights.c", source]
    return build_program(
        board,
        sources,
        folder / "misuse.elf",
        work_folder=folder / "misused",
        include_folders=[folder],
        extra_flags=(*program.compiler_flags, "-w"),
    )


def _timing(elf: Path, board: Board) -> _Kept:
    known = program_timing(elf, board)
    assert known is not None
    return _Kept(known.table, known.instructions)


def _begins(elf: Path, name: str) -> Mapping[int, tuple[str, int]]:
    """Returns the function of each address of the model and its kernels, and where it begins."""
    functions = [one for one in read_image(elf).symbols if one.kind == "function" and one.name.startswith((f"{name}_", "aidge_"))]
    return {
        address: (one.name, one.address & ~1)
        for one in functions
        if not one.name.startswith(START_UP_NAMES)
        for address in range(one.address & ~1, (one.address & ~1) + one.size_bytes, 2)
    }


def _place(begins: Mapping[int, tuple[str, int]], address: int) -> Place:
    name, begin = begins[address]
    return name, address - begin


def _executed(kept: _Kept, begins: Mapping[int, tuple[str, int]]) -> Iterator[int]:
    blocks = {(edge.address, edge.address + edge.size) for edge in kept.edges}
    return (at for begin, end in blocks for at in range(begin, end, 2) if at in begins and at in kept.instructions)


def _taken(kept: _Kept) -> Iterator[tuple[int, bool]]:
    """Yields the address of each conditional jump that ended a block, and whether it jumped."""
    ends = {one.next: one for one in kept.instructions.values() if one.mnemonic in _JUMPS}
    for edge in kept.edges:
        jump = ends.get(edge.origin + edge.from_size)
        if jump is not None and edge.address in (jump.next, jump.target):
            yield jump.address, edge.address != jump.next
