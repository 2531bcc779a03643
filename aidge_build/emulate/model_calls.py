# SPDX-License-Identifier: MIT
"""Calls the model in a linked program, as often as there are samples: its start-up code runs, its main does not."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from aidge_build.boards import Board, Region
from aidge_build.elf.image import read_image
from aidge_build.emulate.program import INSTRUCTION_LIMIT, NO_ADDRESS, Program
from aidge_build.errors import AidgeError, CheckFailed

# Where inputs and outputs lie: in a memory beside those of the board, so that nothing of the program is in its place.
_PLACES = (0x60000000, 0x70000000, 0x90000000, 0xA0000000)
_PAGE, _ALIGNMENT = 4096, 256  # of the longest line of a cache, too


def call_model(
    elf: Path, board: Board, run_symbol: str, samples: Sequence[Sequence[bytes]], output_bytes: Sequence[int]
) -> list[tuple[bytes, ...]]:
    """Calls `run_symbol(inputs..., outputs...)` for the stored bytes of each sample's inputs.

    AidgeError (RUN) for a board that Unicorn does not emulate and for a program without such a function; CheckFailed when it
    leaves the board's memories, faults, or returns another number than 0.
    """
    require_calls(board)
    from aidge_build.emulate.unicorn_machine import Machine

    with tempfile.TemporaryDirectory() as folder:
        program = Program(read_image(elf), board, Path(folder), (elf.stem,), False, run_symbol, (), INSTRUCTION_LIMIT)
        for symbol, address in ((run_symbol, program.run_address), ("main", program.main_address)):
            if address == NO_ADDRESS:
                raise AidgeError(
                    f"the program has no function {symbol}",
                    where=str(elf),
                    code="RUN",
                    hint="link it with its symbols, without -flto",
                )
        machine = Machine(program)
        try:
            sizes = [len(data) for data in samples[0]] + list(output_bytes)
            base, addresses = _places(board, sizes)
            machine.map(Region("SAMPLES", base, addresses[-1] - base, "ram", ()))
            machine.reach(program.main_address)
            found = []
            for sample in samples:
                for address, data in zip(addresses, sample):
                    machine.write(address, data)
                status = machine.call(program.run_address, addresses[:-1], program.main_address)
                if status:
                    raise CheckFailed(f"{run_symbol} returned {status}", where=str(elf), code="RUN")
                found.append(tuple(machine.read(address, size) for address, size in zip(addresses[len(sample) :], output_bytes)))
            return found
        finally:
            machine.semihosting.close()
            machine.release()


def require_calls(board: Board) -> None:
    """AidgeError (RUN) for a board on which functions cannot be called."""
    if board.emulator is None or board.emulator.kind != "unicorn":
        raise AidgeError(
            "functions of a linked program can only be called in Unicorn",
            where=f"board {board.name}",
            hint="leave out --elf: the model is then measured in a program of its own",
            code="RUN",
        )


def _places(board: Board, sizes: Sequence[int]) -> tuple[int, list[int]]:
    """The memory's origin, the address of each piece, and the memory's end."""
    offsets = [0]
    for size in sizes:
        offsets.append((offsets[-1] + size + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT)
    length = (offsets[-1] + _PAGE - 1) // _PAGE * _PAGE
    base = next(
        place for place in _PLACES if all(region.end <= place or place + length <= region.origin for region in board.regions)
    )
    return base, [*(base + offset for offset in offsets[:-1]), base + length]
