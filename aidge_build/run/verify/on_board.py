# SPDX-License-Identifier: MIT
"""The vectors of a model fed to a program on a board: inputs are written to the addresses that N_run got, when it is entered, and
outputs are read from theirs when it returns."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.boards import Board
from aidge_build.build.emit import interface_of
from aidge_build.build.emit.functions import has_instances
from aidge_build.build.emit.kept import keeping_functions
from aidge_build.build.emit.ports import Port, ports_of
from aidge_build.build.emit.rows import ports_by_rows
from aidge_build.plan.program import Program
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.run.emulate import LayerCount, RunResult
from aidge_build.run.emulate.program import INSTRUCTION_LIMIT
from aidge_build.run.emulate.program import Program as Linked
from aidge_build.run.probe.measure import Measured, Measuring, run_result
from aidge_build.run.probe.server import Probe
from aidge_build.run.probe.session import Session, on_board
from aidge_build.run.probe.target import LINK, STACK_POINTER, WORD

TRACE = "aidge_trace"  # a traced program calls it after each layer: (number of the tensor, its bytes, how many)
_REGISTER_ARGUMENTS = 4  # of the procedure call standard; the others are words on the stack


@dataclass(frozen=True)
class OnBoard:
    """The results of a board for the vectors: the outputs one after the other, the records of a trace, and the measurements."""

    outputs: bytes
    trace: bytes
    result: RunResult


def run_on_board(
    program: Program, board: Board, elf: Path, rows: Sequence[Sequence[bytes]], probe: Probe, trace: bool
) -> OnBoard:
    """Runs `rows`, the stored bytes of each input for each vector. Cycles are measured if nothing is traced.

    AidgeError (PROBE) if the probe or the board refuses, CheckFailed if the program goes wrong or N_run refuses.
    """
    image = read_image(elf)
    layers = [*(layer.symbol for layer in program.layers), *keeping_functions(program)]
    linked = Linked(image, board, elf.parent, (elf.stem,), not trace, f"{program.name}_run", tuple(layers), INSTRUCTION_LIMIT)
    claims = [claim for claim in read_claims(image) if claim.model == program.name]
    kept = claims[0].buffers if claims else ()
    with on_board(linked, probe, kept) as session:
        session.reach()
        places = places_of(program, session)
        if trace:
            return _traced(program, session, places, rows)
        measuring = Measuring(session)
        try:
            outputs = [_fed(session, places, *row, measuring.finish) for row in _entering(session, rows)]
            return OnBoard(b"".join(outputs), b"", run_result(session, measuring.result(), len(rows)))
        finally:
            measuring.close()


def require_same_model(program: Program, elf: Path) -> None:
    """Raises AidgeError (RUN) if the firmware holds another model, or the model was generated with other options."""
    claims = {claim.model: claim for claim in read_claims(read_image(elf))}
    claim = claims.get(program.name)
    if claim is None:
        raise AidgeError(
            f"holds no model {program.name}",
            where=str(elf),
            tried=sorted(claims),
            code="RUN",
            hint="--name says what it is called",
        )
    if claim.from_note and claim.interface != interface_of(program):
        raise AidgeError(
            f"its header of {program.name} is {claim.interface}, this model with these options makes {interface_of(program)}",
            where=str(elf),
            hint="name the model and give the options that the firmware was built with",
            code="RUN",
        )
    if claim.from_note and claim.model_sha256 != program.model_sha256:
        raise AidgeError(
            f"its model {program.name} was made from another file",
            where=str(elf),
            hint="name the model that it was compiled from, or compile and link again",
            code="RUN",
        )


def _entering(session: Session, rows: Sequence[Sequence[bytes]]) -> Iterator[tuple[Sequence[bytes], bool]]:
    """Yields each vector, and whether it is the last: the first goes into the call that the program makes, the others into a
    repetition of this call."""
    for number, row in enumerate(rows):
        if number:
            session.again(remembering=True)
        yield row, number + 1 == len(rows)


def _fed(session: Session, places: Places, row: Sequence[bytes], is_last: bool, finish: Callable[[], int]) -> bytes:
    """Returns the outputs of one vector. Before the last one it notes the model's memory for the repetitions."""
    for address, data in zip(places.inputs, row, strict=True):
        session.target.write(address, data)
    if is_last:
        session.note()
    status = finish()
    if status:
        raise CheckFailed(
            f"{session.program.run_symbol} returned {status}",
            where=session.program.image.path,
            code="RUN",
            hint="the model's header names the code; with --update weights 4 says that the firmware has bound no weights",
        )
    return b"".join(session.target.read(address, size) for address, size in places.outputs)


@dataclass(frozen=True)
class Places:
    """The addresses of the inputs of a call, and (address, bytes) of its outputs."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, int], ...]


def places_of(program: Program, session: Session) -> Places:
    """Returns the addresses of inputs and outputs of the call that is about to begin: its arguments, or places in the arena."""
    ports = ports_of(program)
    passed = ports if program.options.io == "caller" else tuple(ports_by_rows(program, ports))
    leading = 1 if has_instances(program) or program.options.arena == "caller" else 0
    found = {
        port: _argument(session, leading + number) if port in passed else _in_arena(program, session, port)
        for port, number in zip((*passed, *(port for port in ports if port not in passed)), range(len(ports)))
    }
    return Places(
        tuple(found[port] for port in ports if port.is_input),
        tuple((found[port], port.tensor.size_bytes) for port in ports if not port.is_input),
    )


def _argument(session: Session, number: int) -> int:
    if number < _REGISTER_ARGUMENTS:
        return session.target.register(number)
    return session.target.word(session.target.register(STACK_POINTER) + WORD * (number - _REGISTER_ARGUMENTS))


def _in_arena(program: Program, session: Session, port: Port) -> int:
    offset = program.memory.places[port.tensor.name].offset_bytes
    if program.options.arena == "caller":
        if has_instances(program):
            raise AidgeError(
                "an instance keeps the place of its arena, inputs and outputs to itself",
                where=program.name,
                hint="--io caller hands inputs and outputs to N_run",
                code="RUN",
            )
        return _argument(session, 0) + offset
    part = program.memory.part_at(offset)
    name = f"{program.name}_arena{part.ending}"
    symbol = session.program.image.symbol(name)
    if symbol is None:
        raise AidgeError(f"the program has no {name}", where=session.program.image.path, code="RUN")
    return symbol.address + offset - part.start_bytes


def _traced(program: Program, session: Session, places: Places, rows: Sequence[Sequence[bytes]]) -> OnBoard:
    hook = session.program.image.symbol(TRACE)
    if hook is None:
        raise AidgeError(
            f"the program has no {TRACE}: it was not made for --layers",
            where=session.program.image.path,
            hint="leave out --elf: the model then runs in a program of its own",
            code="RUN",
        )
    records = bytearray()

    def finish() -> int:
        while session.run_to((hook.address & ~1, session.returns_to)) != session.returns_to:
            registers = session.target.registers()
            index, address, size = registers[:3]
            records.extend(struct.pack("<II", index, size) + session.target.read(address, size))
            session.target.set_register(15, registers[LINK] & ~1)  # the hook itself does nothing
        return session.target.register(0)

    outputs = [_fed(session, places, *row, finish) for row in _entering(session, rows)]
    nothing = Measured(None, tuple(LayerCount(name, None) for name in session.program.layer_symbols))
    return OnBoard(b"".join(outputs), bytes(records), run_result(session, nothing, len(rows)))
