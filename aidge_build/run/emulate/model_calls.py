# SPDX-License-Identifier: MIT
"""Calls the model in a linked program, as often as there are samples: in Unicorn after the start-up code of the program, which
runs up to main, and for RISC-V in QEMU without start-up code."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.boards import Board, Region
from aidge_build.build.emit.blob import SIZE_BYTE
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.claimed_call import ClaimedCall
from aidge_build.prove.elf.image import read_image
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT, Program
from aidge_build.run.emulate.qemu_calls import CalledInQemu, calls_in_qemu

if TYPE_CHECKING:
    from aidge_build.run.emulate.unicorn_machine import Machine as MachineOfUnicorn

    Machine = MachineOfUnicorn | CalledInQemu

# The buffers for inputs and outputs are in a memory of their own, which the board does not have, so that they overwrite nothing.
_PLACES = (0x60000000, 0x70000000, 0x90000000, 0xA0000000)
_NO_WEIGHTS = "the firmware binds weights from elsewhere: --block FILE binds your block"
_PAGE, _ALIGNMENT = 4096, 256  # of the longest line of a cache, too
_INSTANCE_BYTES, _PORT_BYTES = 4096, 128  # more than any instance has, and has for an input or output; the claim does not say it


@dataclass(frozen=True)
class Called:
    """The stored bytes of the outputs of one call, and its instructions."""

    outputs: tuple[bytes, ...]
    instructions: int


def call_claimed(
    elf: Path, board: Board, claim: Claim, samples: Sequence[Sequence[bytes]], block: bytes | None = None
) -> list[Called]:
    """Calls the model as its firmware does, knowing only its claim, with the stored bytes of the inputs of each sample. If the
    weights can be replaced, the call uses `block`, by default the block in the program.

    AidgeError (RUN) for a board on which no function can be called and for a program without such a function, (USAGE) for a model
    that cannot be called; CheckFailed when it leaves the board's memories, faults, or returns another number than 0.
    """
    with calling(elf, board, claim, block) as caller:
        return [caller.run(sample) for sample in samples]


@dataclass(frozen=True)
class Caller:
    """A model in a linked program that waits for calls. `places` are the addresses of its inputs and outputs, `given` the
    arguments of N_run."""

    machine: Machine
    program: Program
    calls: ClaimedCall
    places: Sequence[int]
    given: Sequence[int]
    counted: Callable[[], int]

    def run(self, sample: Sequence[bytes]) -> Called:
        """Calls N_run with the stored bytes of the inputs."""
        machine, program = self.machine, self.program
        for address, data in zip(self.places, sample):
            machine.write(address, data)
        before = self.counted()
        status = machine.call(program.run_address, self.given, program.main_address)
        _require_done(status, Path(program.image.path), program.run_symbol)
        outputs = zip(self.places[len(self.calls.inputs) :], self.calls.outputs)
        return Called(tuple(machine.read(address, one.size_bytes) for address, one in outputs), self.counted() - before)

    def call(self, name: str, *words: int) -> int:
        """Calls another function of the program, and returns its result."""
        return self.machine.call(_address(self.program, name), words, self.program.main_address)

    def write(self, symbol: str, first: int, data: bytes) -> None:
        """Puts bytes into a variable or constant, from its byte `first` on."""
        self.machine.write(_address(self.program, symbol) + first, data)


@contextlib.contextmanager
def calling(
    elf: Path, board: Board, claim: Claim, block: bytes | None = None, limit: int = INSTRUCTION_LIMIT
) -> Iterator[Caller]:
    """The model of a linked program, ready for calls of at most `limit` instructions together; otherwise as `call_claimed`."""
    calls = require_callable(claim, elf)
    ports = (*calls.inputs, *calls.outputs)
    run_symbol = f"{claim.model}_run"
    opened = _in_qemu if calls_in_qemu(board) else _at_main
    with opened(elf, board, run_symbol, limit) as (machine, program):
        counter = machine.counter()
        sizes = [one.size_bytes for one in ports if not one.symbol]
        owned = [claim.arena_bytes if calls.first else 0, instance_bytes(calls) if calls.first == "instance" else 0]
        arena, instance, *pointers, place = _own_memory(machine, board, [*owned, *sizes, len(block or b"")])
        given = iter(pointers)
        places = [
            (arena if calls.first else _address(program, one.symbol)) + one.offset_bytes if one.symbol else next(given)
            for one in ports
        ]
        first = {"arena": [arena], "instance": [instance]}.get(calls.first, [])
        if calls.first == "instance":
            name = f"{claim.model}_init"
            _require_done(machine.call(_address(program, name), (instance, arena), program.main_address), elf, name)
        if claim.update:
            if block is None:
                place = _address(program, f"{claim.model}_weights", _NO_WEIGHTS)
                size = int.from_bytes(machine.read(place + SIZE_BYTE, 4), "little")
            else:
                machine.write(place, block)
                size = len(block)
            _bind(machine, program, claim, (*first, place, size))
        yield Caller(machine, program, calls, places, [*first, *pointers], lambda: counter.total)


def instance_bytes(calls: ClaimedCall) -> int:
    """Returns bytes that are enough for an instance: the monitor counts up to 64 classes of each output."""
    return _INSTANCE_BYTES + _PORT_BYTES * (len(calls.inputs) + len(calls.outputs))


def require_callable(claim: Claim, elf: Path) -> ClaimedCall:
    """Returns how N_run is called; AidgeError (USAGE) says why it cannot be, with nothing but the claim."""
    if claim.passed is None or not_callable(claim):
        raise AidgeError(
            f"{claim.model} cannot be called from outside: {not_callable(claim)}",
            where=str(elf),
            hint=f"leave the program out; its figures: aidge-build report {elf.name} --json",
            code="USAGE",
        )
    return claim.passed


def not_callable(claim: Claim) -> str:
    """Returns why N_run cannot be called with nothing but the claim; "" if it can."""
    if claim.passed is None:
        return f"version {claim.tool or 'unknown'} of aidge-build generated it, and did not say how"
    if claim.passed.goes_by_rows:
        return "an input or output goes by rows"
    has_state = claim.passed.first == "instance" and f"{claim.model}_reset" in claim.functions
    return "the firmware owns its state (--arena caller)" if has_state else ""


def _bind(machine: Machine, program: Program, claim: Claim, words: Sequence[int]) -> None:
    """Calls N_bind with the arguments `words`."""
    name = f"{claim.model}_bind"
    if status := machine.call(_address(program, name), words, program.main_address):
        raise CheckFailed(
            f"{name} returned {status}: the block is damaged, cut off, or for other code",
            where=program.image.path,
            hint="`aidge-build weights` makes a block for this program",
            code="WEIGHTS",
        )


@contextlib.contextmanager
def _at_main(elf: Path, board: Board, run_symbol: str, limit: int) -> Iterator[tuple[Machine, Program]]:
    """The program after its start-up code: the next instruction is the first one of main."""
    require_calls(board)
    from aidge_build.run.emulate.unicorn_machine import Machine

    with tempfile.TemporaryDirectory() as folder:
        program = _program(elf, board, Path(folder), run_symbol, limit)
        _address(program, "main")
        machine = Machine(program)
        try:
            machine.reach(program.main_address)
            yield machine, program
        finally:
            machine.semihosting.close()
            machine.release()


@contextlib.contextmanager
def _in_qemu(elf: Path, board: Board, run_symbol: str, limit: int) -> Iterator[tuple[Machine, Program]]:
    """The program as it is linked: what start-up code would copy is in its place."""
    program = _program(elf, board, elf.parent, run_symbol, limit)
    machine = CalledInQemu(program)
    try:
        yield machine, program
    finally:
        machine.release()


def _program(elf: Path, board: Board, folder: Path, run_symbol: str, limit: int) -> Program:
    program = Program(read_image(elf), board, folder, (elf.stem,), False, run_symbol, (), limit)
    _address(program, run_symbol)
    return program


def _own_memory(machine: Machine, board: Board, sizes: Sequence[int]) -> list[int]:
    """Maps a memory that the board does not have, and returns an address in it for each size in bytes."""
    base, addresses = _places(board, sizes)
    machine.map(Region("SAMPLES", base, max(addresses[-1] - base, _PAGE), "ram", ()))
    return addresses[:-1]


def _address(program: Program, name: str, hint: str = "link it with its symbols, without -flto") -> int:
    symbol = program.image.symbol(name)
    if symbol is None:
        raise AidgeError(f"the program has no {name}", where=program.image.path, code="RUN", hint=hint)
    return symbol.address


def _require_done(status: int, elf: Path, function: str) -> None:
    if status:
        raise CheckFailed(f"{function} returned {status}", where=str(elf), code="RUN")


def has_calls(board: Board) -> bool:
    """Whether functions of programs for the board can be called."""
    return calls_in_qemu(board) or board.emulator is not None and board.emulator.kind == "unicorn"


def require_calls(board: Board) -> None:
    """Raises AidgeError (RUN) for a board on which functions cannot be called."""
    if not has_calls(board):
        raise AidgeError(
            "functions of a linked program can only be called in Unicorn, and for RISC-V in QEMU",
            where=f"board {board.name}",
            hint="name a board that Unicorn emulates; without --elf the model is measured in a program of its own",
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
