# SPDX-License-Identifier: MIT
"""Vectors computed by a firmware that answers on a serial line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.base.serial_line import opened_port
from aidge_build.base.terminal import with_progress
from aidge_build.build.emit import interface_of
from aidge_build.plan.program import Program
from aidge_build.run.verify.serial_protocol import Interface, Session

_VECTORS_ANNOUNCED = 100  # at a time


@dataclass(frozen=True)
class SerialLine:
    """A serial port, its speed, and the longest time that an answer may take."""

    port: str
    baud: int
    seconds: float


def answered(program: Program, rows: Sequence[bytes], line: SerialLine) -> bytes:
    """Returns the stored outputs of all vectors, one after the other. `rows` are the stored inputs of each vector.

    AidgeError (SERIAL) for a line or a firmware that does not answer as it should.
    """
    view = program.view
    inputs, outputs = (sum(view.tensor(name).size_bytes for name in names) for names in (view.given, view.handed_out))
    with opened_port(line.port, line.baud) as port:
        session = Session(port, Interface(interface_of(program), inputs, outputs), line.seconds, line.baud)
        session.greet()
        found = bytearray()
        parts = range(0, len(rows), _VECTORS_ANNOUNCED)
        announced = with_progress("SEND", parts, lambda start: f"vectors from {start} to {line.port}")
        for start in announced if len(parts) > 1 else parts:
            for number in range(start, min(start + _VECTORS_ANNOUNCED, len(rows))):
                found += session.run(number, rows[number])
    return bytes(found)
